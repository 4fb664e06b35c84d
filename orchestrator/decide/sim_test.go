package decide_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// sim drives Reduce as an engine would, with effects that succeed at once.
type sim struct {
	t      testing.TB
	def    *workflows.Definition
	s      *orchestrator.State
	now    time.Time
	events []orchestrator.Event
	done   []orchestrator.Effect // carried out, in order
	line   int
	began  time.Time // when the last input came
	// result decides what an effect finds; nil or a zero Result is plain success.
	result func(orchestrator.Effect) orchestrator.Result
	// hold keeps effects from being carried out.
	hold func(orchestrator.Effect) bool
	// work is what stands in a workspace when its work is taken; nil is something new. With a
	// nil Snapshot none is taken: the workspace counts as it is once its agent has ended.
	work func(orchestrator.Taking) *orchestrator.Snapshot
	// watch sees each input, with the state it comes to; may be nil.
	watch func(*orchestrator.State, orchestrator.Input)

	parting bool // the host hands the session over: what agents say now is taken in a pause, too
}

func newSim(t testing.TB, workflow string, change func(*orchestrator.State)) *sim {
	t.Helper()
	def := shipped(t, workflow)
	s, err := orchestrator.Decode([]byte(`{"schema_version":1}`))
	if err != nil {
		t.Fatal(err)
	}
	s.SessionID, s.BaseSHA, s.FeatureBranch = "s1", "base", "agentmux/s1"
	s.Integrated = orchestrator.Integrated{Commit: "base", Tree: "tree0"}
	yes := true
	s.GHAvailable = &yes
	if change != nil {
		change(s)
	}
	s.Phase = decide.FirstPhase(def, s)
	sm := &sim{t: t, def: def, s: s, now: time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC)}
	sm.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
	return sm
}

// copied returns a session that has come as far as m and goes its own way, since a decision leaves the
// state as it is.
func (m *sim) copied(t testing.TB) *sim {
	c := *m
	c.t, c.events, c.done = t, slices.Clip(m.events), slices.Clip(m.done)
	return &c
}

// definitions are the workflows that were loaded before: name -> *workflows.Definition.
var definitions sync.Map

// shipped returns a workflow, which nothing changes.
func shipped(t testing.TB, name string) *workflows.Definition {
	t.Helper()
	if def, ok := definitions.Load(name); ok {
		return def.(*workflows.Definition)
	}
	def, _, problems := workflows.Load(name, nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	definitions.Store(name, def)
	return def
}

// do reduces one input and carries out what it asks for.
func (m *sim) do(in orchestrator.Input) {
	m.t.Helper()
	m.reduce(in)
	m.began = m.now
	m.settle()
}

// due tells how long after the last input a deadline is.
func (m *sim) due(name string) time.Duration { return m.s.Deadlines[name].Sub(m.began) }

func (m *sim) reduce(in orchestrator.Input) {
	m.t.Helper()
	m.now = m.now.Add(time.Second)
	in.At = m.now
	in = m.taken(in)
	if m.watch != nil {
		m.watch(m.s, in)
	}
	step, err := decide.Reduce(m.def, m.s, in)
	if err != nil {
		m.t.Fatalf("reduce %s: %v", in.Kind, err)
	}
	if step.Changed {
		m.s = step.State
		m.events = append(m.events, step.Events...)
	}
}

// taken gives an input the work that it hands in, as an engine does before the decision.
func (m *sim) taken(in orchestrator.Input) orchestrator.Input {
	var t orchestrator.Taking
	ok := false
	switch {
	case in.Kind == orchestrator.InTool:
		t, ok = duty.Takes(m.def, m.s, in.Line)
	case in.Kind == orchestrator.InObserve:
		t, ok = duty.TakesMarked(m.def, m.s, in.Observe)
	}
	if !ok {
		return in
	}
	snap := &orchestrator.Snapshot{Tree: "work of " + t.Workspace, Files: 1}
	if m.work != nil {
		snap = m.work(t)
	}
	if in.Line != nil {
		l := *in.Line
		l.Snapshot, in.Line = snap, &l
	} else {
		o := *in.Observe
		o.Snapshot, in.Observe = snap, &o
	}
	return in
}

// strays is work that changes paths which are not the task's own.
func strays(paths ...string) func(orchestrator.Taking) *orchestrator.Snapshot {
	return func(t orchestrator.Taking) *orchestrator.Snapshot {
		snap := &orchestrator.Snapshot{Tree: "work of " + t.Workspace, Files: 1}
		for _, p := range paths {
			snap.Scope = append(snap.Scope, orchestrator.ScopePath{Path: p})
		}
		return snap
	}
}

// untaken is the work of a workspace of which no snapshot is taken.
func untaken(orchestrator.Taking) *orchestrator.Snapshot { return nil }

func (m *sim) settle() {
	m.t.Helper()
	for range 200 {
		e, ok := m.runnable()
		if !ok {
			return
		}
		var res orchestrator.Result
		if m.result != nil {
			res = m.result(e)
		}
		m.done = append(m.done, e)
		m.reduce(orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: e.ID, Result: m.fill(e, res)}})
	}
	m.t.Fatal("effects do not come to rest")
}

func (m *sim) runnable() (orchestrator.Effect, bool) {
	for _, e := range m.s.Pending {
		if len(e.After) == 0 && (m.hold == nil || !m.hold(e)) {
			return e, true
		}
	}
	return orchestrator.Effect{}, false
}

// fill gives a Result the values every success has.
func (m *sim) fill(e orchestrator.Effect, res orchestrator.Result) orchestrator.Result {
	n := len(m.done)
	switch e.Type {
	case orchestrator.EffEnsureWorkspace:
		res.Path = "/w/" + e.Args.Workspace
	case orchestrator.EffIntegrate:
		if res.Commit == "" && len(res.Conflicts) == 0 && len(res.Scope) == 0 {
			res.Commit, res.Tree = fmt.Sprintf("commit%d", n), fmt.Sprintf("tree%d", n)
			res.Snapshot = res.Tree
		}
	case orchestrator.EffCommit:
		if res.Commit == "" && !res.Empty && len(res.Findings) == 0 && res.Refused == "" {
			res.Commit, res.Tree = "final", e.Args.Tree
		}
	case orchestrator.EffPR:
		if res.Number == 0 && res.Refused == "" {
			res.Number, res.URL, res.Draft = 7, "http://x/7", e.Args.Draft
		}
	case orchestrator.EffDeliver:
		if res.Delivery == "" {
			res.Delivery = orchestrator.DeliverySent
		}
	}
	return res
}

// tool sends a tool line of an agent's current launch.
func (m *sim) tool(tool string, key orchestrator.AgentKey, payload any, artifact *orchestrator.Artifact) {
	m.t.Helper()
	role, task := key.Split()
	m.line++
	body, err := json.Marshal(payload)
	if err != nil {
		m.t.Fatal(err)
	}
	visit := m.s.Visit
	m.do(orchestrator.Input{Kind: orchestrator.InTool, Line: &orchestrator.Line{
		File: "tool_events.jsonl", Tool: tool, ID: fmt.Sprintf("id%d", m.line), Role: role, Task: task,
		Launch: m.s.Agents[key].Launch, Visit: &visit, Session: m.s.SessionID, Payload: body, Artifact: artifact, At: orchestrator.At(m.now),
		Cursor: orchestrator.Cursor{Offset: int64(m.line), Seq: m.line}, Last: m.parting,
	}})
}

func (m *sim) command(name string, args map[string]any) {
	m.t.Helper()
	m.do(m.commandInput(name, args))
	if _, armed := m.s.Deadlines["owed"]; armed {
		m.fire("owed")
	}
}

func (m *sim) commandInput(name string, args map[string]any) orchestrator.Input {
	m.t.Helper()
	m.line++
	body, err := json.Marshal(map[string]any{"name": name, "args": args, "actor": "dev", "source": "cli"})
	if err != nil {
		m.t.Fatal(err)
	}
	return orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{
		File: "commands.jsonl", Tool: "command", ID: fmt.Sprintf("cmd%d", m.line), Payload: body, At: orchestrator.At(m.now),
	}}
}

func (m *sim) timer(name string) {
	m.t.Helper()
	at, ok := m.s.Deadlines[name]
	if !ok {
		m.t.Fatalf("no deadline %q in %v", name, m.s.Deadlines)
	}
	m.now = at.Time
	m.do(orchestrator.Input{Kind: orchestrator.InTimer, Timer: name})
}

func (m *sim) exit(key orchestrator.AgentKey, code int) {
	m.t.Helper()
	m.do(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{
		Key: key, Launch: m.s.Agents[key].Launch, Condition: orchestrator.AgentDead, ExitCode: &code,
	}})
}

func textArtifact(path string) *orchestrator.Artifact {
	return &orchestrator.Artifact{Path: path, SHA256: "sha-" + path}
}

// plan returns an accepted plan with one group of the given mode.
func plan(mode string, n int, needsDesign bool) *orchestrator.Artifact {
	p := &artifact.Plan{Version: 2, NeedsDesign: needsDesign}
	group := artifact.Group{ID: "core", Mode: mode}
	for i := 1; i <= n; i++ {
		group.Plans = append(group.Plans, artifact.PlanRef{Index: i, Name: fmt.Sprint("part ", i)})
		p.Subplans = append(p.Subplans, artifact.Subplan{Index: i, Title: fmt.Sprint("part ", i), OwnedFiles: []string{fmt.Sprintf("f%d/", i)}})
	}
	p.Groups = []artifact.Group{group}
	return &orchestrator.Artifact{Path: "04_planning/plan.yaml", SHA256: "plan", Plan: p}
}

func review(role, verdict string) *orchestrator.Artifact {
	r := &artifact.Review{Verdict: verdict, Summary: "seen"}
	if verdict == "fail" {
		r.Findings = []artifact.Finding{{Issue: "wrong", Recommendation: "right"}}
	}
	return &orchestrator.Artifact{Path: artifact.ReviewFile("07_review", role), SHA256: role + verdict, Review: r}
}

func (m *sim) phase(want string) {
	m.t.Helper()
	if m.s.Phase != want {
		m.t.Fatalf("phase %s, want %s (outcome %q %q, cause %q)", m.s.Phase, want, m.s.Outcome, m.s.OutcomeReason, m.s.Cause)
	}
}

// toReview walks a session to its first review.
func (m *sim) toReview(mode string, n int) {
	m.t.Helper()
	if m.s.Phase == "architecting" {
		m.tool("submit_architecture", "architect", map[string]any{}, textArtifact("02_architecting/architecture.md"))
	}
	m.phase("planning")
	m.tool("submit_plan", "planner", map[string]any{}, plan(mode, n, false))
	m.phase("implementing")
	for i := 1; i <= n; i++ {
		m.tool("submit_done", orchestrator.KeyOf("coder", strconv.Itoa(i)), map[string]any{"subplan_index": i}, nil)
	}
	m.phase("reviewing")
}

func (m *sim) pass(role string) {
	m.t.Helper()
	m.tool("submit_review", orchestrator.AgentKey(role), map[string]any{"role": role, "verdict": "pass"}, review(role, "pass"))
}

func (m *sim) fails(role string) {
	m.t.Helper()
	m.tool("submit_review", orchestrator.AgentKey(role), map[string]any{"role": role, "verdict": "fail"}, review(role, "fail"))
}

func (m *sim) summary(role string) {
	m.t.Helper()
	m.tool("submit_summary", orchestrator.AgentKey(role), map[string]any{}, textArtifact("08_completion/summary.md"))
}

func (m *sim) count(kind string) int {
	n := 0
	for _, e := range m.events {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// resume goes on with the session as a person does.
func (m *sim) resume(changes string) {
	m.t.Helper()
	settings := m.s.Settings
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{
		Mode: orchestrator.StartResume, Changes: changes, Settings: &settings,
	}})
	m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: m.live()}})
}

// resumeAtTerminal resumes as a person at a terminal does, whatever the session began as.
func (m *sim) resumeAtTerminal() {
	m.t.Helper()
	settings := m.s.Settings
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{
		Mode: orchestrator.StartResume, Settings: &settings, Attended: true,
	}})
	m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: m.live()}})
}

// live lists the current launches.
func (m *sim) live() []orchestrator.Launch {
	var launches []orchestrator.Launch
	for _, a := range m.s.Agents {
		if a.Launch != "" {
			launches = append(launches, a.Launch)
		}
	}
	return launches
}

// report gives the condition of an agent's current launch.
func (m *sim) report(key orchestrator.AgentKey, rep orchestrator.AgentReport) {
	m.t.Helper()
	rep.Key, rep.Launch = key, m.s.Agents[key].Launch
	if rep.Condition == "" {
		rep.Condition = orchestrator.AgentLive
	}
	m.do(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &rep})
}

// see gives an observation.
func (m *sim) see(o orchestrator.Observation) {
	m.t.Helper()
	m.do(orchestrator.Input{Kind: orchestrator.InObserve, Observe: &o})
}

// fire lets a deadline come up without moving the clock to it.
func (m *sim) fire(name string) {
	m.t.Helper()
	m.do(orchestrator.Input{Kind: orchestrator.InTimer, Timer: name})
}

// wait lets time pass.
func (m *sim) wait(d time.Duration) { m.now = m.now.Add(d) }

// last returns the newest record of a type.
func (m *sim) last(kind string) orchestrator.Event {
	m.t.Helper()
	for i := len(m.events) - 1; i >= 0; i-- {
		if m.events[i].Type == kind {
			return m.events[i]
		}
	}
	m.t.Fatalf("no %s was recorded", kind)
	return orchestrator.Event{}
}

// refused expects the last command to be refused.
func (m *sim) refused(name string, args map[string]any) {
	m.t.Helper()
	before := m.count(orchestrator.EvCommandRefused)
	m.command(name, args)
	if m.count(orchestrator.EvCommandRefused) != before+1 {
		m.t.Fatalf("%s was not refused", name)
	}
}

// ran lists the launches that were started, in order.
func (m *sim) ran() []orchestrator.Launch {
	var launches []orchestrator.Launch
	for _, e := range m.done {
		if e.Type == orchestrator.EffStartAgent {
			launches = append(launches, e.Args.Launch)
		}
	}
	return launches
}

// parked expects a park for a reason.
func (m *sim) parked(reason string) {
	m.t.Helper()
	if !m.s.Parked() || string(m.s.OutcomeReason) != reason {
		m.t.Fatalf("phase %s, outcome %q %q, want a park for %s", m.s.Phase, m.s.Outcome, m.s.OutcomeReason, reason)
	}
	if len(m.live()) > 0 {
		m.t.Fatalf("agents run after the park: %v", m.live())
	}
}

// architecture walks over the architect, with reviewers.
func (m *sim) architecture(reviewers ...string) {
	m.t.Helper()
	m.tool("submit_architecture", "architect", map[string]any{"reviewers": reviewers}, textArtifact("02_architecting/architecture.md"))
}

func (m *sim) planned(mode string, n int) {
	m.t.Helper()
	m.tool("submit_plan", "planner", map[string]any{}, plan(mode, n, false))
}

func (m *sim) coded(i int) {
	m.t.Helper()
	m.tool("submit_done", orchestrator.KeyOf("coder", strconv.Itoa(i)), map[string]any{"subplan_index": i}, nil)
}

// own is the name of the workspace of a task in the present visit.
func (m *sim) own(task string) string { return fmt.Sprint(m.s.Visit, ".", task) }

// view is the name of a role's view in the present visit.
func (m *sim) view(role string) string { return m.own(orchestrator.WorkspaceView + role) }

func (m *sim) fixed() {
	m.t.Helper()
	m.tool("submit_done", "coder", map[string]any{"subplan_index": 1}, nil)
}
