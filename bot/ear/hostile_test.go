package ear_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub/hostile"
)

// A server that answers as none should makes no command of what a stranger wrote and none twice of what a person wrote who
// may. It is asked a bounded number of times, and once it is true again that command is heard.
func TestSecurity26AHostileServerGivesNoCommands(t *testing.T) {
	// They show another author, or another comment, from the first.
	other := []hostile.Kind{hostile.NoUsers, hostile.Largest}
	for _, kind := range hostile.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			s := newScene(t)
			way := &hostile.Way{Own: botLogin}
			s.client = s.through(botLogin, way)
			s.restart()
			s.start()
			s.comment("/agentmux stop", "non")
			id := s.comment("/agentmux say look", "wil")
			way.Set(kind)
			for range 3 {
				if all, _, err := (ghsync.Intake{Client: s.client}).RecentComments(t.Context(), octoWidgets, 1); err == nil {
					s.ear.Hear(all...)
				}
				s.ear.Step(t.Context())
				s.read()
				s.ear.Step(t.Context())
				s.pass(time.Minute)
			}
			if n := way.Requests(); n > 150 {
				t.Errorf("%d requests", n)
			}
			if to := way.Strayed(); len(to) > 0 {
				t.Errorf("asked another host: %q", to)
			}
			way.Set("")
			for range 3 {
				s.hear()
				s.pass(time.Minute)
			}
			var names []string
			for _, p := range s.commands() {
				names = append(names, p.Name)
			}
			if slices.Contains(names, "stop") || !slices.Contains(other, kind) && !slices.Equal(names, []string{"say"}) {
				t.Errorf("commands %q", names)
			}
			if got := s.receipts(id); !slices.Contains(other, kind) && got != "eyes" {
				t.Errorf("receipts %q", got)
			}
		})
	}
}
