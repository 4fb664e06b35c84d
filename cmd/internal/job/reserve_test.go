package job_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
)

// The room that a job keeps is given back once, and a runner that has none does without.
func TestAJobKeepsRoomForItsResult(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("RUNNER_TEMP", temp)
	room := job.NewReserve()
	files, err := filepath.Glob(filepath.Join(temp, "agentmux", ".*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Size() < 100<<10 {
		t.Errorf("%+v, %v", info, err)
	}
	job.FreeReserve(room)
	job.FreeReserve(room)
	if _, err := os.Stat(files[0]); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
	blocked := filepath.Join(temp, "blocked")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RUNNER_TEMP", filepath.Join(blocked, "below"))
	if room := job.NewReserve(); room != "" {
		t.Errorf("room at %q", room)
	}
}
