package engine_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// A machine that slept longer than any limit goes on: that time is not time at work. What
// is awake longer is ended as always.
func TestTimeAsleepIsNotTimeAtWork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var slept atomic.Int64
		w := newWorld(t, "quick", func(s *orchestrator.State) { s.Settings.LimitStall = 0 })
		w.watched = true
		w.play = idle
		h := w.start(engine.Options{Now: func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.pass(time.Hour)
		slept.Store(int64(100 * time.Hour))
		w.pass(50 * time.Minute)
		if st := w.state(); st.Ended() {
			t.Fatalf("ended: %s", st.Cause)
		}
		slept.Store(int64(99 * time.Hour)) // set back a little
		w.pass(5 * time.Minute)
		if st := w.state(); st.Ended() {
			t.Fatalf("ended: %s", st.Cause)
		}
		before := time.Now()
		st := h.wait()
		if st.Outcome != orchestrator.OutcomeFailed || time.Since(before) > 10*time.Minute {
			t.Errorf("ended %s after %s more", st.Outcome, time.Since(before))
		}
	})
}

// A clock that is set back by years, while a host runs or between two, delays nothing.
func TestAClockThatIsSetBackDelaysNothing(t *testing.T) {
	for name, restart := range map[string]bool{"under a host": false, "between two": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var set atomic.Int64
				now := func() time.Time { return time.Now().Add(time.Duration(set.Load())) }
				w := newWorld(t, "quick", nil)
				fails := atomic.Bool{}
				fails.Store(true)
				w.fail = func(e orchestrator.Effect) error {
					if e.Type == orchestrator.EffCommit && fails.Load() {
						return errors.New("the disk hiccups")
					}
					return nil
				}
				h := w.start(engine.Options{Now: now})
				w.until("the commit is tried again", func(*orchestrator.State) bool { return len(w.events(orchestrator.EvEffectFailed)) == 3 })
				if restart {
					h.stop()
				}
				set.Store(int64(-10 * 365 * 24 * time.Hour))
				fails.Store(false)
				if restart {
					h = w.start(engine.Options{Now: now})
				}
				before := time.Now()
				if st := h.wait(); st.Outcome != orchestrator.OutcomeDone || time.Since(before) > time.Minute {
					t.Errorf("ended %s after %s", st.Outcome, time.Since(before))
				}
			})
		})
	}
}
