package session_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestEarlierVersions takes up directories as earlier versions of this program left them. Each is sound by today's
// checker, before and after it is recovered, and is in the phase in which it was, with its agent at work. A format
// that changes needs a step in package upgrade, and a directory here.
func TestEarlierVersions(t *testing.T) {
	archives, err := filepath.Glob("testdata/earlier/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("%v, %v", archives, err)
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			a, err := txtar.ParseFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(session.Dir(t.TempDir()), "20261125-201734-issue-1-say-two")
			for _, f := range a.Files {
				file := filepath.Join(dir, filepath.FromSlash(f.Name))
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := session.CheckDir(dir).Err(); err != nil {
				t.Fatal(err)
			}
			sess, err := session.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := sess.Lock(0); err != nil {
				t.Fatal(err)
			}
			before, err := sess.ReadState()
			if err != nil {
				t.Fatal(err)
			}
			s, err := sess.Recover(time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if s.Phase != "implementing" || s.Ended() || s.Seq != before.Seq || s.Agents["coder/1"].Launch == "" {
				t.Errorf("phase %s, outcome %s, seq %d of %d, agents %+v", s.Phase, s.Outcome, s.Seq, before.Seq, s.Agents)
			}
			if err := sess.Close(); err != nil {
				t.Fatal(err)
			}
			if err := session.CheckDir(dir).Err(); err != nil {
				t.Errorf("recovered: %v", err)
			}
		})
	}
}
