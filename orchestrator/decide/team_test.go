package decide_test

import (
	"fmt"
	"maps"
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
	"refused branch": {"1", ends(orchestrator.EffFetchBranch, orchestrator.Result{Refused: "no"})},
	"output gate":    {"1", ends(orchestrator.EffCommit, orchestrator.Result{Findings: []string{"a key"}})},
	"a person's marker": {"5", func(m *sim, name string) {
		m.do(orchestrator.Input{Kind: orchestrator.InObserve, Observe: &orchestrator.Observation{What: orchestrator.ObserveMarker, Name: name, Evidence: "e", Content: "5\n"}})
	}},
}

// ends lets a step of an agent end with a result that is a failure.
func ends(step string, res orchestrator.Result) func(*sim, string) {
	return func(m *sim, name string) {
		former := m.result
		m.result = func(e orchestrator.Effect) orchestrator.Result {
			if e.Type == step && e.Args.Task == name {
				return res
			}
			return former(e)
		}
		m.submits(name)
		m.result = former
	}
}

// eight agents: root, then a, b and c, then ab and bc, then top; free depends on no other.
const eight = `session: x
on_complete: [test, push, pr]
agents:
  - {name: root, branch: root, task: t, scope: [s/]}
  - {name: a, branch: a, task: t, depends_on: root, from: root, scope: [s/]}
  - {name: b, branch: b, task: t, depends_on: root, scope: [s/]}
  - {name: c, branch: c, task: t, depends_on: root, scope: [s/]}
  - {name: ab, branch: ab, task: t, depends_on: [a, b], from: b, scope: [s/]}
  - {name: bc, branch: bc, task: t, depends_on: [b, c], scope: [s/]}
  - {name: top, branch: top, task: t, depends_on: [ab, bc], scope: [s/]}
  - {name: free, branch: free, task: t, scope: [s/]}
`

// Each kind of failure at each of eight agents, and a failure together with one at each other agent:
// exactly those behind them are blocked, the rest is done, and nothing is started twice.
func TestProtocolM7ADiamondOfEight(t *testing.T) {
	behind := map[string][]string{
		"root": {"a", "b", "c", "ab", "bc", "top"}, "a": {"ab", "top"}, "b": {"ab", "bc", "top"}, "c": {"bc", "top"},
		"ab": {"top"}, "bc": {"top"}, "top": {}, "free": {},
	}
	kinds := maps.Clone(failures)
	kinds["test red"] = struct {
		marker string
		fail   func(*sim, string)
	}{"1", ends(orchestrator.EffTest, orchestrator.Result{Refused: "exit status 1"})}
	kinds["refused push"] = struct {
		marker string
		fail   func(*sim, string)
	}{"1", ends(orchestrator.EffPush, orchestrator.Result{Refused: "protected branch"})}
	ones := slices.Sorted(maps.Keys(behind))
	if testing.Short() {
		ones = []string{"root", "b", "ab", "top"} // one of each row
	}
	for kind, f := range kinds {
		t.Run(kind, func(t *testing.T) {
			for n, one := range ones {
				if testing.Short() && kind != "exit 1" && n%2 == 0 {
					continue
				}
				for other := range behind {
					if kind != "exit 1" && other != one {
						continue // how one agent fails is nothing to another
					}
					m := newTeam(t, eight, func(s *orchestrator.State) { s.Settings.ScopePolicy = "fail" })
					m.toTheEnd(func(name string) bool {
						switch name {
						case one:
							f.fail(m, name)
						case other:
							m.exit(m.member(name), 7)
						}
						return name == one || name == other
					})
					m.endedWith(map[string]string{other: "7", one: f.marker}, append(slices.Clone(behind[one]), behind[other]...))
					if t.Failed() {
						t.Fatalf("%s of %s, %s exits", kind, one, other)
					}
				}
			}
		})
	}
}

// toTheEnd lets every agent that is at work submit until the run has ended, but for those that fails
// takes.
func (m *sim) toTheEnd(fails func(name string) bool) {
	m.t.Helper()
	for !m.s.Ended() {
		before := m.statuses()
		for _, a := range m.def.Team.Agents {
			if team.Status(m.def, m.s)[a.Name] == agents.Running && !m.s.Ended() && !fails(a.Name) {
				m.submits(a.Name)
			}
		}
		if m.statuses() == before {
			m.t.Fatalf("the run stands still: %s", before)
		}
	}
}

// endedWith checks the markers: of those that failed, of those behind them, and of the rest.
func (m *sim) endedWith(failed map[string]string, blocked []string) {
	m.t.Helper()
	launched, pulls := map[string]int{}, map[string]int{}
	for _, e := range m.done {
		switch e.Type {
		case orchestrator.EffStartAgent:
			launched[e.Args.Task]++
		case orchestrator.EffPR:
			pulls[e.Args.Task]++
		}
	}
	for _, a := range m.def.Team.Agents {
		want, starts, opened := "0", 1, 1
		if marker, ok := failed[a.Name]; ok {
			want, starts, opened = marker, max(1, launched[a.Name]), 0
		}
		if slices.Contains(blocked, a.Name) {
			want, starts, opened = "99", 0, 0
		}
		if got := m.s.Team[a.Name].Marker; got != want || launched[a.Name] != starts || pulls[a.Name] != opened {
			m.t.Errorf("%s: marker %q, want %q; started %d times, %d pull requests", a.Name, got, want, launched[a.Name], pulls[a.Name])
		}
	}
	if m.s.Outcome != orchestrator.OutcomeFailed {
		m.t.Errorf("outcome %s", m.s.Outcome)
	}
}

// A person names an agent by its name, or by its role where no other agent has it.
func TestProtocolM3APersonNamesAnAgent(t *testing.T) {
	m := newTeam(t, diamond, nil)
	for word, want := range map[string]string{
		"build": "several agents have the role build: name one of base, left, right",
		"basis": "no agent is called basis; there are base, left, right, top, alone",
		"left":  "no build/left is at work; at work: build/base, plan/alone",
	} {
		m.command("say", map[string]any{"role": word, "text": "hello"})
		if got := m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord).Reason; got != want {
			t.Errorf("say to %s: %q, want %q", word, got, want)
		}
	}
	m.command("retry", map[string]any{"role": "build"})
	if got := m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord).Reason; got != "several agents have the role build: name one of base, left, right" {
		t.Errorf("retry of build: %q", got)
	}
	for _, word := range []string{"plan", "alone", "plan/alone"} {
		n := len(m.s.Messages)
		m.command("say", map[string]any{"role": word, "text": "hello"})
		if len(m.s.Messages) != n+1 {
			t.Errorf("%s is not told", word)
		}
	}
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

// An agent whose branch had commits of its own is done with them when it changes nothing; another one is
// asked for a change, and fails without one.
func TestATeamThatFindsItsWorkDone(t *testing.T) {
	const file = "session: x\nagents:\n  - {name: a, branch: a, task: t, on_complete: [test, push, pr]}\n  - {name: b, branch: b, task: t, depends_on: a, from: a}\n  - {name: c, branch: c, task: t, depends_on: b, from: b}\n"
	unchanged := func(orchestrator.Taking) *orchestrator.Snapshot { return &orchestrator.Snapshot{Tree: "same"} }
	begin := func(tip string) *sim {
		m := newTeam(t, file, func(s *orchestrator.State) {
			if tip != "" {
				s.Team = map[string]agents.Progress{"a": {Base: tip, Tip: tip}}
			}
		})
		m.work = unchanged
		return m
	}
	startOf := func(m *sim, name string) string {
		start, _ := m.effectOf(orchestrator.EffStartAgent, name)
		return m.s.Workspaces[start.Args.Workspace].Base
	}
	marked := func(m *sim, name string) {
		m.do(orchestrator.Input{Kind: orchestrator.InObserve, Observe: &orchestrator.Observation{What: orchestrator.ObserveMarker, Name: name, Evidence: "e", Content: ""}})
	}
	empty := func(e orchestrator.Effect) orchestrator.Result {
		return orchestrator.Result{Empty: e.Type == orchestrator.EffCommit}
	}
	// What follows a commit is still owed: nothing but the record of a commit is left out.
	done := func(t *testing.T, m *sim) {
		t.Helper()
		if p := m.s.Team["a"]; m.statuses() != "done running waiting" || p.Commit != "tip" || p.Parent != "sha0" || p.Branch != "a" || startOf(m, "b") != "tip" {
			t.Errorf("%s, a %+v, b begins at %q", m.statuses(), p, startOf(m, "b"))
		}
		for _, kind := range []string{orchestrator.EffFetchBranch, orchestrator.EffTest, orchestrator.EffPush, orchestrator.EffPR} {
			if e, ok := m.effectOf(kind, "a"); !ok || e.Args.Commit != "tip" {
				t.Errorf("%s of %q: %v", kind, e.Args.Commit, ok)
			}
		}
		if e, _ := m.effectOf(orchestrator.EffPush, "a"); e.Args.Head != "tip" {
			t.Errorf("the push does not know what the branch had: %+v", e.Args)
		}
		if slices.ContainsFunc(m.events, func(e orchestrator.Event) bool { return e.Type == orchestrator.EvCommitCreated }) {
			t.Error("a record of a commit that nobody made")
		}
	}
	t.Run("with work", func(t *testing.T) {
		m := begin("tip")
		m.result = empty
		m.submits("a")
		done(t, m)
		marked(m, "b") // it continues a, and so does c
		if m.statuses() != "done done running" || startOf(m, "c") != "tip" {
			t.Errorf("%s, c begins at %q", m.statuses(), startOf(m, "c"))
		}
	})
	t.Run("with work, and only notes to itself", func(t *testing.T) {
		m := begin("tip")
		m.work, m.result = nil, empty
		m.submits("a")
		done(t, m)
	})
	t.Run("with work, marked by a person", func(t *testing.T) {
		m := begin("tip")
		m.result = empty
		marked(m, "a")
		done(t, m)
	})
	t.Run("without work", func(t *testing.T) {
		m := begin("")
		for range 4 {
			if m.statuses() == "running waiting waiting" {
				m.submits("a")
			}
		}
		if p := m.s.Team["a"]; m.statuses() != "failed blocked blocked" || p.Commit != "" {
			t.Errorf("%s, a %+v", m.statuses(), p)
		}
	})
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
