package mirror_test

import (
	"context"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/hostile"
	"github.com/agentmux/agentmux/ghsync/mirror"
)

// Whatever a server answers to what a mirror writes, its issue shows the session as if nothing had been, once the server
// is true again: each comment once, and the labels.
func TestAHostileServerLeavesNoTwinComments(t *testing.T) {
	want := calmEnd(t, "in step")
	during := 300 * time.Millisecond
	if testing.Short() {
		during /= 4
	}
	for _, kind := range hostile.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			st := newStage(t)
			way := &hostile.Way{Own: botLogin}
			o := st.options()
			o.Server = mirror.On(clientBy(t, st.server, botLogin, way))
			way.Set(kind)
			m := st.mirror(o)
			for n, line := range st.script {
				if line != "sync" {
					st.play(line)
				} else if n < len(st.script)/2 {
					ctx, cancel := context.WithTimeout(t.Context(), during)
					_ = m.Finish(ctx)
					cancel()
				}
			}
			if n := way.Requests(); n > 300 {
				t.Errorf("%d requests", n)
			}
			if to := way.Strayed(); len(to) > 0 {
				t.Errorf("asked another host: %q", to)
			}
			way.Set("")
			st.finish(m)
			if got := st.end(); got != want {
				t.Errorf("after it:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}
