package exit_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/durable/powertest"
)

// The error of a full disk names the file once, and what a person can do.
func TestAFullDiskIsNamedOnce(t *testing.T) {
	dir := t.TempDir()
	disk := powertest.New(dir)
	disk.Fault = func(call, path string) error {
		if call == "write" {
			return &fs.PathError{Op: call, Path: path, Err: syscall.ENOSPC}
		}
		return nil
	}
	file := filepath.Join(dir, "state.json")
	err := disk.Disk().Replace(file, []byte("{}"))
	code, text := exit.Explain(err)
	if code != exit.Failed || strings.Count(text, "state.json") != 1 || !strings.Contains(text, "no space left on device; make room on that disk") {
		t.Errorf("exit %d: %s", code, text)
	}
}
