package engine_test

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// BenchmarkHandOff measures from the line that ends one agent's task to the start
// of the next agent, with agents that do nothing and the real disk.
func BenchmarkHandOff(b *testing.B) {
	var total time.Duration
	hand := 0
	for hand < b.N {
		b.StopTimer()
		w := benchWorld(b)
		wakes := make(chan struct{}, 1)
		var submitted time.Time
		var mu sync.Mutex // coders of a group start side by side
		w.play = func(w *world, e orchestrator.Effect) {
			mu.Lock()
			defer mu.Unlock()
			if !submitted.IsZero() {
				total += time.Since(submitted)
				hand++
			}
			submitted = time.Now()
			honest(w, e)
			select {
			case wakes <- struct{}{}:
			default:
			}
		}
		b.StartTimer()
		if _, err := engine.Run(context.Background(), engine.Options{
			Session: w.s, Effects: w, Agents: w, Work: w, Wakes: wakes, Start: orchestrator.Start{Mode: orchestrator.StartNew},
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(total.Microseconds())/float64(hand)/1000, "ms/hand-off")
}

// BenchmarkIdle measures the processor time of a second in which an agent is at
// work and says nothing.
func BenchmarkIdle(b *testing.B) {
	w := benchWorld(b)
	w.play = idle
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Duration(b.N)*time.Second, errors.New("enough"))
	defer cancel()
	before := processorTime(b)
	_, _ = engine.Run(ctx, engine.Options{ // ends with the context's cause
		Session: w.s, Effects: w, Agents: w, Work: w, Wakes: make(chan struct{}), Start: orchestrator.Start{Mode: orchestrator.StartNew},
	})
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/s")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func benchWorld(b *testing.B) *world {
	b.Helper()
	s, err := session.Create(session.CreateSpec{
		Project: b.TempDir(), Now: time.Now(), Source: "tokens", Request: "Refuse expired tokens.", Definition: definition(b, "quick"),
		State: orchestrator.State{
			Settings: orchestrator.DefaultSettings(), BaseSHA: "c0",
			Integrated: orchestrator.Integrated{Commit: "c0", Tree: "t0"},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return &world{s: s, panes: map[orchestrator.Launch]orchestrator.AgentReport{}, commits: map[string]orchestrator.Result{}}
}
