package gitrepo_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

type rig struct{ *repotest.Rig }

func newRig(t *testing.T, files map[string]string) *rig {
	t.Helper()
	return &rig{repotest.New(t, files)}
}

// run runs a program in dir with the environment of a person without settings, and returns what
// it says.
func run(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return string(out)
}
