package intake_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/hostile"
)

// A server whose answers are broken, bent or without end costs a poller a bounded number of requests, gets none of them
// to another host, and hides nothing from it for good.
func TestAHostileServerHidesNothingForGood(t *testing.T) {
	for _, kind := range hostile.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				repo := w.Repo(widgets)
				asked := func(n int) string { return fmt.Sprintf("%s#%d", widgets, n) }
				old, every := 101, 15*time.Second // more than a page
				if testing.Short() && kind != hostile.Circle && kind != hostile.Elsewhere {
					old = 3
				}
				if testing.Short() && kind == hostile.Many { // a page has 30,000 labels
					every = 45 * time.Second
				}
				for range old {
					w.issue("Old")
				}
				before := w.issue("Before", label)
				way := &hostile.Way{Next: w.wire, Own: robot}
				way.Set(kind)
				in := w.inbox()
				w.hostile = way
				w.poller(in, each(every))
				time.Sleep(30 * time.Second)
				during := w.issue("During", label)
				repo.Comment(during, "/agentmux status", "dev")
				time.Sleep(time.Minute)
				// Two lists are read each 15 seconds, and a full sync follows two over a hundred pages each.
				if n := way.Requests(); n > 250 {
					t.Errorf("%d requests in 90 seconds", n)
				}
				way.Set("")
				repo.Label(w.issue("After"), label, "dev")
				w.until(in, 3*time.Minute, func() bool {
					return in.has(asked(before))() && in.has(asked(during))() && in.has(asked(during+1))() && len(in.heard()) > 0
				})
				if to := way.Strayed(); len(to) > 0 {
					t.Errorf("asked another host: %q", to)
				}
			})
		})
	}
}
