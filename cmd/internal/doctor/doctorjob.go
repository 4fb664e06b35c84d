package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/site"
)

// Job is what is known of the job of Actions that this process is in, or would be in.
type Job struct {
	Repo string // owner/name; empty outside of a job: the clone is probed then
	// Silent says why no request is sent; empty if requests may be sent.
	Silent string
	Rows   []Probe // of its event and inputs
}

// probeJob probes what a job needs: its event, the way its signals take, the runner, and the repository
// with the job's token. Outside of a job it probes the clone, and what only a job has is skipped.
func probeJob(ctx context.Context, a *site.Finder, o Options) ([]Probe, error) {
	probes := append(slices.Clone(o.Job.Rows), probeEntry(), probeRunner(os.Getenv))
	if InJob() {
		probes = append(probes, probeUser(os.Geteuid()))
	}
	if o.Job.Repo != "" {
		o.Repos = []string{o.Job.Repo}
		rest, err := probeBot(ctx, a, o)
		return append(probes, rest...), err
	}
	project, err := a.ProjectDir()
	if err != nil {
		return nil, err
	}
	rest, err := probeProject(ctx, a, project, o.Write)
	return append(append(probes, probeWorkflowFile(project)), rest...), err
}

// InJob reports whether a runner started this process, in whichever step.
func InJob() bool { return os.Getenv("GITHUB_ACTIONS") == "true" }

// shells are the programs that run the script of a step.
var shells = []string{"bash", "sh", "dash", "zsh", "ash", "busybox", "pwsh"}

// probeEntry says whether a signal of the runner reaches this process. The runner signals the process
// that it started for the step, and kills everything 10 seconds later: a shell that waits for its
// command passes nothing on.
func probeEntry() Probe {
	const name = "exec"
	if !InJob() {
		return skipped(name, "not in a job", "")
	}
	parent, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid()))
	if err != nil {
		return skipped(name, "this system does not tell which program started this one", `the script of the step has to end with: exec agentmux issue "$ISSUE" --headless`)
	}
	if comm := strings.TrimSpace(string(parent)); slices.Contains(shells, comm) {
		return row(name, Warning, comm+" started this process and stays: a canceled job kills it without its last comment, and the claim is not given back",
			`use the action, or end the script of the step with: exec agentmux issue "$ISSUE" --headless (no pipe, no trap)`)
	}
	return passed(name, "signals of the runner reach this process")
}

// probeRunner says whether the runner is kept after the job.
func probeRunner(env func(string) string) Probe {
	const name, hint = "runner", "register it with ./config.sh --ephemeral, in a container or machine that ends with it: docs/runners.md"
	switch env("RUNNER_ENVIRONMENT") {
	case "github-hosted":
		return passed(name, "a machine of GitHub, thrown away after the job")
	case "self-hosted":
	default:
		if InJob() {
			return skipped(name, "RUNNER_ENVIRONMENT is not set, so whether it is kept is not known", hint)
		}
		return skipped(name, "not in a job", "")
	}
	ephemeral, err := isEphemeral(env("RUNNER_WORKSPACE"))
	switch {
	case err != nil:
		return row(name, Warning, "a machine of yours; whether it is kept is not known: "+err.Error(), hint)
	case ephemeral:
		return passed(name, "a machine of yours, registered for one job; throw away its machine or container, too")
	}
	return row(name, Warning, "a machine of yours that is kept: agents run as its user, later jobs find what an agent leaves", hint)
}

// probeUser says whether the job's user is root, as in the container of a job that names no other one. Some CLIs refuse to work
// there without asking, and what an agent does as root the runner's own user may not be able to remove.
func probeUser(uid int) Probe {
	const name = "user"
	if uid != 0 {
		return passed(name, "not root")
	}
	return row(name, Warning, "the job runs as root: claude refuses to act without asking then, and files of agents stay that the runner cannot remove",
		"in the workflow: container: {image: ..., options: --user 1001}, or a runner whose user is not root")
}

// isEphemeral reports whether the runner was registered for one job. workspace is <runner>/_work/<repository>;
// the runner writes .runner when it is registered.
func isEphemeral(workspace string) (bool, error) {
	if workspace == "" {
		return false, fmt.Errorf("RUNNER_WORKSPACE is not set")
	}
	file := filepath.Join(filepath.Dir(filepath.Dir(workspace)), ".runner")
	data, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	var registered struct{ Ephemeral any } // true, or "True" where the server wrote the file
	const mark = "\ufeff"                  // the runner begins the file with a byte order mark
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte(mark)), &registered); err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	return strings.EqualFold(fmt.Sprint(registered.Ephemeral), "true"), nil
}

// UnknownCommit is in the workflow for runners where a program that does not know its own commit wrote it: a person has to
// put one there.
const UnknownCommit = "<40-hex commit>"

// probeWorkflowFile looks whether a clone has the workflow for runners.
func probeWorkflowFile(project string) Probe {
	const name, file = "workflow", ".github/workflows/agentmux.yml"
	text, err := os.ReadFile(filepath.Join(project, filepath.FromSlash(file)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return row(name, Failed, file+" is not there", "agentmux init --actions --write writes it; commit and push it")
	case err != nil:
		return row(name, Failed, err.Error(), "let this account read it")
	case bytes.Contains(text, []byte("@"+UnknownCommit)):
		return row(name, Failed, file+" does not say which commit of agentmux a job runs", "put the one that you have read into its lines uses:, commit and push it")
	}
	return row(name, OK, file+" is there", "agentmux init --actions --check says what differs from that of this version")
}
