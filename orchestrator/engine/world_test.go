package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

const plan = `version: 2
plan_overview: Refuse expired tokens.
needs_design: false
needs_docs: false
doc_files: []
groups:
  - {group_id: base, mode: serial, plans: [{index: 1, name: Token check}]}
  - {group_id: rest, mode: parallel, plans: [{index: 2, name: Page}, {index: 3, name: Log}]}
subplans:
  - {index: 1, title: Token check, scope: Validate expiry, owned_files: [auth/], dependencies: none,
     implementation_approach: Compare, acceptance_criteria: Refused, tasks: [Test, Implement]}
  - {index: 2, title: Page, scope: Show, owned_files: [web/], dependencies: none,
     implementation_approach: Template, acceptance_criteria: Visible, tasks: [Page]}
  - {index: 3, title: Log, scope: Log, owned_files: [log/], dependencies: none,
     implementation_approach: Print, acceptance_criteria: Logged, tasks: [Log]}
`

// world carries out the effects of one session on disk and in memory, and
// outlives the hosts that run it. Panes, commits and branches are looked up by
// their key, as the real ones are.
type world struct {
	t      *testing.T
	s      *session.Session
	broken bool // the test damages the session
	// watched is a world whose hosts count on being woken, and look at it every thirty seconds
	// all the same. In any other they look every two seconds, for hours of a test's time.
	watched bool

	// play is what an agent does when it starts; nil = nothing.
	play func(w *world, e orchestrator.Effect)
	// fail, if it returns an error, is the end of a try.
	fail func(e orchestrator.Effect) error
	// hold, if it returns a channel, is waited for before an effect is carried out.
	hold func(e orchestrator.Effect) <-chan struct{}

	// untaken has the work taken by its integration.
	untaken bool
	// take, if set, takes what is handed in.
	take func(ctx context.Context, t orchestrator.Taking) (*orchestrator.Snapshot, error)

	// put and say, if set, are how agents write files and hand in.
	put func(rel, text string)
	say func(launch orchestrator.Launch, tool, payload string)

	// findings are what the output gate finds in what nobody allowed.
	findings []string

	// looks is called before the agents are looked at.
	looks func(s *orchestrator.State)

	mu       sync.Mutex
	panes    map[orchestrator.Launch]orchestrator.AgentReport
	started  []orchestrator.Launch          // in order
	takings  []orchestrator.Taking          // in order
	commits  map[string]orchestrator.Result // key -> result
	log      []string                       // begin and end of every try
	lookErr  error
	observed int
	next     time.Duration // that a look asks for

	committed atomic.Int64 // how often its hosts have committed

	records     []orchestrator.Event // that were read last
	recordsSize int64                // of their file before
}

// definitions are the workflows that were loaded before: name -> []byte.
var definitions sync.Map

func definition(t testing.TB, name string) []byte {
	t.Helper()
	if data, ok := definitions.Load(name); ok {
		return data.([]byte)
	}
	_, data, problems := workflows.Load(name, nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	definitions.Store(name, data)
	return data
}

func newWorld(t *testing.T, workflow string, edit func(*orchestrator.State)) *world {
	t.Helper()
	data := definition(t, workflow)
	st := orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "c0"}
	st.Integrated = orchestrator.Integrated{Commit: "c0", Tree: "t0"}
	if edit != nil {
		edit(&st)
	}
	s, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: time.Now(), Source: "tokens", Request: "Refuse expired tokens.", Definition: data, State: st,
	})
	if err != nil {
		t.Fatal(err)
	}
	return worldOf(t, s)
}

// worldOf returns an empty world for a session.
func worldOf(t *testing.T, s *session.Session) *world {
	t.Helper()
	t.Cleanup(func() { s.Close() })
	w := &world{t: t, s: s, play: honest, panes: map[orchestrator.Launch]orchestrator.AgentReport{}, commits: map[string]orchestrator.Result{}}
	t.Cleanup(func() {
		if report := session.CheckDir(s.Dir); !w.broken && len(report.Problems) > 0 {
			t.Errorf("the session is not sound:\n%s", strings.Join(report.Problems, "\n"))
		}
		if t.Failed() && !w.broken {
			w.tell()
		}
	})
	return w
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *world) Ensure(ctx context.Context, e orchestrator.Effect) (orchestrator.Result, error) {
	w.note("begin %s %s", e.Type, e.Key)
	defer w.note("end %s %s", e.Type, e.Key)
	if w.hold != nil {
		if held := w.hold(e); held != nil {
			select {
			case <-held:
			case <-ctx.Done():
				return orchestrator.Result{}, ctx.Err()
			}
		}
	}
	if w.fail != nil {
		if err := w.fail(e); err != nil {
			return orchestrator.Result{}, err
		}
	}
	return w.carryOut(e)
}

func (w *world) carryOut(e orchestrator.Effect) (res orchestrator.Result, err error) {
	a := e.Args
	switch e.Type {
	case orchestrator.EffEnsureDirs:
		err = w.s.EnsureDirs(a.Paths...)
	case orchestrator.EffWriteFile:
		err = w.s.WriteBlob(a.Path, a.SHA256)
	case orchestrator.EffWriteMarker:
		err = w.s.Mark(a.Path)
	case orchestrator.EffMoveAside:
		if a.Before.IsZero() {
			err = w.s.MoveAside(a.Visit, a.Paths...)
		} else {
			err = w.s.MoveOlder(a.Visit, a.Before.Time, a.Paths...)
		}
	case orchestrator.EffRemoveFiles:
		err = w.s.Remove(a.Paths...)
	case orchestrator.EffMaterialise:
		if a.Material == orchestrator.MaterialSummary {
			err = w.s.Replace(a.Path, []byte("fallback\n"))
		}
	case orchestrator.EffStartAgent:
		w.startAgent(e)
	case orchestrator.EffStopAgent:
		w.mu.Lock()
		delete(w.panes, a.Launch)
		w.mu.Unlock()
	case orchestrator.EffEnsureWorkspace:
		res.Path = "/work/" + a.Workspace
	case orchestrator.EffIntegrate:
		res = w.commit("integrate "+string(a.Launch), orchestrator.Result{Files: 1})
	case orchestrator.EffCommit:
		if len(w.findings) > 0 && !a.Allowed {
			return orchestrator.Result{Findings: w.findings}, nil
		}
		res = w.commit(e.Key, orchestrator.Result{Parent: a.Base, Subject: "feat: tokens"})
	case orchestrator.EffPush:
		res.Skipped = "no remote"
	}
	return res, err
}

// Take takes the work of a workspace. A launch that is to end first ends.
func (w *world) Take(ctx context.Context, t orchestrator.Taking) (*orchestrator.Snapshot, error) {
	w.note("begin take %s", t.Workspace)
	defer w.note("end take %s", t.Workspace)
	w.mu.Lock()
	w.takings = append(w.takings, t)
	if t.End {
		delete(w.panes, t.Launch)
	}
	w.mu.Unlock()
	if w.take != nil {
		return w.take(ctx, t)
	}
	return snapshotOf(t), nil
}

func snapshotOf(t orchestrator.Taking) *orchestrator.Snapshot {
	return &orchestrator.Snapshot{Tree: "work of " + t.Workspace, Files: 1}
}

// taken returns what was taken, in order.
func (w *world) taken() []orchestrator.Taking {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.takings)
}

// commit makes a commit under a key, once.
func (w *world) commit(key string, res orchestrator.Result) orchestrator.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	if made, ok := w.commits[key]; ok {
		return made
	}
	n := len(w.commits) + 1
	res.Commit, res.Tree = fmt.Sprintf("c%d", n), fmt.Sprintf("t%d", n)
	res.Snapshot = res.Tree
	w.commits[key] = res
	return res
}

func (w *world) startAgent(e orchestrator.Effect) {
	w.mu.Lock()
	_, adopted := w.panes[e.Args.Launch]
	if !adopted {
		w.panes[e.Args.Launch] = orchestrator.AgentReport{
			Key: orchestrator.KeyOf(e.Args.Role, e.Args.Task), Launch: e.Args.Launch, Condition: orchestrator.AgentLive,
		}
		w.started = append(w.started, e.Args.Launch)
	}
	play := w.play
	w.mu.Unlock()
	if !adopted && play != nil {
		play(w, e)
	}
}

func (w *world) Observe(_ context.Context, s *orchestrator.State) (engine.Look, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observed++
	if w.looks != nil {
		w.looks(s)
	}
	if w.lookErr != nil {
		return engine.Look{}, w.lookErr
	}
	var reports []orchestrator.AgentReport
	for key, a := range s.Agents {
		if a.Launch == "" {
			continue
		}
		rep, ok := w.panes[a.Launch]
		if !ok {
			rep = orchestrator.AgentReport{Key: key, Launch: a.Launch, Condition: orchestrator.AgentAbsent}
		}
		reports = append(reports, rep)
	}
	return engine.Look{Reports: reports, Next: w.next}, nil
}

// pane changes what is seen of a launch.
func (w *world) pane(launch orchestrator.Launch, edit func(*orchestrator.AgentReport)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rep := w.panes[launch]
	rep.Launch = launch
	if rep.Key == "" {
		parts, _ := launch.Parts()
		role, task := parts.Role, parts.Task
		rep.Key = orchestrator.KeyOf(role, task)
	}
	edit(&rep)
	w.panes[launch] = rep
}

func (w *world) launches() []orchestrator.Launch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.started)
}

// seen returns how often the agents were looked at.
func (w *world) seen() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.observed
}

func (w *world) entries() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// honest is an agent that does its work at once.
func honest(w *world, e orchestrator.Effect) {
	role, task := e.Args.Role, e.Args.Task
	switch {
	case strings.HasSuffix(e.Args.PromptFile, "summary_prompt.md"):
		w.write("08_completion/summary.md", "## What was implemented\nTokens.\n")
		w.submit(e.Args.Launch, "submit_summary", `{}`)
	case role == "architect":
		w.write("02_architecting/architecture.md", "# Architecture\n")
		w.submit(e.Args.Launch, "submit_architecture", `{"reviewers":["reviewer_logic"]}`)
	case role == "planner":
		w.write("04_planning/plan.yaml", plan)
		w.submit(e.Args.Launch, "submit_plan", `{}`)
	case role == "coder":
		index := strings.TrimPrefix(task, "resolve-")
		if index == "" {
			index = "1"
		}
		w.submit(e.Args.Launch, "submit_done", `{"subplan_index":`+index+`}`)
	case strings.HasPrefix(role, "reviewer"):
		w.write(artifact.ReviewFile("07_review", role), "verdict: pass\nsummary: Fine.\n")
		w.submit(e.Args.Launch, "submit_review", `{"role":"`+role+`","verdict":"pass"}`)
	}
}

// idle is an agent that does nothing.
func idle(*world, orchestrator.Effect) {}

func (w *world) write(rel, text string) {
	if w.put != nil {
		w.put(rel, text)
		return
	}
	if err := w.s.Replace(rel, []byte(text)); err != nil {
		w.t.Error(err)
	}
}

// submit appends a line as the tool of a launch does.
func (w *world) submit(launch orchestrator.Launch, tool, payload string) {
	if w.say != nil {
		w.say(launch, tool, payload)
		return
	}
	parts, _ := launch.Parts()
	visit, role, task := parts.Visit, parts.Role, parts.Task
	w.append(fmt.Sprintf(`{"tool":%q,"payload":%s,"id":%q,"role":%q,"task":%q,"launch":%q,"visit":%d}`,
		tool, payload, string(launch)+tool+payload, role, task, launch, visit) + "\n")
}

// append adds bytes to the file of tool lines, as they are.
func (w *world) append(text string) { w.appendTo(session.ToolEvents, text) }

func (w *world) appendTo(file, text string) {
	f, err := os.OpenFile(w.s.Path(file), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.t.Error(err)
	}
}

func (w *world) command(payload string) {
	w.appendTo(session.Commands, `{"tool":"command","payload":`+payload+"}\n")
}

// host is one run of the engine.
type host struct {
	w      *world
	cancel context.CancelCauseFunc
	done   chan struct{}
	st     *orchestrator.State
	err    error
}

// start runs the engine in the background.
func (w *world) start(o engine.Options) *host {
	w.t.Helper()
	ctx, cancel := context.WithCancelCause(w.t.Context())
	h := &host{w: w, cancel: cancel, done: make(chan struct{})}
	o.Session, o.Effects, o.Agents = w.s, w, w
	if !w.untaken {
		o.Work = w
	}
	if o.Start.Mode == "" {
		o.Start.Mode = orchestrator.StartNew
	}
	if o.Wakes == nil && w.watched {
		o.Wakes = make(chan struct{})
	}
	said := o.OnCommit
	o.OnCommit = func(s *orchestrator.State) {
		w.committed.Add(1)
		if said != nil {
			said(s)
		}
	}
	go func() {
		defer close(h.done)
		h.st, h.err = engine.Run(ctx, o)
	}()
	w.t.Cleanup(func() { cancel(errors.New("the test ended")); <-h.done })
	return h
}

// wait waits for the run's own end.
func (h *host) wait() *orchestrator.State {
	h.w.t.Helper()
	select {
	case <-h.done:
	case <-time.After(24 * time.Hour):
		h.w.t.Fatal("the host did not end")
	}
	if h.err != nil {
		h.w.t.Fatal(h.err)
	}
	return h.st
}

// stop makes the host let go, as the end of a daemon does.
func (h *host) stop() {
	h.cancel(errors.New("daemon stops"))
	<-h.done
}

// state returns what is committed now.
func (w *world) state() *orchestrator.State {
	w.t.Helper()
	st, err := w.s.ReadState()
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// until waits until the committed state is as wanted. It reads the state after each commit of a host, and
// now and then, since others change it, too.
func (w *world) until(what string, want func(*orchestrator.State) bool) *orchestrator.State {
	w.t.Helper()
	var st *orchestrator.State
	read := int64(-1)
	for n := range 2000 {
		if commits := w.committed.Load(); commits != read || n%10 == 0 {
			st, read = w.state(), commits
		}
		if want(st) {
			return st
		}
		w.pass(50 * time.Millisecond)
	}
	w.t.Fatalf("the session never was %s: %+v", what, w.state())
	return nil
}

// pass lets time pass.
func (w *world) pass(d time.Duration) { <-time.After(d) }

func (w *world) events(kind string) []orchestrator.Event {
	w.t.Helper()
	all := slices.Clone(w.recorded())
	for i, e := range all {
		if e.Seq != i+1 {
			w.t.Fatalf("record %d has number %d", i+1, e.Seq)
		}
	}
	if kind == "" {
		return all
	}
	return slices.DeleteFunc(all, func(e orchestrator.Event) bool { return e.Type != kind })
}

// recorded reads the records again when their file has grown.
func (w *world) recorded() []orchestrator.Event {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	info, err := os.Stat(w.s.Path(session.EventsFile))
	if err == nil && w.records != nil && info.Size() == w.recordsSize {
		return w.records
	}
	all, bad, failed := w.s.Events(0)
	if failed != nil || bad > 0 {
		w.t.Fatalf("events: %d bad, %v", bad, failed)
	}
	w.records, w.recordsSize = nil, 0
	if err == nil {
		w.records, w.recordsSize = all, info.Size()
	}
	return all
}

// tell shows the records of a session whose test failed.
func (w *world) tell() {
	w.t.Helper()
	for _, e := range w.events("") {
		w.t.Logf("%3d %s visit %d %s %s %v", e.Seq, e.TS.Format("04:05.000"), e.Visit, e.Phase, e.Type, e.Data)
	}
}

// bubble runs a test with a clock of its own.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}
