package settings_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/agent/settings"
)

// newLaunch is an unattended launch in directories of the test.
func newLaunch(t *testing.T) settings.Launch {
	t.Helper()
	root := t.TempDir()
	l := settings.Launch{
		Self: "/opt/agentmux", Session: filepath.Join(root, "session"), Role: "coder", Task: "2", Launch: "v1-coder-1",
		Dir: filepath.Join(root, "config"), Home: filepath.Join(root, "home"), Private: true,
		Workdir: filepath.Join(root, "work"), TrustDir: root, Unattended: true,
	}
	for _, dir := range []string{l.Dir, l.Home, l.Workdir} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// write writes the settings of a launch in the forms of one program.
func write(t *testing.T, l settings.Launch, form string) settings.Settings {
	t.Helper()
	s, err := settings.For(l, form, form)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(); err != nil {
		t.Fatal(err)
	}
	return s
}

func lookup(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func decode(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}
