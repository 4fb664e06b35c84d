package decide_test

import (
	"testing"

	"github.com/agentmux/agentmux/orchestrator/toolset"
)

// The attempts cover every tool whose calls the session reads, so that a tool without a rule
// or an effect fails the test that tries them all.
func TestEveryToolIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, a := range attempts {
		tried[a.name] = true
	}
	for _, tool := range toolset.All() {
		if tool.Recorded() && !tried[tool.Name] && !tried[tool.Name+" pass"] {
			t.Errorf("%s is not tried", tool.Name)
		}
	}
}
