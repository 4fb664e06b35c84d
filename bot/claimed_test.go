package bot_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// The label of a request that another host has claimed an issue for is left to that host, which would read from a
// missing one that it came too late. One that was set again beside its claim is taken off.
func TestTheLabelIsLeftToTheHostThatClaimedTheIssueForIt(t *testing.T) {
	for name, again := range map[string]bool{"the request that it claimed": false, "a request that came later": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			issue := r.repo.AddIssue(fakehub.IssueSpec{Title: "Say two", Author: mia})
			r.repo.Label(issue, "agentmux", mia)
			record, err := r.client.Record(t.Context(), octoWidgets, issue)
			if err != nil {
				t.Fatal(err)
			}
			r.claimed(issue, gate.LabelTrigger(record.Labels[0]).String())
			if again {
				r.pass(2 * time.Second)
				r.repo.Unlabel(issue, "agentmux", mia)
				r.repo.Label(issue, "agentmux", mia)
				r.repo.Label(issue, "agentmux:running", robo) // it is at work
			}
			r.pass(10 * time.Second)
			r.serve()
			if on := slices.Contains(r.repo.Issue(issue).Labels, "agentmux"); on == again {
				t.Errorf("the label is on: %v", on)
			}
		})
	}
}
