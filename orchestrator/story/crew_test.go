package story_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

func TestACrewNamesWhatEachRoleRanOn(t *testing.T) {
	var c story.Crew
	if got := c.Lines(""); len(got) != 0 {
		t.Errorf("without a launch: %q", got)
	}
	for _, e := range at(
		orchestrator.AgentStartedRecord{Role: "planner", Provider: "claude", Model: "opus", Effort: "high"},
		orchestrator.AgentStartedRecord{Role: "coder", Task: "1", Provider: "codex"},
		orchestrator.AgentStartedRecord{Role: "coder", Task: "2", Provider: "codex"},
		orchestrator.AgentStartedRecord{Role: "coder", Task: "1", Provider: "claude", FallbackFor: "codex"},
		orchestrator.AgentStartedRecord{Role: "planner", Provider: "claude", Model: "opus", Effort: "high"},
	) {
		c.Fold(e)
	}
	for task, want := range map[string][]string{
		"": {
			"planner: claude, model opus, effort high", "coder: codex, its default model", "coder: claude, its default model, in place of codex",
		},
		"2": {"coder: codex, its default model"},
	} {
		if got := c.Lines(task); !slices.Equal(got, want) {
			t.Errorf("task %q: %q, want %q", task, got, want)
		}
	}
	for i := range 30 {
		c.Fold(at(orchestrator.AgentStartedRecord{Role: fmt.Sprint("r", i), Provider: "codex"})[0])
	}
	if got := c.Lines(""); len(got) != 25 || got[24] != "and 9 more" {
		t.Errorf("many roles: %q", got)
	}
}
