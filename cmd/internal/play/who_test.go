package play_test

import (
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/play"
)

// An agent that a playbook has no part for is named by the keys that a part may have.
func TestAnAgentIsNamedByTheKeysOfAPart(t *testing.T) {
	who := play.Who{Role: "coder", Task: "1", Prompt: "prompt.md", Attempt: 2}
	if got, want := who.String(), "role coder, task 1, prompt prompt.md, iteration 0, round 0, attempt 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
