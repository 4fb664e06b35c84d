package host_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

const onePart = "  - {group_id: one, mode: serial, plans: [{index: 1, name: A}]}\n"

func quick(spec *host.PrepareSpec) { spec.Workflow = "quick" }

func simple() scenario {
	return scenario{Plan: plan(onePart, "a.txt"), Files: map[string][]string{"1": {"a.txt=hello"}}}
}

// background runs a session until stop is called with a cause.
func (r *rig) background(spec host.RunSpec) (stop func(cause error) (*orchestrator.State, error)) {
	r.t.Helper()
	spec.Config = r.config
	ctx, cancel := context.WithCancelCause(r.t.Context())
	type end struct {
		s   *orchestrator.State
		err error
	}
	done, ended := make(chan end, 1), make(chan struct{})
	go func() {
		defer close(ended)
		s, err := r.host.Run(ctx, spec)
		done <- end{s, err}
	}()
	r.t.Cleanup(func() {
		cancel(nil)
		select {
		case <-ended: // it logs to the test, and writes where the test's directories are removed
		case <-time.After(60 * time.Second):
			r.t.Error("the run does not end with its test\n" + stacks())
		}
		if r.t.Failed() {
			r.records(spec.Dir)
		}
	})
	return func(cause error) (*orchestrator.State, error) {
		r.t.Helper()
		if cause != nil {
			cancel(cause)
		}
		select {
		case e := <-done:
			return e.s, e.err
		case <-time.After(60 * time.Second):
			r.t.Fatal("the run does not end\n" + stacks())
			return nil, nil
		}
	}
}

// stacks are those of all goroutines.
func stacks() string {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1) // a builder takes everything
	return b.String()
}

// coding runs a session whose coder waits for its word.
func (r *rig) coding() (dir string, stop func(cause error) (*orchestrator.State, error)) {
	r.t.Helper()
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir = r.prepare(quick)
	stop = r.background(host.RunSpec{Dir: dir})
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	return dir, stop
}

func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-limit.C:
			r.t.Fatal("waited in vain: " + what)
		case <-tick.C:
		}
	}
}

func (r *rig) word() {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.root, "go"), nil, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) server(dir string) *tmux.Server {
	r.t.Helper()
	server, err := tmux.New(tmux.Options{
		Socket: place.Socket(filepath.Join(r.root, "r"), dir, r.state(dir)), Tags: []string{"@agentmux_launch", "@agentmux_role", "@agentmux_session"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return server
}

// launches lists the launches that have a pane.
func (r *rig) launches(dir string) []orchestrator.Launch {
	panes, err := r.server(dir).Panes(r.t.Context())
	if err != nil {
		r.t.Logf("panes: %v", err) // it may just be starting
		return nil
	}
	var out []orchestrator.Launch
	for _, p := range panes {
		if l := orchestrator.Launch(p.Options["@agentmux_launch"]); l != "" && !p.Dead {
			out = append(out, l)
		}
	}
	return out
}

// started reports whether the session knows that a launch runs, and its pane is there.
func (r *rig) started(dir string, launch orchestrator.Launch) bool {
	sess, err := session.Open(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	events, _, err := sess.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	return slices.Contains(r.launches(dir), launch) && slices.ContainsFunc(events, func(e orchestrator.Event) bool {
		started, ok := e.Data.(orchestrator.AgentStartedRecord)
		return ok && started.Launch == launch
	})
}

func (r *rig) state(dir string) *orchestrator.State {
	r.t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := sess.ReadState()
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func mustEnd(t *testing.T, s *orchestrator.State, outcome, reason string) {
	t.Helper()
	if string(s.Outcome) != outcome || string(s.OutcomeReason) != reason {
		t.Fatalf("phase %s, outcome %q (%q), cause %q; want %q (%q)", s.Phase, s.Outcome, s.OutcomeReason, s.Cause, outcome, reason)
	}
}

// A host that goes away leaves its agents at work, and the next one adopts them.
func TestProtocolR5TheNextHostAdoptsLiveAgents(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the coder runs", func() bool {
		return r.count(dir, orchestrator.EvAgentStarted) > 0 && slices.Contains(r.launches(dir), "2.coder.1.1")
	})
	pid := r.state(dir).Agents["coder/1"].Launch
	if _, err := stop(errors.New("the daemon ends")); err == nil {
		t.Error("the run ended without an error")
	}
	if got := r.launches(dir); !slices.Contains(got, pid) {
		t.Fatalf("launches after the host: %v", got)
	}
	stop = r.background(host.RunSpec{Dir: dir})
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if n := r.count(dir, orchestrator.EvResumed); n != 0 {
		t.Errorf("%d resumed records", n)
	}
	if s.Agents["coder/1"].Attempt != 1 {
		t.Errorf("agent: %+v", s.Agents["coder/1"])
	}
}

// A signal cancels the session, and nothing of it is left running.
func TestProtocolE3ASignalCancelsAndStopsEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	dir, stop := r.coding()
	sess, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	r.eventually("the pane is noted", func() bool { pid = sess.ReadRuntime().Launches["coder/1"].PID; return pid > 0 })
	s, err := stop(engine.Signal{Name: "TERM"})
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeCanceled, "")
	if got := r.launches(dir); len(got) > 0 {
		t.Errorf("launches: %v", got)
	}
	if _, err := process.StartTime(pid); !errors.Is(err, process.ErrNotFound) {
		t.Errorf("agent-exec is alive: %v", err)
	}
	r.script(simple())
	s = r.run(host.RunSpec{Dir: dir, Resume: true})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
}

func TestProtocolD3ASecondHostIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"planner": true}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the planner runs", func() bool { return len(r.launches(dir)) == 1 })
	_, err := r.host.Run(t.Context(), host.RunSpec{Dir: dir, Config: r.config})
	var locked *session.LockedError
	if !errors.As(err, &locked) {
		t.Errorf("error %v", err)
	}
	if _, err := stop(engine.Signal{Name: "INT"}); err != nil {
		t.Error(err)
	}
}

// The server goes away: a new one, the launch again, no retry counted.
func TestProtocolC5ALostServerIsNotTheAgentsFault(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	dir, stop := r.coding()
	r.eventually("the pane is noted", func() bool {
		return r.state(dir).Agents["coder/1"].Launch != "" && r.count(dir, orchestrator.EvAgentStarted) > 0
	})
	// Not KillServer: it waits for the end of whatever listens, and the host brings a new one up.
	if out, err := exec.Command("tmux", "-S", r.server(dir).Socket(), "kill-server").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.eventually("the coder runs again", func() bool { return r.started(dir, "2.coder.1.2") })
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if s.Agents["coder/1"].Retries != 0 {
		t.Errorf("agent: %+v", s.Agents["coder/1"])
	}
}

// A person kills the only pane: that is an exit of its agent.
func TestProtocolC5AKilledPaneIsAnAgentExit(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.config.Limits.AgentRetries = 0
	dir, stop := r.coding()
	panes, err := r.server(dir).Panes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range panes {
		if p.Options["@agentmux_role"] == "coder" {
			if err := r.server(dir).KillPane(t.Context(), p.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonAgentStalled)
	r.word()
	mustEnd(t, r.run(host.RunSpec{Dir: dir, Resume: true}), orchestrator.OutcomeDone, "")
}

// A pane of this session that its state does not know is stopped; other panes are
// left alone.
func TestProtocolC13UnknownLaunchesAreStoppedAndPeoplesPanesAreNot(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.script(simple())
	dir := r.prepare(quick)
	server := r.server(dir)
	name := r.state(dir).SessionName
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	window := func(options map[string]string) tmux.WindowSpec {
		return tmux.WindowSpec{Session: name, Name: "w", Command: []string{self, "monitor", dir}, Dir: dir, Options: options}
	}
	if err := os.MkdirAll(filepath.Join(r.root, "r"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Ensure(t.Context(), tmux.SessionSpec{Name: name, Window: window(map[string]string{"@agentmux_role": "control", "@agentmux_session": filepath.Base(dir)})}); err != nil {
		t.Fatal(err)
	}
	stray, err := server.NewWindow(t.Context(), window(map[string]string{"@agentmux_role": "coder", "@agentmux_launch": "9.coder.1", "@agentmux_session": filepath.Base(dir)}))
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]tmux.Pane{}
	for name, options := range map[string]map[string]string{
		"a person's":        nil,
		"another session's": {"@agentmux_role": "coder", "@agentmux_launch": "9.coder.1", "@agentmux_session": "another"},
	} {
		if kept[name], err = server.NewWindow(t.Context(), window(options)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := server.Panes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, pane := range all {
		if pane.Options["@agentmux_role"] == "control" {
			kept["the monitor's"] = pane
		}
	}
	sc := simple()
	sc.Hold = map[string]bool{"planner": true}
	r.script(sc)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the planner runs", func() bool { return r.started(dir, "1.planner.1") })
	if _, err := server.Pane(t.Context(), stray.ID); !errors.Is(err, tmux.ErrNoPane) {
		t.Errorf("the stray pane: %v", err)
	}
	for name, pane := range kept {
		if p, err := server.Pane(t.Context(), pane.ID); err != nil || p.Dead || p.PID != pane.PID {
			t.Errorf("%s pane: %+v, %v; was %+v", name, p, err, pane)
		}
	}
	if len(kept) != 3 {
		t.Errorf("panes that stay: %v", kept)
	}
	if _, err := stop(engine.Signal{Name: "INT"}); err != nil {
		t.Error(err)
	}
}

// Two parallel results that do not fit: the second coder brings its work in by hand.
func TestProtocolP6AConflictIsResolvedInAFreshWorkspace(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.write("bin.dat", "\x00\x01base")
	r.write("old.txt", "old\n")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "two")
	both := []string{"README.md=of both", "bin.dat=\x00both", "old.txt=of both"}
	sc := scenario{
		Plan: plan("  - {group_id: one, mode: parallel, plans: [{index: 1, name: A}, {index: 2, name: B}]}\n", "a.txt", "b.txt"),
		Files: map[string][]string{
			"1": {"a.txt=1", "README.md=of one", "bin.dat=\x00one", "old.txt=of one"}, "2": {"b.txt=2", "README.md=of two", "bin.dat=\x00two"},
			"resolve-1": append([]string{"a.txt=1"}, both...), "resolve-2": append([]string{"b.txt=2"}, both...),
		},
		Remove: map[string][]string{"2": {"old.txt"}},
	}
	r.script(sc)
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if got := r.git("show", s.FeatureBranch+":README.md"); got != "of both" {
		t.Errorf("README.md: %q", got)
	}
	if got := r.git("ls-tree", "--name-only", s.FeatureBranch); got != "README.md\na.txt\nb.txt\nbin.dat\nold.txt" {
		t.Errorf("files: %q", got)
	}
	if n, scope := r.count(dir, orchestrator.EvMergeConflict), r.count(dir, orchestrator.EvScopeViolation); n != 1 || scope != 1 {
		t.Errorf("%d conflicts, %d scope records, one of them of the work that came first", n, scope)
	}
	prompts, err := filepath.Glob(filepath.Join(dir, "06_implementation", "resolve_prompt_*.md"))
	if err != nil || len(prompts) != 1 {
		t.Fatalf("prompts: %v, %v", prompts, err)
	}
	text, err := os.ReadFile(prompts[0])
	for _, want := range []string{"- `README.md`", "- `bin.dat`", "- `old.txt`", "+of "} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("the prompt lacks %q: %v\n%s", want, err, text)
		}
	}
}

// An edit outside the owned files under the strict policy: the third refusal is the last.
func TestProtocolP7AStrictScopeParksAtTheThirdRefusal(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "implement: {scope_policy: fail}\n")
	sc := simple()
	sc.Files["1"] = append(sc.Files["1"], "other.txt=x")
	sc.Again = map[string]int{"coder/1": 2}
	r.script(sc)
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonScope)
	r.refusals(dir, 3, 2) // the last ends the session, and the coder maybe before it reads
	if n := r.count(dir, orchestrator.EvScopeViolation); n != 3 {
		t.Errorf("%d violations", n)
	}
	if n := r.count(dir, orchestrator.EvSubmission); n != 1 {
		t.Errorf("%d submissions, want that of the plan", n)
	}
}

func TestProtocolG2WithoutAnyChangeThereIsNoCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.script(scenario{Plan: plan(onePart, "a.txt")})
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonNothingToCommit)
	if got := r.git("branch", "--list", "agentmux/*"); got != "" {
		t.Errorf("branches: %s", got)
	}
}

// What runs in CI does not leave.
func TestProtocolG4TheOutputGateParksTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := simple()
	sc.Files["1"] = append(sc.Files["1"], ".github/workflows/x.yml=on: push")
	sc.Again = map[string]int{"coder/1": 2}
	r.script(sc)
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonOutputGate)
	r.refusals(dir, 2, 2) // and taken the third time
	if len(s.Completion.Findings) != 1 || !strings.Contains(s.Completion.Findings[0], ".github/workflows/x.yml") {
		t.Errorf("findings: %v", s.Completion.Findings)
	}
	if got := r.git("branch", "--list", "agentmux/*"); got != "" {
		t.Errorf("branches: %s", got)
	}
	// Looked at again, it is still there: that is what is to be changed now.
	sc.Files = map[string][]string{"1": {"a.txt=hello, world"}}
	sc.Remove = map[string][]string{"1": {".github/workflows/x.yml"}}
	r.script(sc)
	s = r.run(host.RunSpec{Dir: dir, Resume: true})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	prompt, err := os.ReadFile(filepath.Join(dir, "04_planning", "changes_prompt.md"))
	if err != nil || !strings.Contains(string(prompt), ".github/workflows/x.yml") || s.ChangeRound != 1 {
		t.Errorf("round %d, the planner was not told of the finding: %v", s.ChangeRound, err)
	}
	if got := r.git("ls-tree", "-r", "--name-only", s.FeatureBranch); got != "README.md\na.txt" {
		t.Errorf("files: %q", got)
	}
}

// A change round builds on the last one, in one more commit on the same branch.
func TestProtocolP16AChangeRoundAddsACommit(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.script(simple())
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	first := s.Completion.Commit
	sc := simple()
	sc.Plan, sc.Files = plan(onePart, "b.txt"), map[string][]string{"1": {"b.txt=more"}}
	r.script(sc)
	r.pulled(dir)
	s = r.run(host.RunSpec{Dir: dir, Resume: true, Changes: "Also write b."})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if got := r.git("log", "--format=%H", s.FeatureBranch); got != s.Completion.Commit+"\n"+first+"\n"+s.BaseSHA {
		t.Errorf("history: %s", got)
	}
	if got := r.git("ls-tree", "--name-only", s.FeatureBranch); got != "README.md\na.txt\nb.txt" {
		t.Errorf("files: %s", got)
	}
	text, err := os.ReadFile(filepath.Join(dir, "04_planning", "changes_prompt.md"))
	if err != nil || !strings.Contains(string(text), "Also write b.") || !strings.Contains(string(text), `is a request for changes, by "user", sha256 `) {
		t.Errorf("the change prompt lacks the text: %v", err)
	}
}

// A control window that a person closed is opened again, once the host looks at its panes.
func TestTheControlWindowIsOpenedAgain(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"planner": true}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the planner runs", func() bool { return r.started(dir, "1.planner.1") })
	server := r.server(dir)
	control := func() string {
		panes, err := server.Panes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, pane := range panes {
			if pane.Options["@agentmux_role"] == "control" {
				return pane.ID
			}
		}
		return ""
	}
	before := control()
	if before == "" {
		t.Fatal("there is no control window")
	}
	if err := server.KillPane(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if _, err := command.Append(dir, orchestrator.Payload{Name: "pause", Source: "cli"}); err != nil { // its commit leads to a look
		t.Fatal(err)
	}
	r.eventually("the window is back", func() bool { now := control(); return now != "" && now != before })
	if _, err := stop(engine.Signal{Name: "INT"}); err != nil {
		t.Error(err)
	}
}
