package decide_test

import (
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
)

// decided is one call of Reduce as it was made.
type decided struct {
	state *orchestrator.State
	input orchestrator.Input
}

// BenchmarkReduce measures one decision, over all inputs of a feature session with two
// coders side by side, two reviewers and a fix round; and the encoding of the state, which
// each decision that changes something asks for once.
func BenchmarkReduce(b *testing.B) {
	var calls []decided
	m := newSim(b, "feature", nil)
	m.watch = func(s *orchestrator.State, in orchestrator.Input) { calls = append(calls, decided{s, in}) }
	m.tool("submit_architecture", "architect", map[string]any{"reviewers": []string{"reviewer_quality", "reviewer_logic"}},
		textArtifact("02_architecting/architecture.md"))
	m.toReview("parallel", 2)
	m.pass("reviewer_quality")
	m.fails("reviewer_logic")
	m.tool("submit_done", "coder", map[string]any{"subplan_index": 1}, nil)
	m.pass("reviewer_logic")
	m.pass("reviewer_quality")
	m.summary("reviewer_logic")
	m.phase(orchestrator.PhaseDone)
	b.Run("decide", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			c := calls[i%len(calls)]
			if _, err := decide.Reduce(m.def, c.state, c.input); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := calls[i%len(calls)].state.Encode(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
