package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

// told is all that a job tells its runner and people, step by step.
func (r *runner) told() string {
	r.t.Helper()
	files := []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH"}
	for _, name := range files {
		r.write(filepath.Join(r.dir, name), "")
		r.setEnv(name, filepath.Join(r.dir, name))
	}
	a := txtar.Archive{}
	for _, step := range []string{"run", "report"} {
		code, log := r.step(step, "ISSUE=1", job.InputPrefix+"ISSUE=1")
		a.Files = append(a.Files, txtar.File{Name: fmt.Sprintf("log of the step %s, which ends with %d", step, code), Data: []byte(log)})
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			r.t.Fatal(err)
		}
		a.Files = append(a.Files, txtar.File{Name: name, Data: text})
	}
	a.Files = append(a.Files, txtar.File{Name: "artifact", Data: []byte(strings.Join(r.artifact(), "\n") + "\n")})
	code, log := r.step("left")
	a.Files = append(a.Files, txtar.File{Name: fmt.Sprintf("log of the step left, which ends with %d", code), Data: []byte(log)})
	for i, f := range a.Files { // an empty file has no line
		a.Files[i].Data = []byte(strings.TrimSuffix(string(f.Data), "\n") + "\n")
	}
	return r.ofAnyRunner(string(txtar.Format(&a)))
}

// artifact are the names of the files of the job's artifact.
func (r *runner) artifact() (names []string) {
	r.t.Helper()
	root := filepath.Join(r.temp, "agentmux", "artifact")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

var (
	runnerClock = regexp.MustCompile(`(?m)^[0-9]{2}:[0-9]{2}:[0-9]{2} `)
	runnerStop  = regexp.MustCompile(`(?m)^::(stop-commands::)?[A-Z2-7]{26}`)
	runnerLog   = regexp.MustCompile(`(?m)^time=.*\n`) // another process writes it, in between
	runnerTime  = regexp.MustCompile(`\b[0-9]{2}:[0-9]{2} UTC`)
	runnerSpan  = regexp.MustCompile(`\b[0-9]+(\.[0-9]+)? ?(ms|s|min|m)\b`)
)

// ofAnyRunner takes out of a text what differs between two runners and two runs.
func (r *runner) ofAnyRunner(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, r.temp, "RUNNER_TEMP"), r.dir, "DIR")
	text = runnerLog.ReplaceAllString(runnerStop.ReplaceAllString(text, "::${1}TOKEN"), "")
	text = runnerTime.ReplaceAllString(runnerClock.ReplaceAllString(steady(text), "CLOCK "), "CLOCK UTC")
	return runnerSpan.ReplaceAllString(text, "SPAN")
}

// What a job tells is as it is written down: log with groups and annotations, outputs, summary, the files of its artifact, and
// nothing for the steps after it.
func TestWhatAJobTells(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		o     rigOptions
		pulls bool // may be opened by jobs
	}{
		"done":            {pulls: true},
		"no_pull_request": {},
		"a_question":      {o: rigOptions{playbook: parkedPlaybook, config: parksSoon}, pulls: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, c.o)
			r.github.Repo(rigRepo).LetActionsOpenPulls(c.pulls)
			r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
			r.event("issues", labelEvent("agentmux:quick"))
			got, file := r.told(), filepath.Join("testdata", "job", name+".txtar")
			if *update {
				put(t, file, got)
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s says otherwise:\n%s", file, got)
			}
		})
	}
}
