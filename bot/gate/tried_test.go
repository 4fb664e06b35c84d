package gate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
)

// levels answers what accounts may do, and counts the questions.
type levels struct {
	of    map[string]gate.Answer
	asked int
}

func (l *levels) CurrentPermission(_ context.Context, _ ghsync.Repo, login string) (ghsync.Permission, error) {
	l.asked++
	return l.of[login].Permission, l.of[login].Err
}

func (l *levels) OpenPulls(context.Context, ghsync.Repo) (int, error) { return 0, nil }

// Another try that a comment asks for is of the workflow of the newest label whose person may ask for work.
func TestAnotherTryIsOfTheWorkflowOfWhoMayAsk(t *testing.T) {
	quick := label("agentmux:quick", mia, 0)
	taken := unlabel("agentmux:quick", time.Second)
	for name, c := range map[string]struct {
		labels []ghsync.LabelEvent
		by     ghsync.Account
		label  bool // the request is a label's
		want   string
		asked  int
		fails  bool
	}{
		"her own label":                {labels: []ghsync.LabelEvent{quick, taken}, by: mia, want: "quick"},
		"that of somebody who may":     {labels: []ghsync.LabelEvent{quick, taken}, by: olga, want: "quick", asked: 1},
		"that of somebody who may not": {labels: []ghsync.LabelEvent{quick, taken, label("agentmux:feature", eve, time.Minute), label("agentmux:feature", eve, time.Hour)}, by: olga, want: "quick", asked: 2},
		"none of somebody who may":     {labels: []ghsync.LabelEvent{label("agentmux:quick", eve, 0)}, by: mia, asked: 1},
		"the plain one is newer":       {labels: []ghsync.LabelEvent{quick, taken, label("agentmux", mia, time.Minute)}, by: mia},
		"a state, and no name":         {labels: []ghsync.LabelEvent{quick, label("agentmux:running", mia, time.Minute), label("agentmux:../x", mia, time.Hour)}, by: mia, want: "quick"},
		"an account that is gone":      {labels: []ghsync.LabelEvent{label("agentmux:quick", ghsync.Account{}, 0)}, by: mia},
		"not known now":                {labels: []ghsync.LabelEvent{label("agentmux:quick", robot, 0)}, by: mia, asked: 1, fails: true},
		"a label itself":               {labels: []ghsync.LabelEvent{quick}, by: mia, label: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := wanted()
			f.Record.Labels = c.labels
			d := gate.Decision{What: gate.Start, Asked: gate.Asked{Trigger: gate.CommentTrigger(77), By: ghsync.Permission{Account: c.by}}}
			if c.label {
				d.Asked.Trigger = gate.LabelTrigger(c.labels[0])
			}
			s := &levels{of: f.Answers}
			s.of[robot.Login] = gate.Answer{Err: errors.New("no route")}
			got, err := gate.Tried(t.Context(), d, f, s)
			if got != c.want || s.asked != c.asked || (err != nil) != c.fails {
				t.Errorf("%q, %v, asked %d times", got, err, s.asked)
			}
		})
	}
}
