package job

import (
	"os"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
)

// channels are the variables by which a program changes the steps behind it, or speaks with the
// services of Actions with the rights of the job. Names that end with _ are prefixes.
var channels = []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_STATE", "ACTIONS_"}

// Withhold takes the runner's channels out of the environment of this process, so that no child has
// them: a command or an agent that could write these files could run code in a later step.
func Withhold() {
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		for _, c := range channels {
			if name == c || strings.HasSuffix(c, "_") && strings.HasPrefix(name, c) {
				_ = os.Unsetenv(name)
			}
		}
	}
}

// Variable says that the process is the step of the action: exit codes of sessions that need a
// person do not fail it.
const Variable = "AGENTMUX_ACTION"

// Here reports whether this process is the step of the action in a job.
func Here() bool { return os.Getenv(Variable) == "1" && doctor.InJob() }
