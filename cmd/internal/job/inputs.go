package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/workflows"
)

// InputPrefix begins the names of the variables that hold the inputs of the action.
const InputPrefix = "AGENTMUX_INPUT_"

// Inputs are those of the action, as text of whoever wrote the workflow file. "" = the default.
type Inputs map[string]string

// Problem is what is wrong with an input.
type Problem struct{ Input, Text string }

// checks say what is wrong with an input; "" if nothing is. They are all inputs of the action but
// those that its steps alone use.
var checks = map[string]func(string) string{
	"issue":       checkIssue,
	"workflow":    checkWorkflow,
	"config":      checkFile,
	"state":       checkDirectory,
	"version":     checkVersion,
	"sandbox":     oneOf("auto", "none"),
	"comments":    oneOf("timeline", "every", "quiet"),
	"max-time":    checkTime,
	"checkpoint":  oneOf("true", "false"),
	"transcripts": oneOf("true", "false"),
	"dry-run":     oneOf("true", "false"),

	"timeout-minutes": checkMinutes,
}

// ReadInputs takes the inputs out of the environment, so that no child has them.
func ReadInputs() Inputs {
	in := Inputs{}
	for name := range checks {
		variable := InputPrefix + strings.ReplaceAll(strings.ToUpper(name), "-", "_")
		in[name] = os.Getenv(variable)
		_ = os.Unsetenv(variable)
	}
	return in
}

// Check returns everything that is wrong with the inputs, by name.
func (in Inputs) Check() (problems []Problem) {
	for name, check := range checks {
		value := in[name]
		switch {
		case value == "":
		case strings.ContainsAny(value, "\n\r\x00\"'`$"):
			problems = append(problems, Problem{name, fmt.Sprintf("expected one line without quotes and $, found %q", cut(value))})
		default:
			if text := check(value); text != "" {
				problems = append(problems, Problem{name, text})
			}
		}
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Input, b.Input) })
	return problems
}

// On reports whether an input that is true or false is true.
func (in Inputs) On(name string) bool { return in[name] == "true" }

// Change puts the inputs over a configuration.
func (in Inputs) Change(c *config.Config) {
	if v := in["workflow"]; v != "" {
		c.Defaults.Workflow = v
	}
	if v := in["comments"]; v != "" {
		c.GitHub.Comments = v
	}
	if v := in["sandbox"]; v != "" {
		c.Sandbox.Level = v
	}
	if d, err := time.ParseDuration(in["max-time"]); err == nil {
		c.Limits.Total = d
	}
	if in["checkpoint"] == "false" {
		c.Checkpoint.Remote = false
	}
}

const (
	// tokenTime leaves two hours before the token of a job ends, 24 hours after it was made.
	tokenTime = 22 * time.Hour
	// Of a job's own time a tenth is left to the hand-over and to the steps before and after this one, within these bounds.
	leastRest, mostRest = 2 * time.Minute, 15 * time.Minute
)

// HandsOver is how long the session may work in the job before it is handed over to another one: past its timeout-minutes a job
// is canceled, and its session with it.
func (in Inputs) HandsOver() time.Duration {
	n, err := strconv.Atoi(in["timeout-minutes"])
	if err != nil || n < 1 || n > maxMinutes {
		return tokenTime
	}
	limit := time.Duration(n) * time.Minute
	rest := min(limit/2, max(leastRest, min(limit/10, mostRest)))
	return min(limit-rest, tokenTime)
}

// maxMinutes is more than a runner works on a job: 35 days.
const maxMinutes = 35 * 24 * 60

func oneOf(values ...string) func(string) string {
	return func(v string) string {
		if slices.Contains(values, v) {
			return ""
		}
		return fmt.Sprintf("expected %s, found %q", strings.Join(values, " or "), cut(v))
	}
}

func checkIssue(v string) string {
	if _, err := number(v); err != nil {
		return err.Error()
	}
	return ""
}

func checkWorkflow(v string) string {
	if workflows.IsName(v) {
		return ""
	}
	return fmt.Sprintf("expected the name of a workflow, found %q", cut(v))
}

func checkFile(v string) string {
	if info, err := os.Stat(v); err != nil || !info.Mode().IsRegular() {
		return fmt.Sprintf("expected a file of this runner, found %q", cut(v))
	}
	return ""
}

// checkDirectory takes one that is not there yet: the first job on a runner makes it. In one of another user, or that
// all may write to, others could say which programs git runs in the clones. Root, as in a container, has those of the runner.
func checkDirectory(v string) string {
	info, err := os.Stat(v)
	if filepath.IsAbs(v) && errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if filepath.IsAbs(v) && err == nil && info.IsDir() {
		own, known := info.Sys().(*syscall.Stat_t)
		if me := os.Geteuid(); info.Mode()&0o002 != 0 || known && me != 0 && int(own.Uid) != me {
			return fmt.Sprintf("expected a directory that no other user owns or may write to, found %q", cut(v))
		}
		return ""
	}
	return fmt.Sprintf("expected the absolute path of a directory of this runner, found %q", cut(v))
}

func checkVersion(v string) string {
	if v == "local" || strings.HasPrefix(v, "v") && strings.Trim(v[1:], "0123456789.") == "" {
		return ""
	}
	return fmt.Sprintf("expected local or a release such as v1.2.3, found %q", cut(v))
}

func checkMinutes(v string) string {
	if n, err := strconv.Atoi(v); err == nil && n > 0 && n <= maxMinutes {
		return ""
	}
	return fmt.Sprintf("expected the minutes of the job's timeout-minutes such as 360, found %q", cut(v))
}

func checkTime(v string) string {
	if d, err := time.ParseDuration(v); err == nil && d > 0 {
		return ""
	}
	return fmt.Sprintf("expected a duration such as 6h, found %q", cut(v))
}
