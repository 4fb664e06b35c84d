package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
)

// A playbook that cannot be played is a mistake of the command line, told with its place.
func TestPlayRefusesWhatItCannotPlay(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	s.write(wrong, "agent: []\n")
	for file, want := range map[string]string{
		"/absent.yaml": "read playbook: open /absent.yaml: no such file or directory",
		wrong:          wrong + ":1: agent: unknown key",
	} {
		if out := s.expect(exit.BadUsage, "play", file); !strings.Contains(out.err, want) {
			t.Errorf("play %s: %q, want %q", file, out.err, want)
		}
	}
}
