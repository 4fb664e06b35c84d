package engine_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// reticent does not tell of a launch while it is being started, and takes its time.
type reticent struct{ *world }

func (r reticent) Observe(ctx context.Context, s *orchestrator.State) (engine.Look, error) {
	time.Sleep(time.Second)
	found, err := r.world.Observe(ctx, s)
	found.Reports = slices.DeleteFunc(found.Reports, func(rep orchestrator.AgentReport) bool {
		return slices.ContainsFunc(s.Pending, func(e orchestrator.Effect) bool {
			return e.Type == orchestrator.EffStartAgent && e.Args.Launch == rep.Launch
		})
	})
	return found, err
}

// The host was killed between opening the pane and noting that; its start is owed still.
func TestAResumeKeepsAnAgentThatWasJustStarted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.hold = func(e orchestrator.Effect) <-chan struct{} {
			if e.Type == orchestrator.EffStartAgent {
				return make(chan struct{})
			}
			return nil
		}
		h := w.start(engine.Options{})
		w.until("starting", func(st *orchestrator.State) bool {
			return len(st.Pending) > 0 && st.Pending[0].Type == orchestrator.EffStartAgent
		})
		h.stop()
		w.hold = nil
		w.startAgent(w.state().Pending[0])
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = engine.Run(ctx, engine.Options{
				Session: w.s, Effects: w, Agents: reticent{w}, Start: orchestrator.Start{Mode: orchestrator.StartResume},
			})
		}()
		w.pass(time.Minute)
		if got := w.launches(); !slices.Equal(got, []orchestrator.Launch{"1.planner.1"}) {
			t.Errorf("launches are %v", got)
		}
		stop()
		<-done
	})
}

// frail has a fault that the first look at the agents meets.
type frail struct {
	*world
	looks atomic.Int64
}

func (f *frail) Observe(ctx context.Context, s *orchestrator.State) (engine.Look, error) {
	if f.looks.Add(1) == 1 {
		panic("a fault")
	}
	return f.world.Observe(ctx, s)
}

// A fault that a look at the agents meets costs that look alone.
func TestAFaultOfALookIsSurvived(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		f := &frail{world: w}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = engine.Run(ctx, engine.Options{Session: w.s, Effects: w, Agents: f, Start: orchestrator.Start{Mode: orchestrator.StartNew}})
		}()
		w.pass(5 * time.Minute)
		stop()
		<-done
		if n := f.looks.Load(); n < 2 {
			t.Errorf("%d looks", n)
		}
	})
}
