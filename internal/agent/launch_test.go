package agent_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

// A host of an older version kept values in files, and was killed while it wrote them.
func TestSecurity33NothingIsLeftOfTheFilesOfAnOlderVersion(t *testing.T) {
	spec := newSpec(t, "script")
	sum := sha256.Sum256([]byte(spec.Dir))
	name := hex.EncodeToString(sum[:8])
	write := func() {
		t.Helper()
		for _, file := range []string{name + ".env", "." + name + ".env.tmp-x", name + ".lent"} {
			writeFile(t, filepath.Join(spec.Runtime, file), `{"KEY":"sec`, 0o600)
		}
	}
	empty := func() {
		t.Helper()
		if files, err := os.ReadDir(spec.Runtime); err != nil || len(files) != 0 {
			t.Errorf("files %v, %v", files, err)
		}
	}
	write()
	if err := agent.Unprepared(spec.Runtime, spec.Dir).Discard(); err != nil {
		t.Fatal(err)
	}
	empty()
	write()
	if _, err := agent.Prepare(spec); err != nil {
		t.Fatal(err)
	}
	empty()
}

// The record of a launch lies where an agent can write: it names no file to read or remove.
func TestSecurity33ALaunchRecordNamesNoFile(t *testing.T) {
	spec := newSpec(t, "script")
	victim := filepath.Join(t.TempDir(), "id")
	writeFile(t, victim, "a key", 0o600)
	for _, text := range []string{
		`{"version":1,"argv":["true"],"mark":"../../x","env_file":"` + victim + `"}`,
		`{"version":1,"argv":["true"],"mark":"0123456789abcdef0123456789abcdef","env_file":"` + victim + `"}`,
		`{"version":1,"argv":["true"],"mark":"0123456789abcdef0123456789abcdef","socket":"` + victim + `"}`,
	} {
		writeFile(t, filepath.Join(spec.Dir, "launch.json"), text, 0o600)
		if l, err := agent.ReadLaunch(spec.Dir); err == nil {
			if err := l.Discard(); err != nil {
				t.Error(err)
			}
		}
		if err := agentExec(t, spec).Run(); err == nil {
			t.Errorf("%s was started", text)
		}
		if err := os.Remove(filepath.Join(spec.Dir, "exit.json")); err != nil {
			t.Error(err)
		}
		if readFile(t, victim) != "a key" {
			t.Fatalf("%s: the file is gone", text)
		}
	}
}
