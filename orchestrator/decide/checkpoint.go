package decide

import (
	"slices"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/pause"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

const (
	CheckpointTimer, parkTimer = pause.Checkpoint, "park"                // deadlines: the session is saved while agents work; its host is given back
	checkpointAgain            = orchestrator.Duration(20 * time.Second) // after one that did not get to the server
)

// saving has the session saved, here and for other machines.
type saving struct {
	*queue
	clock      *clock
	workspaces *workspaces
}

// soon has the session saved as it is, with what was not handed in, behind what is more urgent.
func (v *saving) soon() {
	if !v.s.Ended() {
		v.checkpoint(duty.Unsubmitted(v.s), orchestrator.EffStartAgent, checkpointPause)
	}
}

// late has a checkpoint that did not get to the server made up for.
func (v *saving) late(is bool) {
	if is && !v.s.Ended() {
		v.clock.arm(CheckpointTimer, checkpointAgain)
	}
}

// handsOver are the records behind which the session is saved: what they tell of must not be lost.
var handsOver = []string{orchestrator.EvSubmission, orchestrator.EvSubplanDone}

// follow saves the session behind what was handed in, and again and again while an agent works.
func (v *saving) follow() {
	if slices.ContainsFunc(v.evs, func(e orchestrator.Event) bool { return slices.Contains(handsOver, e.Type) }) {
		v.soon()
	}
	works := false
	for _, a := range v.s.Agents {
		works = works || a.Launch != "" && a.Waiting == ""
	}
	if v.s.Ended() || !works {
		v.clock.disarm(CheckpointTimer)
	} else if _, armed := v.s.Deadlines[CheckpointTimer]; !armed {
		v.clock.arm(CheckpointTimer, v.s.Settings.CheckpointEvery)
	}
}
