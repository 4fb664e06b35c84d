//go:build crash

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/start"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// tale is a rig on which a session is led from an issue to a pull request and through a
// change round: after a kill the next command is the one that a person would give then.
type tale struct {
	*rig
	// prepare changes the environment of each command before it is started, and after
	// what has to happen then. Both may be nil.
	prepare func(cmd *exec.Cmd)
	running func(cmd *exec.Cmd)

	hosts, kills int
	out          bytes.Buffer // of all hosts
}

func newStory(t testing.TB) *tale {
	t.Helper()
	return &tale{rig: newRig(t, rigOptions{playbook: storyPlaybook, title: "Say it right", config: "agents: {linger: 1s}\n"})}
}

// maxHosts bounds how many hosts a story may need without a kill. A kill while the session
// is made, while it is changed and while it ends each cost one.
const maxHosts = 4

// hostLimit bounds one host; many stories run side by side.
const hostLimit = 10 * time.Minute

// lead starts hosts until nothing is left to do; kills is how many of them may be killed.
func (s *tale) lead(kills int) {
	s.t.Helper()
	for {
		args := s.next()
		if args == nil {
			return
		}
		if s.hosts++; s.hosts > kills+maxHosts {
			s.fatal("host %d, and still %v", s.hosts, args)
		}
		if s.host(args) {
			s.kills++
		}
	}
}

func (s *tale) fatal(format string, args ...any) {
	s.t.Helper()
	var state string
	for _, e := range s.sessions() {
		if e.State != nil {
			state += fmt.Sprintf("%s: phase %s, outcome %s %s, cause %s\n", e.Name, e.State.Phase, e.State.Outcome, e.State.OutcomeReason, e.State.Cause)
			state += transcripts(e)
		}
	}
	s.t.Fatalf(format+"\n%s%s", append(args, state, s.out.String())...)
}

// transcripts are what the agents of a session showed.
func transcripts(e session.Entry) string {
	files, _ := filepath.Glob(filepath.Join(e.Dir, session.TranscriptsDir, "*"))
	var b strings.Builder
	for _, file := range files {
		data, _ := os.ReadFile(file)
		fmt.Fprintf(&b, "%s: %s\n", filepath.Base(file), data)
	}
	return b.String()
}

// next is the command that leads on from where the session is, nil at its end.
func (s *tale) next() []string {
	s.t.Helper()
	entries := s.sessions()
	if len(entries) == 0 {
		return []string{"issue", "1", "--headless"}
	}
	if len(entries) > 1 || entries[0].State == nil {
		s.fatal("sessions: %+v", entries)
	}
	e := entries[0]
	switch {
	case e.State.Phase != orchestrator.PhaseDone || start.Owes(s.t.Context(), e):
		return []string{"issue", "1", "--headless"}
	case e.State.ChangeRound == 0:
		return []string{"resume", e.Name, "--headless", "--changes", "say it louder"}
	}
	return nil
}

// host runs one command to its end and reports whether it was killed.
func (s *tale) host(args []string) (killed bool) {
	s.t.Helper()
	cmd := s.command(args...)
	if s.prepare != nil {
		s.prepare(cmd)
	}
	fmt.Fprintf(&s.out, "$ agentmux %s\n", strings.Join(args, " "))
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if s.running != nil {
		s.running(cmd)
	}
	stop := time.AfterFunc(hostLimit, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer stop.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return true
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		s.fatal("agentmux %s: exit %d", strings.Join(args, " "), code)
	}
	return false
}

// ending is all that must not depend on who was killed when: what people see, and what
// the session says of itself.
func (s *tale) ending() string {
	s.t.Helper()
	s.clean()
	var b strings.Builder
	b.WriteString(s.picture())
	repo := s.github.Repo(rigRepo)
	fmt.Fprintf(&b, "labels %v\n", repo.Issue(1).Labels)
	for _, issue := range []int{1, s.session().State.Completion.PRNumber} {
		for _, c := range repo.Comments(issue) {
			fmt.Fprintf(&b, "on #%d\n%s\n", issue, steady(c.Body))
		}
	}
	for _, pull := range repo.Pulls() {
		fmt.Fprintf(&b, "title %s\n%s\n", pull.Title, steady(pull.Body))
	}
	e := s.session()
	st := e.State
	fmt.Fprintf(&b, "subjects %s\n", steady(s.git(s.clone, "log", "--format=%an %s%n%b", "origin/HEAD..FETCH_HEAD")))
	fmt.Fprintf(&b, "%s %s, change round %d, review round %d, plans %v, research %v, pending %d\n",
		st.Phase, st.Outcome, st.ChangeRound, st.ReviewIteration, st.SubplanStatus, st.ResearchTasks, len(st.Pending))
	for _, role := range slices.Sorted(maps.Keys(st.ReviewResults)) {
		res := st.ReviewResults[role]
		fmt.Fprintf(&b, "%s %s in %d, of the head %v\n", role, res.Verdict, res.Iteration, res.Tree == st.Completion.Tree)
	}
	fmt.Fprintf(&b, "launches\n%s", strings.Join(s.launches(e), "\n"))
	fmt.Fprintf(&b, "\nfiles\n%s\n", strings.Join(s.artifacts(e), "\n"))
	fmt.Fprintf(&b, "beside it\n%s\n", strings.Join(s.beside(), "\n"))
	return b.String()
}

// launches names those that the session made. Of two coders in conflict either may be the
// one who brings both together.
func (s *tale) launches(e session.Entry) []string {
	s.t.Helper()
	dirs, err := os.ReadDir(filepath.Join(e.Dir, session.LaunchesDir))
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, d := range dirs {
		names = append(names, eitherCoder(d.Name()))
	}
	slices.Sort(names)
	return names
}

var coderNumber = regexp.MustCompile(`(resolve[-_]|resolve_prompt_|conflict_)[12]`)

func eitherCoder(name string) string { return coderNumber.ReplaceAllString(name, "${1}N") }

// artifacts names the files of agents and of the phases.
func (s *tale) artifacts(e session.Entry) []string {
	s.t.Helper()
	var names []string
	err := filepath.WalkDir(e.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(e.Dir, path)
		switch rel {
		case session.BlobsDir, session.LaunchesDir, session.TranscriptsDir:
			return fs.SkipDir
		}
		// A writer that was killed may leave a temporary file.
		if !d.IsDir() && !strings.Contains(rel, ".tmp-") {
			names = append(names, steady(eitherCoder(rel)))
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// A launch has another home than its agent's if it starts before the end of a former one,
// which depends on how fast that ends.
var anotherHome = regexp.MustCompile(`/homes/[^/]+/[^/]+\.[0-9]+$`)

// beside names what is left of agents outside of the session: environments, workspaces
// and homes.
func (s *tale) beside() []string {
	s.t.Helper()
	var names []string
	for _, pattern := range []string{"r/agentmux/*", "home/.local/state/agentmux/workspaces/*/*", "home/.local/state/agentmux/homes/*/*"} {
		found, err := filepath.Glob(filepath.Join(s.dir, pattern))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, file := range found {
			if rel, _ := filepath.Rel(s.dir, file); !anotherHome.MatchString(rel) {
				names = append(names, steady(eitherCoder(rel)))
			}
		}
	}
	slices.Sort(names)
	return names
}

// clean fails if the session keeps a promise no more, or left a process behind.
func (s *tale) clean() {
	s.t.Helper()
	e := s.session()
	s.done(e)
	s.github.Check(s.t)
	branches := 0
	for ref := range s.github.Repo(rigRepo).Refs() {
		if strings.HasPrefix(ref, "refs/heads/") && ref != "refs/heads/main" {
			branches++
		}
	}
	if branches != 1 {
		s.t.Errorf("refs: %v", s.github.Repo(rigRepo).Refs())
	}
	if n := s.late(); n > 1 {
		s.t.Errorf("late changes were recorded %d times", n)
	}
	var left []string
	eventually(s.t, "its processes end", func() bool { left = s.processes(); return len(left) == 0 }, func() string {
		return strings.Join(left, "\n")
	})
}

// late returns how often late changes were recorded, and fails unless each record's ref holds them. It is 0 if no
// host was there for so long after the submission that its launch had to end first.
func (s *tale) late() (n int) {
	s.t.Helper()
	for _, e := range s.recordsOf(s.session()) {
		if d, ok := e.Data.(orchestrator.LateChangesRecord); ok {
			n++
			if got := s.git(s.store(rigRepo), "show", d.Ref+":late.txt"); got != "late" {
				s.t.Errorf("%s holds %q", d.Ref, got)
			}
		}
	}
	return n
}

// storyPlaybook has everything in it: research that the architect waits for, a group of
// two coders whose work conflicts, two fix rounds, and what a person wants changed after
// the pull request. Four agents stay after their submission: one writes, and is ended while the
// next one works; two are ended beside an agent of their role; the last one at the end.
const storyPlaybook = `version: 1
agents:
  - role: architect
    attempt: 1
    steps:
      - submit: {tool: research_dispatch_code, with: {topic: words, context: Two files say one, questions: ["Who reads them?"]}}
  - role: architect
    steps:
      - write: {file: "{session}/02_architecting/architecture.md", text: "# Architecture\n\nThree text files.\n"}
      - submit: {tool: submit_architecture, via: cli, args: [submit, architecture]}
      - hang: true
  - role: code-researcher
    steps:
      - write: {file: "{session}/03_research/code-words/summary.md", text: "Nobody reads them.\n"}
      - submit: {tool: submit_research_done, with: {topic: words}}
  - role: planner
    round: 0
    steps:
      - write:
          file: "{session}/04_planning/plan.yaml"
          text: |
` + twoParts + `      - submit: {tool: submit_plan, via: cli, args: [submit, plan]}
  - role: planner
    steps:
      - expect: "say it louder"
      - write:
          file: "{session}/04_planning/plan.yaml"
          text: |
            version: 2
            plan_overview: Say it louder
            needs_design: false
            needs_docs: false
            doc_files: []
            groups:
              - {group_id: loud, mode: serial, plans: [{index: 1, name: loud}]}
            subplans:
              - {index: 1, title: loud, scope: a, owned_files: [a.txt], dependencies: none, implementation_approach: write,
                 acceptance_criteria: loud, tasks: [write]}
      - submit: {tool: submit_plan, via: cli, args: [submit, plan]}
  - role: coder
    phase: implementing
    round: 1
    steps:
      - write: {file: a.txt, text: "TWO\n"}
      - submit: {tool: submit_done, via: cli, args: [submit, done, "1"]}
  - role: coder
    task: "1"
    steps:
      - write: {file: a.txt, text: "two\n"}
      - write: {file: c.txt, text: "of a\n"}
      - submit: {tool: submit_done, via: cli, args: [submit, done, "1"]}
  - role: coder
    task: "2"
    steps:
      - write: {file: b.txt, text: "too\n"}
      - write: {file: c.txt, text: "of b\n"}
      - submit: {tool: submit_done, via: cli, args: [submit, done, "2"]}
  - role: coder
    task: resolve-1
    steps:
      - write: {file: a.txt, text: "two\n"}
      - write: {file: c.txt, text: "of both\n"}
      - submit: {tool: submit_done, via: cli, args: [submit, done, "1"]}
  - role: coder
    task: resolve-2
    steps:
      - write: {file: b.txt, text: "too\n"}
      - write: {file: c.txt, text: "of both\n"}
      - submit: {tool: submit_done, via: cli, args: [submit, done, "2"]}
  - role: coder
    iteration: 1
    steps:
      - write: {file: b.txt, text: "tow\n"}
      - submit: {tool: submit_done, via: cli, args: [submit, done, "1"]}
      - run: {argv: [sh, -c, 'until grep "^{.*\"submission\"" "$1/events.jsonl" | grep -qF "$2"; do sleep 0.02; done', sh, "{session}", "{launch}"]}
      - write: {file: late.txt, text: "late\n"}
      - hang: true
  - role: coder
    steps:
      - write: {file: b.txt, text: "two\n"}
      - submit: {tool: submit_done, via: cli, args: [submit, done, "1"]}
  - role: reviewer_logic
    prompt: summary_prompt.md
    steps:
      - write: {file: "{session}/08_completion/summary.md", text: "## What was implemented\n\nAll say two.\n\n## Key decisions\n\nNone.\n\n## Deviations from plan\n\nNone.\n"}
      - submit: {tool: submit_summary, via: cli, args: [submit, summary]}
      - hang: true
  - role: reviewer_logic
    round: 1
    steps:
      - write: {file: "{session}/07_review/review_reviewer_logic.yaml", text: "verdict: pass\nsummary: Loud.\n"}
      - submit: {tool: submit_review, via: cli, args: [submit, review]}
  - role: reviewer_logic
    iteration: 2
    steps:
      - write: {file: "{session}/07_review/review_reviewer_logic.yaml", text: "verdict: pass\nsummary: Both say two.\n"}
      - submit: {tool: submit_review, via: cli, args: [submit, review]}
      - hang: true
  - role: reviewer_logic
    iteration: 1
    steps:
      - run: {argv: [sh, -c, 'cd "$1"; l=$(ls launches | grep "[.]coder[.]" | sort -n | tail -n 1); until grep "^{.*\"agent_exited\"" events.jsonl | grep -qF "\"$l\""; do sleep 0.02; done', sh, "{session}"]}
      - write:
          file: "{session}/07_review/review_reviewer_logic.yaml"
          text: |
            verdict: fail
            summary: b.txt has a typo.
            findings: [{location: "b.txt:1", issue: It does not say two, severity: low, recommendation: Write two}]
      - submit: {tool: submit_review, via: cli, args: [submit, review]}
  - role: reviewer_logic
    steps:
      - write:
          file: "{session}/07_review/review_reviewer_logic.yaml"
          text: |
            verdict: fail
            summary: b.txt has a typo.
            findings: [{location: "b.txt:1", issue: It does not say two, severity: low, recommendation: Write two}]
      - submit: {tool: submit_review, via: cli, args: [submit, review]}
`
