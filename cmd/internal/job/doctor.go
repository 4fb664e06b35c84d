package job

import (
	"fmt"
	"os"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/site"
)

// Quote makes the output of a command text to the runner, until the returned function is called: what
// servers and programs say in it is not a command. Outside of a job it does nothing.
func Quote(f *site.Finder) (end func()) {
	if !doctor.InJob() {
		return func() {}
	}
	before, log := f.Console, NewLog(f.Raw)
	f.Console = console.New(console.Streams{In: f.In, Out: log, Err: log}, f.Redactor)
	return func() {
		log.Close()
		f.Console = before
	}
}

// ForDoctor returns what doctor is to know of the job that this process is in. It sends nothing, and
// takes the inputs of the action out of the environment.
func ForDoctor(f *site.Finder) *doctor.Job {
	const event = "event"
	if !doctor.InJob() {
		return &doctor.Job{Rows: []doctor.Probe{{Name: event, State: doctor.Skipped, Detail: "not in a job", Hint: "in a step of the workflow, agentmux doctor --actions looks at its event, token and runner"}}}
	}
	j := &doctor.Job{Repo: os.Getenv("GITHUB_REPOSITORY")}
	inputs := ReadInputs()
	problems := inputs.Check()
	for _, p := range problems {
		j.Rows = append(j.Rows, doctor.Probe{Name: "inputs", State: doctor.Failed, Detail: p.Input + ": " + p.Text, Hint: "correct it below with: in the workflow"})
	}
	if file := inputs["config"]; file != "" && len(problems) == 0 {
		f.ConfigFile = file
	}
	c, err := f.MachineConfig()
	if err != nil {
		j.Rows = append(j.Rows, doctor.Probe{Name: event, State: doctor.Skipped, Detail: "the configuration has to be right first"})
		return j
	}
	r, err := ReadEvent(os.Getenv, c.Bot.Label, inputs["issue"])
	p := doctor.Probe{Name: event, State: doctor.OK}
	switch name := os.Getenv("GITHUB_EVENT_NAME"); {
	case err != nil:
		j.Silent = "the event is refused"
		p.State, p.Detail, p.Hint = doctor.Failed, err.Error(), "agentmux init --actions prints a workflow with the events and the input that fit"
	case r.Idle != "":
		j.Silent = "the event asks for nothing"
		p.State, p.Detail, p.Hint = doctor.Skipped, r.Idle, "on: and if: of the workflow that agentmux init --actions prints keep such jobs from starting"
	case r.Sweep:
		p.Detail = name + ": the sweep"
	case r.Pull:
		p.Detail = fmt.Sprintf("%s: a command on pull request #%d", name, r.Issue)
	default:
		p.Detail = fmt.Sprintf("%s: issue #%d", name, r.Issue)
	}
	if len(problems) > 0 {
		j.Silent = "the inputs are refused"
	}
	j.Rows = append(j.Rows, p)
	return j
}
