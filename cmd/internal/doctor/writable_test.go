package doctor_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
)

// A process that was killed while it tried leaves its file to the next one.
func TestATryOfADirectoryLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := doctor.Writable(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".probe"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := doctor.Writable(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := doctor.Writable(filepath.Join(dir, "\x00")); err == nil {
		t.Error("a name no directory can have is writable")
	}
}
