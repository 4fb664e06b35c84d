package job_test

import (
	"os"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
)

// TestSecurity6TheRunnersFilesReachNoChild is row 6 of security section 11, for a job.
func TestSecurity6TheRunnersFilesReachNoChild(t *testing.T) {
	for _, name := range []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_STATE", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_X"} {
		t.Setenv(name, "x")
	}
	t.Setenv("GITHUB_SERVER_URL", "https://github.example")
	job.Withhold()
	for _, kv := range os.Environ() {
		for _, name := range []string{"GITHUB_ENV=", "GITHUB_PATH=", "GITHUB_OUTPUT=", "GITHUB_STEP_SUMMARY=", "GITHUB_STATE=", "ACTIONS_"} {
			if len(kv) >= len(name) && kv[:len(name)] == name {
				t.Errorf("left: %s", kv)
			}
		}
	}
	if os.Getenv("GITHUB_SERVER_URL") == "" {
		t.Error("the server is forgotten")
	}
}

// Git runs what the configuration of a clone names, so clones are kept in no directory that others may write to.
func TestTheInputStateIsADirectoryOfThisUser(t *testing.T) {
	dir := t.TempDir()
	for mode, want := range map[os.FileMode]int{0o755: 0, 0o777: 1} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if problems := (job.Inputs{"state": dir}).Check(); len(problems) != want {
			t.Errorf("mode %o: %v", mode, problems)
		}
	}
}
