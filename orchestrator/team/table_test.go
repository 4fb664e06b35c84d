package team_test

import (
	"testing"

	"github.com/agentmux/agentmux/orchestrator/team"
)

// Every pair is written out: a stage that is added has to be thought about here.
func TestWhatFollows(t *testing.T) {
	const (
		none   = team.Nothing
		start  = team.Start
		block  = team.Block
		remind = team.Remind
		take   = team.Take
		step   = team.Step
		fail   = team.Fail
		finish = team.Finish
	)
	// may start, cannot start, hands in, is refused, turn ends, exits, step done, step fails, marked done, marked failed
	want := map[team.Stage][]team.Action{
		team.Waiting:   {start, block, none, none, none, none, none, none, finish, fail},
		team.Working:   {none, none, take, fail, remind, fail, none, fail, take, fail},
		team.Reminded:  {none, none, take, fail, fail, fail, none, fail, take, fail},
		team.Submitted: {none, none, none, none, none, none, step, fail, none, fail},
		team.Done:      {none, none, none, none, none, none, none, none, none, none},
		team.Failed:    {none, none, none, none, none, none, none, none, none, none},
		team.Blocked:   {none, none, none, none, none, none, none, none, none, none},
	}
	for _, stage := range team.Stages() {
		row, ok := want[stage]
		if !ok || len(row) != len(team.Happenings()) {
			t.Errorf("%s: %d of %d happenings", stage, len(row), len(team.Happenings()))
			continue
		}
		for i, h := range team.Happenings() {
			if got := team.Follows(stage, h); got != row[i] {
				t.Errorf("%s, %s: %q, want %q", stage, h, got, row[i])
			}
		}
	}
}
