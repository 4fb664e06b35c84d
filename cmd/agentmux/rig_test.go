package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
)

const (
	rigRepo  = "acme/widgets"
	rigBot   = "robo"
	rigOwner = "mia"
)

// runLimit bounds one run of the command in a test. It only tells a run that hangs from one
// on a machine that has much else to do.
var runLimit = limitOf(os.Getenv("AGENTMUX_TEST_LIMIT"))

// limitOf is the limit that a variable names, for those who expect that tests fail.
func limitOf(text string) time.Duration {
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	return 12 * time.Minute
}

// rig is a person's machine: a home, a clone of a repository on the fake GitHub,
// and a configuration that plays every role by a playbook.
type rig struct {
	t      testing.TB
	github *fakehub.Server
	dir    string // short: sockets lie below
	clone  string
	env    []string
	asked  atomic.Int32 // commands so far that ask GitHub something
	other  string       // the program that runs all commands; empty: this test, and that of inPanes
}

// rigOptions vary a rig; zero fields take the usual.
type rigOptions struct {
	files    map[string]string // of the repository
	source   string            // or a directory with a git repository
	title    string
	body     *string
	playbook string
	config   string // further lines of the user's configuration
	unlabel  bool
	private  bool // the repository
	github   fakehub.Options
	role     fakehub.Role // of the account; empty = write
}

func newRig(t testing.TB, o rigOptions) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir, clone: filepath.Join(dir, "widgets")}
	t.Cleanup(func() { r.cleanUp() })
	r.startGitHub(o)
	r.makeHome(o)
	if o.private {
		return r // a clone would need a token
	}
	r.makeClone()
	return r
}

// makeClone clones the repository from its directory, and then names the server as its origin. A clone
// by the address takes three more processes, and each of hundreds of rigs has one.
func (r *rig) makeClone() {
	r.t.Helper()
	dir, file := r.github.Repo(rigRepo).Dir(), filepath.Join(r.clone, ".git", "config")
	r.git(r.dir, "clone", "--quiet", "--no-hardlinks", dir, r.clone)
	config := r.read(file)
	if !strings.Contains(config, "url = "+dir+"\n") {
		r.t.Fatalf("%s is not the origin of the clone:\n%s", dir, config)
	}
	r.write(file, strings.Replace(config, dir, r.github.CloneURL(rigRepo), 1))
}

// elsewhere is another machine with a clone of the same repository.
func (r *rig) elsewhere(o rigOptions) *rig {
	r.t.Helper()
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		r.t.Fatal(err)
	}
	other := &rig{t: r.t, github: r.github, dir: dir, clone: filepath.Join(dir, "widgets")}
	r.t.Cleanup(func() { other.cleanUp() })
	other.makeHome(o)
	other.makeClone()
	r.github.Sessions(session.Dir(other.clone))
	return other
}

func (r *rig) startGitHub(o rigOptions) {
	r.t.Helper()
	opt := o.github
	if o.role == "" {
		o.role = fakehub.Write
	}
	opt.Users = append(opt.Users,
		fakehub.UserSpec{Login: rigOwner, Roles: map[string]fakehub.Role{rigRepo: fakehub.Admin}},
		fakehub.UserSpec{Login: rigBot, Roles: map[string]fakehub.Role{rigRepo: o.role}})
	spec := fakehub.RepoSpec{Owner: "acme", Name: "widgets", Source: o.source, Private: o.private}
	if o.source == "" {
		if o.files == nil {
			o.files = map[string]string{"README.md": "# widgets\n", "a.txt": "one\n", "b.txt": "one\n"}
		}
		spec.Commits = []fakehub.CommitSpec{{Message: "Start", Author: "Mia <mia@example.com>", Files: o.files}}
	}
	opt.Repos = append(opt.Repos, spec)
	r.github = fakehub.Start(r.t, opt)
	r.t.Cleanup(r.withinBudget)
	r.github.Sessions(session.Dir(r.clone))
	body := "Both files should say two.\n"
	if o.body != nil {
		body = *o.body
	}
	if o.title == "" {
		o.title = "Say two"
	}
	issue := fakehub.IssueSpec{Title: o.title, Body: body, Author: rigOwner}
	if !o.unlabel {
		issue.Labels = []string{"agentmux"}
	}
	r.github.Repo(rigRepo).AddIssue(issue)
}

// pace is that of the writes of a rig, and by multiples of it that of what it shows: a tenth of
// what GitHub itself asks for.
const pace = "write_interval: 100ms"

// withGitHub returns a configuration with one more setting of its section about GitHub.
func withGitHub(config, setting string) string {
	if strings.Contains("\n"+config, "\ngithub: {") {
		return strings.Replace(config, "github: {", "github: {"+setting+", ", 1)
	}
	return config + "github: {" + setting + "}\n"
}

func (r *rig) makeHome(o rigOptions) {
	r.t.Helper()
	home := filepath.Join(r.dir, "home")
	playbook := filepath.Join(r.dir, "playbook.yaml")
	if o.playbook == "" {
		o.playbook = plainPlaybook
	}
	config := o.config
	if !strings.Contains(config, "write_interval:") {
		config = withGitHub(config, pace)
	}
	r.write(playbook, o.playbook)
	r.write(filepath.Join(home, ".config", "agentmux", "config.yaml"), fmt.Sprintf(`version: 2
defaults: {provider: script}
providers:
  script: {interactive_args: [%[1]q, --fast], headless_args: [%[1]q, --fast]}
%[2]s`, playbook, config))
	r.write(filepath.Join(home, ".gitconfig"), "[user]\n\tname = Mia\n\temail = mia@example.com\n")
	panes, err := inPanes()
	if err != nil {
		r.t.Fatal(err)
	}
	run := filepath.Join(r.dir, "r")
	if err := os.Mkdir(run, 0o700); err != nil {
		r.t.Fatal(err)
	}
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + run, "TMPDIR=" + r.dir, "LANG=C.UTF-8", "TERM=xterm-256color",
		"GITHUB_API_URL=" + r.github.API(), "GITHUB_SERVER_URL=" + r.github.URL(), "GITHUB_GRAPHQL_URL=" + r.github.GraphQL(),
		"AGENTMUX_GITHUB_TOKEN=" + r.github.Token(rigBot), "AGENTMUX_TEST_BINARY=1", panesEnv + "=" + panes, "GIT_CONFIG_NOSYSTEM=1", testexit.Env,
	}
	if often := os.Getenv("GOGC"); often != "" {
		r.env = append(r.env, "GOGC="+often) // how often memory is collected here, it is in commands
	}
}

// noteMade notes a session as made on the machine of the rig.
func (r *rig) noteMade(identity, secret, dir string) error {
	made := register.Open(filepath.Join(r.dir, "home", ".local", "state", "agentmux"))
	return made.Write(register.Note{ID: identity, Secret: secret, Path: dir})
}

func (r *rig) write(file, text string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// setEnv changes a variable of later commands; an empty value takes it away.
func (r *rig) setEnv(name, value string) {
	var env []string
	for _, kv := range r.env {
		if !strings.HasPrefix(kv, name+"=") {
			env = append(env, kv)
		}
	}
	if value != "" {
		env = append(env, name+"="+value)
	}
	r.env = env
}

func (r *rig) git(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// row runs a case of a table as a subtest of its own, which the rig then reports to.
func (r *rig) row(name string, test func(t *testing.T)) {
	r.t.Helper()
	outer := r.t.(*testing.T)
	outer.Run(name, func(t *testing.T) {
		r.t = t
		defer func() { r.t = outer }()
		test(t)
	})
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

// raced are the tests whose commands, hosts among them, run with the race detector: each road
// from one end to the other once.
var raced = []string{
	"TestAgentsStart", "TestAnIssueGetsOnePullRequest", "TestBotServesTwoRepositoriesWithTwoSlots",
	"TestJobTurnsALabelIntoAPullRequest", "TestProtocolR7AnotherMachineContinues",
}

// racedInFull are more of them, without -short: what many do at once, and roads that are those of
// raced for most of their length.
var racedInFull = []string{
	"TestActionStepsAreAJob", "TestBotFollowsItsPullRequest", "TestBotHearsComments", "TestBotIsWokenByWebhooksAndTellsHowItDoes",
	"TestBotKilledAtRandom", "TestBotServesAnOrganisation", "TestBotsRaceForIssues", "TestBotThroughStorms", "TestFaultsEverywhere",
	"TestGitHub71ReferenceSessionStaysInBudget", "TestKilledHostsEndTheSame", "TestProtocolR7ABotContinuesASessionOfAnother",
	"TestSessionsSideBySide",
}

// racedOnce are the commands that ran with the race detector whatever the test.
var racedOnce sync.Map

// program is what runs a command. Everything with the race detector costs four times as much
// and shows little more: the parts of a host have tests of their own that run with it. With
// AGENTMUX_TEST_RACE=all everything does; in the short form each command alone does not.
func (r *rig) program(command string) (string, error) {
	if r.other != "" {
		return r.other, nil
	}
	test, _, _ := strings.Cut(r.t.Name(), "/")
	_, again := racedOnce.LoadOrStore(command, true)
	if !testing.Short() && (!again || slices.Contains(racedInFull, test)) || slices.Contains(raced, test) {
		return os.Executable()
	}
	return unraced()
}

// unraced is the program without the race detector, unless everything runs with it.
func unraced() (string, error) {
	if os.Getenv("AGENTMUX_TEST_RACE") == "all" {
		return os.Executable()
	}
	return inPanes()
}

func TestTheRacedTestsExist(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, b...)
	}
	for _, name := range slices.Concat(raced, racedInFull) {
		if !bytes.Contains(text, []byte("\nfunc "+name+"(t *testing.T)")) {
			t.Errorf("there is no test %s", name)
		}
	}
}

func (r *rig) command(args ...string) *exec.Cmd {
	program, err := r.program(args[0])
	if err != nil {
		r.t.Fatal(err)
	}
	if slices.Contains([]string{"issue", "resume", "run", "doctor", "init"}, args[0]) {
		r.asked.Add(1)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = r.clone, r.env
	return cmd
}

// moreShown is how many more edits of the status comment than at GitHub's own pace a session may cost at
// that of a rig, which shows more of its states. TestGitHub71 asserts the budget itself, at GitHub's pace.
const moreShown = 4

// withinBudget fails if the commands together cost more than as many whole sessions, and
// what repeating and looking costs where faults were met.
func (r *rig) withinBudget() {
	r.t.Helper()
	if n := int(r.asked.Load()); n > 0 {
		r.github.AssertBudget(r.t, rigBot, fakehub.Budget{
			Requests:      n*(fakehub.Reference.Requests+moreShown) + 4*r.github.Faulted() + r.looks(n),
			ContentWrites: float64(n) * (fakehub.Reference.ContentWrites + moreShown),
		})
	}
}

// agentmux runs a command in the clone to its end.
func (r *rig) agentmux(args ...string) result {
	r.t.Helper()
	cmd := r.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	return result{code: cmd.ProcessState.ExitCode(), out: out.String(), err: errs.String()}
}

func (r *rig) expect(code int, args ...string) result {
	r.t.Helper()
	res := r.agentmux(args...)
	if res.code != code {
		r.t.Fatalf("agentmux %s: exit %d, want %d\n%s%s", strings.Join(args, " "), res.code, code, res.out, res.err)
	}
	return res
}

// sessions lists the session directories of the clone.
func (r *rig) sessions() []session.Entry {
	r.t.Helper()
	entries, err := session.List(r.clone)
	if err != nil {
		r.t.Fatal(err)
	}
	return entries
}

// session is the clone's only session.
func (r *rig) session() session.Entry {
	r.t.Helper()
	entries := r.sessions()
	if len(entries) != 1 || entries[0].State == nil {
		r.t.Fatalf("sessions: %+v", entries)
	}
	return entries[0]
}

// sound fails unless the session's directory keeps every promise.
func (r *rig) sound(e session.Entry) {
	r.t.Helper()
	if err := session.CheckDir(e.Dir).Err(); err != nil {
		r.t.Errorf("%s: %v", e.Name, err)
	}
}

// done fails unless the session ended with a pull request.
func (r *rig) done(e session.Entry) {
	r.t.Helper()
	r.sound(e)
	s := e.State
	if s.Phase != orchestrator.PhaseDone || s.Outcome != orchestrator.OutcomeDone || s.Completion.PRNumber == 0 {
		r.t.Fatalf("phase %s, outcome %s %s, cause %s, completion %+v", s.Phase, s.Outcome, s.OutcomeReason, s.Cause, s.Completion)
	}
	if pulls := r.github.Repo(rigRepo).Pulls(); len(pulls) != 1 {
		r.t.Fatalf("%d pull requests: %+v", len(pulls), pulls)
	}
}

// hostsEnded waits until no process hosts a session: what it still writes would be in the way
// of the removal of the rig's directory.
func (r *rig) hostsEnded() {
	r.t.Helper()
	r.eventually("every host has ended", func() bool {
		return !slices.ContainsFunc(r.sessions(), func(e session.Entry) bool { return e.Running })
	}, nil)
}

// cleanUp ends what a failed test may have left: the tmux servers of the rig's
// own runtime directory.
func (r *rig) cleanUp() {
	sockets, _ := filepath.Glob(filepath.Join(r.dir, "r", "agentmux", "*.sock"))
	for _, socket := range sockets {
		_ = exec.Command("tmux", "-S", socket, "kill-server").Run()
	}
	_ = filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	r.remove()
}

// remove removes the rig's directory. A process that is ending may write a file between the look and the removal.
func (r *rig) remove() {
	err := os.RemoveAll(r.dir)
	for until := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(until); err = os.RemoveAll(r.dir) {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		r.t.Errorf("clean up: %v", err)
	}
}

// twoParts is the plan of two coders at once, as a step of a playbook writes it.
const twoParts = `            version: 2
            plan_overview: Say two
            needs_design: false
            needs_docs: false
            doc_files: []
            groups:
              - {group_id: both, mode: parallel, plans: [{index: 1, name: a}, {index: 2, name: b}]}
            subplans:
              - {index: 1, title: a, scope: a, owned_files: [a.txt], dependencies: none, implementation_approach: write,
                 acceptance_criteria: two, tasks: [write]}
              - {index: 2, title: b, scope: b, owned_files: [b.txt], dependencies: none, implementation_approach: write,
                 acceptance_criteria: two, tasks: [write]}
`

// plainPlaybook walks the feature workflow in no time: two parallel coders, a
// failing review, a fix, a passing review.
const plainPlaybook = `version: 1
agents:
  - role: architect
    steps:
      - write: {file: "{session}/02_architecting/architecture.md", text: "# Architecture\n\nTwo text files.\n"}
      - submit: {tool: submit_architecture}
  - role: planner
    steps:
      - write:
          file: "{session}/04_planning/plan.yaml"
          text: |
` + twoParts + `      - submit: {tool: submit_plan, via: cli, args: [submit, plan]}
  - role: coder
    phase: implementing
    task: "1"
    steps:
      - write: {file: a.txt, text: "two\n"}
      - submit: {tool: submit_done, with: {subplan_index: 1}}
  - role: coder
    phase: implementing
    task: "2"
    steps:
      - write: {file: b.txt, text: "too\n"}
      - submit: {tool: submit_done, via: cli, args: [submit, done, "2"]}
  - role: coder
    phase: fixing
    steps:
      - write: {file: b.txt, text: "two\n"}
      - submit: {tool: submit_done, with: {subplan_index: 1}}
  - role: reviewer_logic
    prompt: summary_prompt.md
    steps:
      - write: {file: "{session}/08_completion/summary.md", text: "## What was implemented\n\nBoth say two.\n\n## Key decisions\n\nNone.\n\n## Deviations from plan\n\nNone.\n"}
      - submit: {tool: submit_summary}
  - role: reviewer_logic
    iteration: 0
    steps:
      - write:
          file: "{session}/07_review/review_reviewer_logic.yaml"
          text: |
            verdict: fail
            summary: b.txt has a typo.
            findings: [{location: "b.txt:1", issue: It says too, severity: low, recommendation: Write two}]
      - submit: {tool: submit_review, with: {role: reviewer_logic}}
  - role: reviewer_logic
    iteration: 1
    steps:
      - write: {file: "{session}/07_review/review_reviewer_logic.yaml", text: "verdict: pass\nsummary: Both say two.\n"}
      - submit: {tool: submit_review, with: {role: reviewer_logic}}
`
