package session_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/durable/powertest"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A host that was killed behind the change of a name, and before the directory was synced, leaves the
// change to the next one, which finds nothing to do, and says that it is done. No power loss takes it
// back after that: the commit that follows counts on it.
func TestPowerLossAfterAChangeThatAKilledHostMade(t *testing.T) {
	const rel = "msgs/0115120000-update-system--planner-m1.md"
	for name, change := range map[string]func(*session.Session) error{
		"orphan": func(s *session.Session) error { return s.Orphan(rel) },
		"remove": func(s *session.Session) error { return s.Remove(rel) },
	} {
		t.Run(name, func(t *testing.T) {
			s, disk := on(t)
			if err := disk.Disk().Replace(s.Path(rel), []byte("text")); err != nil {
				t.Fatal(err)
			}
			failAt(disk, 1, true, syscall.EIO) // the first call changes the name
			if err := change(s); err == nil {
				t.Fatal("the change is complete without a sync")
			}
			disk.Fault = nil
			if _, err := os.Lstat(s.Path(rel)); !os.IsNotExist(err) {
				t.Fatalf("the name was not changed: %v", err)
			}
			if err := change(s); err != nil {
				t.Fatal(err)
			}
			told := disk.Moment()
			for past := range disk.Past() {
				if past.Moment != told {
					continue
				}
				for fate := range powertest.Fates + 1 {
					image := t.TempDir()
					if err := past.Image(image, fate); err != nil {
						t.Fatal(err)
					}
					below, err := filepath.Rel(s.Project(), s.Path(rel))
					if err != nil {
						t.Fatal(err)
					}
					if _, err := os.Lstat(filepath.Join(image, below)); !os.IsNotExist(err) {
						t.Errorf("fate %d: the file is there again: %v", fate, err)
					}
				}
			}
		})
	}
}
