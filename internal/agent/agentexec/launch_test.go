package agentexec_test

import (
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

// An agent can write the record of its launch, so the record names no file to read or remove.
func TestSecurity33ALaunchRecordNamesNoFile(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "id")
	writeFile(t, victim, "a key", 0o600)
	for name, text := range map[string]string{
		"a mark that is a path": `{"version":1,"argv":["true"],"mark":"../../x","env_file":"` + victim + `"}`,
		"a file of variables":   `{"version":1,"argv":["true"],"mark":"0123456789abcdef0123456789abcdef","env_file":"` + victim + `"}`,
		"a socket":              `{"version":1,"argv":["true"],"mark":"0123456789abcdef0123456789abcdef","socket":"` + victim + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			spec := newSpec(t, "script")
			writeFile(t, filepath.Join(spec.Dir, "launch.json"), text, 0o600)
			if l, err := agent.ReadLaunch(spec.Dir); err == nil {
				if err := l.Discard(); err != nil {
					t.Error(err)
				}
			}
			if err := agentExec(t, spec).Run(); err == nil {
				t.Errorf("%s was started", text)
			}
			if readFile(t, victim) != "a key" {
				t.Error("the file is changed")
			}
		})
	}
}
