package ghsync_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
)

// The labels of a request that a host has taken off are those that were on when it was made.
func TestAsRequestedHasTheLabelsOfThatTime(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)
	mia, bot := ghsync.Account{ID: 9, Login: "mia"}, ghsync.Account{ID: 7, Login: "bot"}
	r := ghsync.Record{
		Issue: ghsync.Issue{Labels: []string{"bug", "agentmux:queued", "agentmux:feature"}},
		Labels: []ghsync.LabelEvent{
			{Name: "agentmux:other", Added: true, At: at.Add(-time.Hour), Actor: mia},
			{Name: "Agentmux:Other", At: at.Add(-time.Minute), Actor: mia}, // somebody has renamed the label meanwhile
			{Name: "agentmux:quick", Added: true, At: at.Add(-time.Second), Actor: mia},
			{Name: "agentmux", Added: true, At: at.Add(300 * time.Millisecond), Actor: mia},
			{Name: "agentmux:queued", Added: true, At: at.Add(6 * time.Second), Actor: bot},
			{Name: "agentmux", At: at.Add(7 * time.Second), Actor: bot},
			{Name: "agentmux:quick", At: at.Add(7 * time.Second), Actor: bot},
			{Name: "agentmux:feature", Added: true, At: at.Add(time.Hour), Actor: mia},
		},
	}
	then := r.AsRequested("agentmux", at)
	if want := []string{"bug", "agentmux:queued", "agentmux", "agentmux:quick"}; !slices.Equal(then.Issue.Labels, want) {
		t.Errorf("labels %q", then.Issue.Labels)
	}
	q, asked := then.Request("agentmux")
	if !asked || !slices.Equal(q.Workflows, []string{"quick"}) || len(q.Events) != 2 || q.Trigger().Name != "agentmux" {
		t.Errorf("%t %+v", asked, q)
	}
	if len(r.Labels) != 8 || len(r.Issue.Labels) != 3 {
		t.Errorf("the reading itself changed: %+v", r)
	}
}
