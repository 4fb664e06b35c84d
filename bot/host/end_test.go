package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestTheAgentsOfACorruptSessionAreEnded has a session that lost its host while its coder
// works, and whose files are damaged. Another session's coder continues.
func TestTheAgentsOfACorruptSessionAreEnded(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, damage := range map[string]func(t *testing.T, dir string){
		"garbage": func(t *testing.T, dir string) {
			for _, file := range []string{session.StateFile, session.StateBackup, session.RuntimeFile, "launches/2.coder.1.1/launch.json"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte("{\x00garbage"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"nothing left": func(t *testing.T, dir string) {
			for _, file := range []string{session.StateFile, session.StateBackup, session.RuntimeFile, session.LaunchesDir} {
				if err := os.RemoveAll(filepath.Join(dir, file)); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, other := newRig(t, ""), newRig(t, "")
			dir, stop := r.coding()
			otherDir, _ := other.coding()
			server := r.server(dir)
			sess, err := session.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			coder := sess.ReadRuntime().Launches["coder/1"]
			if _, err := r.host.End(t.Context(), dir); !errors.As(err, new(*session.LockedError)) {
				t.Fatalf("ended beside a host: %v", err)
			}
			killed := errors.New("killed")
			if _, err := stop(killed); !errors.Is(err, killed) {
				t.Fatal(err)
			}
			if _, err := process.StartTime(coder.PID); err != nil {
				t.Fatalf("the coder does not run: %v", err)
			}
			damage(t, dir)
			ended, err := r.host.End(t.Context(), dir)
			if err != nil || ended == 0 {
				t.Fatalf("ended %d: %v", ended, err)
			}
			if _, err := process.StartTime(coder.PID); !errors.Is(err, process.ErrNotFound) {
				t.Errorf("the coder: %v", err)
			}
			if panes, err := server.Panes(t.Context()); err == nil {
				t.Errorf("panes are left: %+v", panes)
			}
			if got := other.launches(otherDir); len(got) == 0 {
				t.Error("another session's coder was ended")
			}
			if ended, err := r.host.End(t.Context(), dir); err != nil || ended != 0 {
				t.Errorf("once more: %d, %v", ended, err)
			}
		})
	}
}
