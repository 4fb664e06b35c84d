package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
)

// actionRun is what a runner has of the steps of the action.
type actionRun struct {
	codes   map[string]int    // of the scripts that ran, by the ids of their steps
	logs    map[string]string // of them
	outputs map[string]string // of the action
	summary string
}

// steps are those that a runner knows while it runs the steps of the action.
type steps struct {
	r       *runner
	env     []string
	inputs  map[string]string
	outputs map[string]map[string]string // of the steps, by their ids
	run     actionRun
}

// expression is one in a variable or an output of the action.
var expression = regexp.MustCompile(`\$\{\{ (inputs|steps)\.([^ ]+) \}\}`)

// action runs the steps of the action one after the other, as a runner does in a job with these inputs: each with its own
// variables and those of the job, and after one that fails those that always run. While is called with the process of
// the step that becomes the program; it may be nil.
func (r *runner) action(inputs map[string]string, while func(*os.Process)) actionRun {
	r.t.Helper()
	a := theAction(r.t.(*testing.T))
	s := steps{r: r, inputs: map[string]string{}, outputs: map[string]map[string]string{}, run: actionRun{
		codes: map[string]int{}, logs: map[string]string{}, outputs: map[string]string{},
	}}
	for name, input := range a.Inputs {
		s.inputs[name] = input.Default
	}
	for name, value := range inputs {
		if _, ok := s.inputs[name]; !ok {
			r.t.Fatalf("the action has no input %s", name)
		}
		s.inputs[name] = value
	}
	// A job has no token in a variable, and no directory for its state.
	for _, v := range r.env {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "GITHUB_TOKEN":
			s.inputs["github-token"] = value
		case job.Variable, "XDG_STATE_HOME":
		default:
			s.env = append(s.env, v)
		}
	}
	own, err := r.program("issue")
	if err != nil {
		r.t.Fatal(err)
	}
	s.outputs["binary"] = map[string]string{"path": own} // the others find it there
	failed := false
	for _, step := range a.Runs.Steps {
		if step.Run == "" || step.ID == "binary" || failed && !strings.HasPrefix(step.If, "always()") {
			continue
		}
		told := while
		if step.ID != "run" {
			told = nil
		}
		s.script(step, told)
		failed = failed || s.run.codes[step.ID] != 0
	}
	for name, o := range a.Outputs {
		s.run.outputs[name] = s.value(o.Value)
	}
	return s.run
}

// value is what a text of the action means.
func (s *steps) value(text string) string {
	text = expression.ReplaceAllStringFunc(text, func(found string) string {
		of := expression.FindStringSubmatch(found)
		if of[1] == "inputs" {
			return s.inputs[of[2]]
		}
		step, output, _ := strings.Cut(of[2], ".outputs.")
		return s.outputs[step][output]
	})
	if strings.Contains(text, "${{") {
		s.r.t.Fatalf("%s is not known here", text)
	}
	return text
}

// script runs the script of a step.
func (s *steps) script(step actionStep, while func(*os.Process)) {
	s.r.t.Helper()
	at := filepath.Join(s.r.dir, "step-"+step.ID)
	files := map[string]string{"GITHUB_OUTPUT": at + ".output", "GITHUB_STEP_SUMMARY": at + ".summary", "GITHUB_ENV": at + ".env", "GITHUB_PATH": at + ".path"}
	env := slices.Clone(s.env)
	for name, file := range files {
		s.r.write(file, "")
		env = append(env, name+"="+file)
	}
	for name, value := range step.Env {
		env = append(env, name+"="+s.value(value))
	}
	s.r.write(at+".sh", step.Run)
	log := new(output)
	argv := slices.Concat(s.r.within, []string{"bash", "--noprofile", "--norc", "-e", "-o", "pipefail", at + ".sh"})
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.r.dir, env, log, log
	if err := cmd.Start(); err != nil {
		s.r.t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // where the test ends before it
	if while != nil {
		while(cmd.Process)
	}
	_ = cmd.Wait() // the code says it
	s.run.codes[step.ID], s.run.logs[step.ID] = cmd.ProcessState.ExitCode(), log.String()
	s.outputs[step.ID] = map[string]string{}
	for line := range strings.Lines(s.r.read(files["GITHUB_OUTPUT"])) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		s.outputs[step.ID][name] = value
	}
	s.run.summary += s.r.read(files["GITHUB_STEP_SUMMARY"])
	if s.r.read(files["GITHUB_ENV"])+s.r.read(files["GITHUB_PATH"]) != "" {
		s.r.t.Errorf("step %s wrote to the files of the runner", step.ID)
	}
}

// kept lists what the steps left below the directory of the runner, but their program, their result and the artifact.
func (r *runner) kept() (files []string) {
	r.t.Helper()
	if err := filepath.WalkDir(filepath.Join(r.temp, "agentmux", "state"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, path)
		}
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	return files
}
