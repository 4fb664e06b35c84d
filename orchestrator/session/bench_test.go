package session_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// percentiles reports the median and the 99th percentile of samples in milliseconds.
func percentiles(b *testing.B, samples []time.Duration) {
	b.Helper()
	slices.Sort(samples)
	for name, q := range map[string]int{"p50-ms": 50, "p99-ms": 99} {
		b.ReportMetric(float64(samples[(len(samples)-1)*q/100].Microseconds())/1000, name)
	}
}

// samplesAtLeast is how often an operation is timed whatever -benchtime says: a
// percentile of few samples says nothing.
const samplesAtLeast = 200

// BenchmarkCommit measures a commit on the disk under TMPDIR: of a state alone, as the
// result of an effect makes it; with one record; and of an entry into a phase, with five
// records and the backup of the state.
func BenchmarkCommit(b *testing.B) {
	kinds := map[string][]string{
		"state":  nil,
		"record": {orchestrator.EvAgentStarted},
		"phase": {
			orchestrator.EvArtifactAccepted, orchestrator.EvVerdict, orchestrator.EvPhaseLeft, orchestrator.EvPhaseEntered, orchestrator.EvReviewStarted,
		},
	}
	for _, name := range []string{"state", "record", "phase"} {
		b.Run(name, func(b *testing.B) {
			s := benchSession(b)
			st, err := s.ReadState()
			if err != nil {
				b.Fatal(err)
			}
			var samples []time.Duration
			for range max(b.N, samplesAtLeast) {
				step := decide.Step{State: st.Clone(), Changed: true}
				for _, kind := range kinds[name] {
					step.State.Seq++
					step.Events = append(step.Events, orchestrator.Event{
						Seq: step.State.Seq, TS: orchestrator.At(noon), Type: kind, Phase: st.Phase, Visit: st.Visit, Data: orchestrator.ReadRecord(kind, []byte(`{"role":"coder"}`)),
					})
				}
				start := time.Now()
				if err := s.Commit(step); err != nil {
					b.Fatal(err)
				}
				samples = append(samples, time.Since(start))
				st = step.State
			}
			percentiles(b, samples)
		})
	}
}

// BenchmarkAppend measures what an agent's tool waits for: one line, under the lock of
// the file, on disk.
func BenchmarkAppend(b *testing.B) {
	s := benchSession(b)
	var samples []time.Duration
	for range max(b.N, samplesAtLeast) {
		start := time.Now()
		err := s.Append(session.ToolEvents, noon, func(session.Tail) (*session.NewLine, error) {
			return &session.NewLine{Tool: "submit_review", Role: "reviewer_logic", Visit: 1, Payload: map[string]any{"role": "reviewer_logic"}}, nil
		})
		if err != nil {
			b.Fatal(err)
		}
		samples = append(samples, time.Since(start))
	}
	percentiles(b, samples)
}

// BenchmarkArtifact measures how an artifact of 20 kB is taken: read, checked, kept.
func BenchmarkArtifact(b *testing.B) {
	s := benchSession(b)
	var samples []time.Duration
	for i := range max(b.N, samplesAtLeast) {
		text := bytes.Repeat([]byte{'a' + byte(i%26), '\n'}, 10_000+i)
		write(b, s.Path("02_architecting/architecture.md"), string(text))
		start := time.Now()
		if _, err := s.ReadArtifact("02_architecting/architecture.md", duty.ArtifactText); err != nil {
			b.Fatal(err)
		}
		samples = append(samples, time.Since(start))
	}
	percentiles(b, samples)
}

func benchSession(b *testing.B) *session.Session {
	b.Helper()
	s := create(b, spec(b, b.TempDir()))
	if err := s.EnsureDirs("02_architecting"); err != nil {
		b.Fatal(err)
	}
	return s
}
