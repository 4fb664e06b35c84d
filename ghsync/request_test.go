package ghsync_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
)

func TestProtocolW3WhatLabelsAskFor(t *testing.T) {
	at := time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC)
	put := func(name string, after time.Duration) ghsync.LabelEvent {
		return ghsync.LabelEvent{Name: name, Added: true, At: at.Add(after)}
	}
	off := func(name string, after time.Duration) ghsync.LabelEvent {
		return ghsync.LabelEvent{Name: name, At: at.Add(after)}
	}
	for name, c := range map[string]struct {
		labels    []string
		history   []ghsync.LabelEvent
		asked     bool
		workflows []string
		trigger   string
		decided   int
	}{
		"alone":               {labels: []string{"bug", "AgentMux"}, history: []ghsync.LabelEvent{put("agentmux", 0)}, asked: true, trigger: "agentmux", decided: 1},
		"with a selector":     {labels: []string{"agentmux", "agentmux:quick"}, history: []ghsync.LabelEvent{put("agentmux:quick", 0), put("agentmux", 3*time.Second)}, asked: true, workflows: []string{"quick"}, trigger: "agentmux", decided: 2},
		"selector alone":      {labels: []string{"agentmux:Quick"}, history: []ghsync.LabelEvent{put("agentmux:quick", 0)}, asked: true, workflows: []string{"quick"}, trigger: "agentmux:quick", decided: 1},
		"two selectors":       {labels: []string{"agentmux:quick", "agentmux:feature"}, asked: true, workflows: []string{"feature", "quick"}},
		"unknown selector":    {labels: []string{"agentmux:nope"}, asked: true, workflows: []string{"nope"}},
		"no request":          {labels: []string{"agentmux:done", "agentmux:stop", "agentmux:", "agentmuxer", "bug"}},
		"state beside it":     {labels: []string{"agentmux", "agentmux:running"}, history: []ghsync.LabelEvent{put("agentmux:running", time.Second)}, asked: true},
		"taken off, put back": {labels: []string{"agentmux"}, history: []ghsync.LabelEvent{put("agentmux", 0), off("agentmux", 1), put("agentmux", time.Minute)}, asked: true, trigger: "agentmux", decided: 1},
		"taken off since":     {labels: []string{"agentmux"}, history: []ghsync.LabelEvent{put("agentmux", 0), off("agentmux", 1)}, asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			q, asked := ghsync.Record{Issue: ghsync.Issue{Labels: c.labels}, Labels: c.history}.Request("agentmux")
			if asked != c.asked || !slices.Equal(q.Workflows, c.workflows) || q.Trigger().Name != c.trigger || len(q.Events) != c.decided {
				t.Errorf("asked %t, %+v", asked, q)
			}
		})
	}
	t.Run("two labels three seconds apart are one request", func(t *testing.T) {
		both := ghsync.Record{Issue: ghsync.Issue{Labels: []string{"agentmux", "agentmux:quick"}}, Labels: []ghsync.LabelEvent{put("agentmux", 0), put("agentmux:quick", 3*time.Second)}}
		first := ghsync.Record{Issue: ghsync.Issue{Labels: []string{"agentmux"}}, Labels: both.Labels[:1]}
		if q, _ := first.Request("agentmux"); q.Settled(at.Add(4 * time.Second)) {
			t.Error("the first label counts before the second could come")
		}
		q, _ := both.Request("agentmux")
		if q.Settled(at.Add(7*time.Second)) || !q.Settled(at.Add(8*time.Second)) || len(q.Events) != 2 || !slices.Equal(q.Workflows, []string{"quick"}) {
			t.Errorf("%+v", q)
		}
	})
}
