package roster_test

import (
	"maps"
	"testing"

	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/workflows/agents"
)

// A branch that is at the base holds no work of its own.
func TestProgressKnowsWorkThatIsThere(t *testing.T) {
	got := roster.Progress("base", map[string]string{"a": "base", "b": "beyond"}, map[string]string{"b": "blob", "c": "text"})
	want := map[string]agents.Progress{"a": {Base: "base"}, "b": {Base: "beyond", Tip: "beyond", Snapshot: "blob"}, "c": {Snapshot: "text"}}
	if !maps.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
