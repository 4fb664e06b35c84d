package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/team"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// diamond is base, then left and right, then top; alone depends on no other.
const diamond = `session: x
agents:
  - {name: base, branch: base, task: t, on_complete: [push, pr]}
  - {name: left, branch: left, task: t, depends_on: base, from: base, scope: [left/]}
  - {name: right, branch: right, task: t, depends_on: base}
  - {name: top, role: review, task: t, depends_on: [left, right]}
  - {name: alone, role: plan, branch: alone, task: t}
`

// newTeam starts a run of an agents file. The commit of an agent is called after it.
func newTeam(t *testing.T, file string, change func(*orchestrator.State)) *sim {
	t.Helper()
	parsed, problems := agents.Parse("a.yml", []byte(file), agents.Known{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := orchestrator.Decode([]byte(`{"schema_version":1}`))
	if err != nil {
		t.Fatal(err)
	}
	s.SessionID, s.Kind, s.BaseSHA, s.Phase = "s1", orchestrator.KindAgents, "sha0", workflows.TeamPhase
	s.Integrated = orchestrator.Integrated{Commit: "sha0", Tree: "tree0"}
	if change != nil {
		change(s)
	}
	m := &sim{t: t, def: workflows.OfTeam(parsed), s: s, now: time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC)}
	m.result = func(e orchestrator.Effect) orchestrator.Result {
		if e.Type == orchestrator.EffCommit {
			return orchestrator.Result{Commit: "c-" + e.Args.Task, Tree: e.Args.Tree, Parent: e.Args.Base}
		}
		return orchestrator.Result{}
	}
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
	return m
}

func (m *sim) member(name string) orchestrator.AgentKey {
	for _, a := range m.def.Team.Agents {
		if a.Name == name {
			return orchestrator.KeyOf(a.Role, a.Name)
		}
	}
	m.t.Fatalf("no agent %s", name)
	return ""
}

func (m *sim) submits(name string) {
	m.t.Helper()
	m.tool("submit_done", m.member(name), map[string]any{}, nil)
}

// statuses is how far the agents are, in the order of the file.
func (m *sim) statuses() string {
	var words []string
	of := team.Status(m.def, m.s)
	for _, a := range m.def.Team.Agents {
		words = append(words, of[a.Name].String())
	}
	return strings.Join(words, " ")
}

// effect returns the newest effect of a type for an agent that was carried out.
func (m *sim) effectOf(kind, name string) (orchestrator.Effect, bool) {
	for _, e := range slices.Backward(m.done) {
		if e.Type == kind && e.Args.Task == name {
			return e, true
		}
	}
	return orchestrator.Effect{}, false
}

func TestATeamRunsInTheOrderOfItsFile(t *testing.T) {
	m := newTeam(t, diamond, nil)
	want := func(statuses string) {
		t.Helper()
		if got := m.statuses(); got != statuses {
			t.Errorf("statuses %s, want %s", got, statuses)
		}
	}
	want("running waiting waiting waiting running")
	m.submits("base")
	want("done running running waiting running")
	left, _ := m.effectOf(orchestrator.EffStartAgent, "left")
	alone, _ := m.effectOf(orchestrator.EffStartAgent, "alone")
	if !left.Args.Headless || alone.Args.Headless {
		t.Errorf("headless: left %v, which others wait for, alone %v", left.Args.Headless, alone.Args.Headless)
	}
	if w := m.s.Workspaces[left.Args.Workspace]; w.Base != "c-base" {
		t.Errorf("left starts at %s", w.Base)
	}
	m.submits("right")
	m.submits("alone")
	m.submits("left")
	want("done done done running done")
	for _, e := range m.done {
		if e.Type == orchestrator.EffEnsureWorkspace && strings.Contains(e.Args.Workspace, "top") && (e.Args.Base != "sha0" || e.Args.Sources["left"] != "c-left" || e.Args.Sources["right"] != "c-right") {
			t.Errorf("view of top: base %s, branches %v", e.Args.Base, e.Args.Sources)
		}
	}
	m.submits("top")
	if m.s.Outcome != orchestrator.OutcomeDone || m.s.Phase != orchestrator.PhaseDone {
		t.Errorf("outcome %s in %s: %s", m.s.Outcome, m.s.Phase, m.s.Cause)
	}
	pushed, ok := m.effectOf(orchestrator.EffPush, "base")
	if _, other := m.effectOf(orchestrator.EffPush, "left"); !ok || other || pushed.Args.Commit != "c-base" || pushed.Args.Base != "sha0" {
		t.Errorf("push of base %v %+v, of left %v", ok, pushed.Args, other)
	}
	if p := m.s.Team["base"]; p.PRNumber != 7 || p.Marker != "0" || p.Branch != "base" {
		t.Errorf("progress of base %+v", p)
	}
	if _, ok := m.effectOf(orchestrator.EffCommit, "top"); ok {
		t.Error("a review was committed")
	}
}

func TestProtocolM3AFailurePassesOn(t *testing.T) {
	m := newTeam(t, "session: x\nagents:\n  - {name: a, branch: a, task: t}\n  - {name: b, branch: b, task: t, depends_on: a}\n  - {name: c, branch: c, task: t, depends_on: b}\n", nil)
	m.exit(m.member("a"), 7)
	if got := m.statuses(); got != "failed blocked blocked" {
		t.Errorf("statuses %s", got)
	}
	if a, b, c := m.s.Team["a"], m.s.Team["b"], m.s.Team["c"]; a.Marker != "7" || b.Marker != "99" || b.BlockedBy != "a" || c.BlockedBy != "b" {
		t.Errorf("a %+v, b %+v, c %+v", a, b, c)
	}
	if m.s.Outcome != orchestrator.OutcomeFailed || !strings.Contains(string(m.s.Cause), "a (exit 7), b (blocked by a), c (blocked by b)") {
		t.Errorf("outcome %s: %s", m.s.Outcome, m.s.Cause)
	}
	var written []string
	for _, e := range m.done {
		if e.Type == orchestrator.EffWriteFile {
			written = append(written, e.Args.Path)
		}
	}
	if want := []string{"signals/a.done", "signals/b.blocked", "signals/b.done", "signals/c.blocked", "signals/c.done"}; !slices.Equal(written, want) {
		t.Errorf("files %v", written)
	}
}

// failures end an agent that is at work, each in another way.
var failures = map[string]struct {
	marker string
	fail   func(*sim, string)
}{
	"exit 1":  {"1", func(m *sim, name string) { m.exit(m.member(name), 1) }},
	"exit 99": {"1", func(m *sim, name string) { m.exit(m.member(name), 99) }},
	"killed": {"1", func(m *sim, name string) {
		m.report(m.member(name), orchestrator.AgentReport{Condition: orchestrator.AgentDead, Signal: "killed"})
	}},
	"silent": {"1", func(m *sim, name string) {
		m.report(m.member(name), orchestrator.AgentReport{TurnEnded: "1"})
		for _, msg := range m.s.Messages {
			m.tool("msg_read", m.member(name), map[string]any{"file": msg.File}, nil)
		}
		m.report(m.member(name), orchestrator.AgentReport{TurnEnded: "2"})
	}},
	"gone twice": {"1", func(m *sim, name string) {
		m.exit(m.member(name), 0)
		m.exit(m.member(name), 0)
	}},
	"out of scope": {"1", func(m *sim, name string) {
		m.work = strays("x")
		m.submits(name)
		m.work = nil
	}},
	"refused push": {"1", func(m *sim, name string) {
		former := m.result
		m.result = func(e orchestrator.Effect) orchestrator.Result {
			if e.Type == orchestrator.EffFetchBranch {
				return orchestrator.Result{Refused: "no"}
			}
			return former(e)
		}
		m.submits(name)
		m.result = former
	}},
	"a person's marker": {"5", func(m *sim, name string) {
		m.do(orchestrator.Input{Kind: orchestrator.InObserve, Observe: &orchestrator.Observation{What: orchestrator.ObserveMarker, Name: name, Evidence: "e", Content: "5\n"}})
	}},
}

func TestProtocolM7AFailureAnywhereBlocksItsDependantsAlone(t *testing.T) {
	dependants := map[string][]string{"base": {"left", "right", "top"}, "left": {"top"}, "right": {"top"}, "alone": {}}
	for kind, f := range failures {
		for name, blocked := range dependants {
			t.Run(kind+" of "+name, func(t *testing.T) {
				m := newTeam(t, diamond, func(s *orchestrator.State) { s.Settings.ScopePolicy = "fail" })
				launched := map[string]int{}
				for !m.s.Ended() {
					before := m.statuses()
					for _, a := range m.def.Team.Agents {
						if team.Status(m.def, m.s)[a.Name] != agents.Running || m.s.Ended() {
							continue
						}
						if a.Name == name {
							f.fail(m, name)
						} else {
							m.submits(a.Name)
						}
					}
					if m.statuses() == before {
						t.Fatalf("the run stands still: %s", before)
					}
				}
				for _, a := range m.def.Team.Agents {
					want := "0"
					switch {
					case a.Name == name:
						want = f.marker
					case slices.Contains(blocked, a.Name):
						want = "99"
					}
					if got := m.s.Team[a.Name].Marker; got != want {
						t.Errorf("%s: marker %q, want %q", a.Name, got, want)
					}
				}
				for _, e := range m.done {
					if e.Type == orchestrator.EffStartAgent {
						launched[e.Args.Task]++
					}
				}
				for task, n := range launched {
					if n > 1 && (task != name || kind != "gone twice") || slices.Contains(blocked, task) {
						t.Errorf("%s was started %d times", task, n)
					}
				}
				if m.s.Outcome != orchestrator.OutcomeFailed {
					t.Errorf("outcome %s", m.s.Outcome)
				}
			})
		}
	}
}

func TestATeamKeepsToItsLimit(t *testing.T) {
	var b strings.Builder
	b.WriteString("session: x\nagents:\n")
	for i := range 5 {
		fmt.Fprintf(&b, "  - {name: a%d, branch: a%d, task: t}\n", i, i)
	}
	m := newTeam(t, b.String(), func(s *orchestrator.State) { s.Settings.Parallel = 2 })
	for _, want := range []string{"running running waiting waiting waiting", "done running running waiting waiting"} {
		if got := m.statuses(); got != want {
			t.Errorf("statuses %s, want %s", got, want)
		}
		m.submits("a0")
	}
}

// A pause keeps the steps and the next agents from beginning, and its end continues with both.
func TestAPausedTeamContinues(t *testing.T) {
	m := newTeam(t, diamond, nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCommit }
	m.submits("base")
	m.command("pause", nil)
	m.hold = nil
	m.settle()
	if _, fetched := m.effectOf(orchestrator.EffFetchBranch, "base"); fetched || m.s.Team["base"].Commit == "" {
		t.Errorf("while paused: %+v, fetched %v", m.s.Team["base"], fetched)
	}
	m.command("resume", nil)
	if got := m.statuses(); got != "done running running waiting running" {
		t.Errorf("after the pause: %s", got)
	}
}

// What was running when the host was killed or the run stopped is taken up, and nothing twice.
func TestAStoppedTeamContinues(t *testing.T) {
	m := newTeam(t, diamond, nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffPush }
	m.submits("base")
	m.command("stop", nil)
	m.hold = nil
	m.settle()
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartResume}})
	m.do(orchestrator.Input{Kind: orchestrator.InOwed})
	if got := m.statuses(); got != "done running running waiting running" {
		t.Errorf("statuses %s", got)
	}
	commits := 0
	for _, e := range m.done {
		if e.Type == orchestrator.EffCommit {
			commits++
		}
	}
	if commits != 1 || m.s.Agents[m.member("alone")].Launch != "1.plan.alone.2" {
		t.Errorf("%d commits, alone runs as %s", commits, m.s.Agents[m.member("alone")].Launch)
	}
}

func TestProtocolM1MarkersOfPeople(t *testing.T) {
	for content, want := range map[string]string{"": "0", "0\n": "0", "99\n": "99", "7": "7", "x": "1"} {
		t.Run(content, func(t *testing.T) {
			m := newTeam(t, "session: x\nagents:\n  - {name: a, branch: a, task: t}\n  - {name: b, branch: b, task: t, depends_on: a}\n", nil)
			m.do(orchestrator.Input{Kind: orchestrator.InObserve, Observe: &orchestrator.Observation{What: orchestrator.ObserveMarker, Name: "b", Evidence: "e", Content: content}})
			if got := m.s.Team["b"].Marker; got != want {
				t.Errorf("marker %q, want %q", got, want)
			}
		})
	}
}

// A retry starts the agents that failed and those they block, under new launches; one whose work is
// committed continues behind its commit.
func TestARetryOfATeam(t *testing.T) {
	m := newTeam(t, diamond, nil)
	m.submits("alone")
	m.submits("base")
	m.exit(m.member("left"), 3)
	m.submits("right")
	if got := m.statuses(); got != "done failed done blocked done" || m.s.Outcome != orchestrator.OutcomeFailed {
		t.Fatalf("statuses %s, outcome %s", got, m.s.Outcome)
	}
	retry := func(role string) { t.Helper(); m.command("retry", map[string]any{"role": role}) }
	first := m.s.Agents[m.member("left")].LastLaunch
	m.refused("retry", map[string]any{"role": "top"})
	if got := m.statuses(); got != "done failed done blocked done" {
		t.Errorf("a retry of a blocked agent: %s", got)
	}
	retry("left")
	if got := m.statuses(); got != "done running done waiting done" || m.s.Outcome != "" {
		t.Errorf("statuses %s, outcome %s", got, m.s.Outcome)
	}
	if again := m.s.Agents[m.member("left")].LastLaunch; again == first {
		t.Errorf("left has the launch %s again", again)
	}
	for _, name := range []string{"left", "top"} {
		if _, ok := m.removed("signals/" + name + ".done"); !ok {
			t.Errorf("the marker of %s stays", name)
		}
	}
	m.submits("left")
	m.submits("top")
	if m.s.Outcome != orchestrator.OutcomeDone {
		t.Errorf("outcome %s: %s", m.s.Outcome, m.s.Cause)
	}

	m = newTeam(t, diamond, nil)
	result := m.result
	m.result = func(e orchestrator.Effect) orchestrator.Result {
		if e.Type == orchestrator.EffPush {
			return orchestrator.Result{Refused: "protected branch"}
		}
		return result(e)
	}
	m.submits("base")
	if p := m.s.Team["base"]; p.Marker != "1" || p.Commit != "c-base" {
		t.Fatalf("a refused push: %+v", p)
	}
	m.result = result
	launch := m.s.Agents[m.member("base")].LastLaunch
	retry("")
	if p := m.s.Team["base"]; p.Marker != "0" || m.s.Agents[m.member("base")].LastLaunch != launch {
		t.Errorf("a retry behind the commit: %+v", p)
	}
	if got := m.statuses(); got != "done running running waiting running" {
		t.Errorf("statuses %s", got)
	}
	m.command("stop", map[string]any{"role": "left"})
	if p := m.s.Team["left"]; p.Marker != "130" || m.s.Ended() {
		t.Errorf("a stopped agent: %+v, outcome %s", p, m.s.Outcome)
	}
}

// removed returns the newest effect that removes a file.
func (m *sim) removed(file string) (orchestrator.Effect, bool) {
	for _, e := range slices.Backward(m.done) {
		if e.Type == orchestrator.EffRemoveFiles && slices.Contains(e.Args.Paths, file) {
			return e, true
		}
	}
	return orchestrator.Effect{}, false
}
