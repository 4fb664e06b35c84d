package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// A log that an agent replaced leads no line elsewhere and keeps nobody waiting.
func TestLogsAreFilesOfTheSession(t *testing.T) {
	dir := t.TempDir()
	path, victim := filepath.Join(dir, session.HostLog), filepath.Join(dir, "elsewhere")
	for range 2 {
		f, err := session.OpenLog(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("line\n"); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	f, err := session.ReadLog(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if data, err := session.ReadFile(path); err != nil || string(data) != "line\nline\n" {
		t.Errorf("the log holds %q, %v", data, err)
	}
	write(t, victim, "mine\n")
	for what, place := range map[string]func() error{
		"a pipe": func() error { return syscall.Mkfifo(path, 0o600) }, "a directory": func() error { return os.Mkdir(path, 0o700) },
		"a symbolic link": func() error { return os.Symlink(victim, path) },
	} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := place(); err != nil {
			t.Fatal(err)
		}
		if f, err := session.OpenLog(path); err == nil || !strings.Contains(err.Error(), session.HostLog) {
			t.Errorf("%s was opened to write: %v, %v", what, f, err)
		}
		if f, err := session.ReadLog(path); err == nil {
			t.Errorf("%s was opened to read: %v", what, f)
		}
		if _, err := session.ReadFile(path); err == nil {
			t.Errorf("%s was read", what)
		}
	}
	if data, err := os.ReadFile(victim); err != nil || string(data) != "mine\n" {
		t.Errorf("elsewhere holds %q, %v", data, err)
	}
	if f, err := session.ReadLog(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a log that is missing: %v, %v", f, err)
	}
}
