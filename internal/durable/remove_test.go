package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/durable"
)

// A killed writer leaves what it had written; others' files stay.
func TestRemoveTakesWhatKilledWritersLeft(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.env", ".a.env.tmp-x", ".a.env.tmp-y", ".b.env.tmp-x", "b.env"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := durable.Remove(filepath.Join(dir, "a.env")); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 || left[0].Name() != ".b.env.tmp-x" || left[1].Name() != "b.env" {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := durable.Remove(filepath.Join(dir, "b.env", "a.env")); err != nil {
		t.Error(err)
	}
	if err := durable.Remove(filepath.Join(dir, "none", "a.env")); err != nil {
		t.Errorf("without its directory: %v", err)
	}
}
