package claim_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
)

// A command that is typed twice has seen the silence in between, as long as the machine ran on.
func TestSilenceIsRememberedBetweenProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		later  time.Duration
		change func(t *testing.T, w *world, boot *string, file string, other *host)
		want   claim.Stale
	}{
		"ten minutes later":            {later: 10 * time.Minute, want: claim.Silent},
		"nine minutes later":           {later: 9 * time.Minute, want: claim.NotStale},
		"after a start of the machine": {later: 10 * time.Minute, change: func(_ *testing.T, _ *world, boot *string, _ string, _ *host) { *boot = "b2" }},
		"the other one beat meanwhile": {later: 10 * time.Minute, change: func(t *testing.T, _ *world, _ *string, _ string, other *host) {
			if err := other.Beat(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		"the file is torn": {later: 10 * time.Minute, change: func(t *testing.T, _ *world, _ *string, file string, _ *host) {
			if err := os.WriteFile(file, []byte(`{"version":1,"boot":"b1","hosts":{"h_`), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		"the file is of tomorrow": {later: 10 * time.Minute, change: func(t *testing.T, _ *world, _ *string, file string, other *host) {
			text := `{"version":1,"boot":"b1","hosts":{"` + other.id.String() + `":{"id":"` + other.id.String() + `","first":1,"last":999999999999999}}}`
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			boot, up, file := "b1", time.Hour, filepath.Join(t.TempDir(), "seen", "1001.json")
			remembers := func(o *claim.Options) {
				o.Memory = &claim.Memory{File: file, Boot: func() (string, time.Duration, bool) { return boot, up, true }}
			}
			other := w.host()
			w.take(other, 12, claim.Running)
			other.clock.pass(time.Minute)
			w.find(w.host(remembers), 12)
			if c.change != nil {
				c.change(t, w, &boot, file, other)
			}
			up += c.later
			h := w.host(remembers)
			why, err := h.Stale(t.Context(), w.find(h, 12))
			if err != nil || why != c.want {
				t.Errorf("stale %q, %v; want %q", why, err, c.want)
			}
		})
	}
}

func TestTheMachineKnowsHowLongItIsUp(t *testing.T) {
	id, up, ok := claim.MachineBoot()
	if !ok {
		t.Skip("only Linux tells")
	}
	again, later, _ := claim.MachineBoot()
	if id == "" || id != again || up <= 0 || later < up {
		t.Errorf("boot %q then %q, up %s then %s", id, again, up, later)
	}
}
