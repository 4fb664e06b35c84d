package agent_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

// A host of an older version kept values in files and was killed while it wrote them.
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
