package gate_test

import (
	"slices"
	"testing"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync/fakehub/hostile"
)

// What a server that answers as none should says starts nothing, unless it still tells who asked and that this one may.
// It is asked so often as its longest list has pages, and once it is true again the request is served.
func TestSecurity1AHostileServerStartsNothing(t *testing.T) {
	const mostPages = 100
	clear := []hostile.Kind{hostile.WeakTags, hostile.NewEvents, hostile.Many}
	graphQLOnly := []hostile.Kind{hostile.Circle, hostile.Elsewhere} // which has no links
	for _, kind := range hostile.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			both(t, func(t *testing.T, h *hub) {
				way := &hostile.Way{Own: botLogin}
				h.way = way
				h.client = h.as(botLogin)
				h.repo.Label(h.issue, "agentmux", "write")
				way.Set(kind)
				want := slices.Contains(clear, kind) || slices.Contains(graphQLOnly, kind) && h.graphQL
				if d := h.decide(); d.Accepted() != want {
					t.Errorf("%q by row %s: %s", d.What, d.Row, d)
				}
				if n := way.Requests(); n > mostPages+10 {
					t.Errorf("%d requests", n)
				}
				if to := way.Strayed(); len(to) > 0 {
					t.Errorf("asked another host: %q", to)
				}
				way.Set("")
				if d := h.decide(); d.What != gate.Start {
					t.Errorf("after it: %q by row %s, %s", d.What, d.Row, d)
				}
			})
		})
	}
}
