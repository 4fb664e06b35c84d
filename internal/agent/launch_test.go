package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

// A host is killed while it writes the variables of a launch.
func TestSecurity33NothingIsLeftOfAnEnvironmentHalfWritten(t *testing.T) {
	spec := newSpec(t, "script")
	half := func() {
		t.Helper()
		name := "." + filepath.Base(agent.Unprepared(spec.Runtime, spec.Dir).EnvFile) + ".tmp-x"
		if err := os.WriteFile(filepath.Join(spec.Runtime, name), []byte(`{"KEY":"sec`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := func(want int) {
		t.Helper()
		if files, err := os.ReadDir(spec.Runtime); err != nil || len(files) != want {
			t.Errorf("files %v, %v; want %d", files, err, want)
		}
	}
	if err := os.MkdirAll(spec.Runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	half()
	if err := agent.Unprepared(spec.Runtime, spec.Dir).Discard(); err != nil {
		t.Fatal(err)
	}
	left(0)
	half()
	if _, err := agent.Prepare(spec); err != nil {
		t.Fatal(err)
	}
	left(1) // the whole one, which the launch takes
}
