package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// situations are the states every input is tried in.
var situations = []struct {
	name  string
	reach func(*testing.T) *sim
}{
	{"author", func(t *testing.T) *sim { return newSim(t, "feature", nil) }},
	{"design", func(t *testing.T) *sim {
		m := newSim(t, "feature", nil)
		m.architecture()
		m.tool("submit_plan", "planner", map[string]any{}, plan("serial", 2, true))
		return m
	}},
	{"plan", func(t *testing.T) *sim { return newSim(t, "quick", nil) }},
	{"p-gate", func(t *testing.T) *sim {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ApprovePlan = true })
		m.planned("serial", 2)
		return m
	}},
	{"impl", inImplement},
	{"review", func(t *testing.T) *sim { return inReview(t, false) }},
	{"summary", func(t *testing.T) *sim { return inReview(t, true) }},
	{"fix", func(t *testing.T) *sim {
		m := newSim(t, "feature", nil)
		m.toReview("serial", 2)
		m.fails("reviewer_logic")
		return m
	}},
	{"commit", func(t *testing.T) *sim {
		m := inReview(t, true)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCommit }
		m.summary("reviewer_logic")
		return m
	}},
	{"c-gate", func(t *testing.T) *sim {
		m := newSim(t, "quick", interactive)
		m.toEnd()
		return m
	}},
	{"paused", func(t *testing.T) *sim {
		m := inImplement(t)
		m.command("pause", nil)
		return m
	}},
	{"parked", func(t *testing.T) *sim {
		m := inImplement(t)
		m.report("coder/1", orchestrator.AgentReport{Dialog: "?"})
		return m
	}},
	{"done", func(t *testing.T) *sim {
		m := newSim(t, "quick", nil)
		m.toEnd()
		return m
	}},
	{"failed", func(t *testing.T) *sim {
		m := inImplement(t)
		m.command("stop", nil)
		return m
	}},
}

// reached returns the situations, in their order.
func reached(t *testing.T) []*sim {
	var sims []*sim
	for _, s := range situations {
		sims = append(sims, s.reach(t))
	}
	return sims
}

func inImplement(t *testing.T) *sim {
	m := newSim(t, "quick", nil)
	m.planned("serial", 2)
	return m
}

func inReview(t *testing.T, passed bool) *sim {
	m := newSim(t, "quick", nil)
	m.toReview("serial", 2)
	if passed {
		m.pass("reviewer_logic")
	}
	return m
}

// worker is the agent at work, or some agent.
func (m *sim) worker() orchestrator.AgentKey {
	for _, o := range duty.Owed(m.def, m.s) {
		if m.s.Agents[o.Key()].Launch != "" {
			return o.Key()
		}
	}
	return "planner"
}

// attempts are the inputs that are tried. They come from whoever is at work, as
// well-formed as they can be.
var attempts = []struct {
	name  string
	input func(*sim) orchestrator.Input
}{
	{"submit_pm_done", byTool("submit_pm_done", `{}`, textArtifact("requirements.md"))},
	{"submit_architecture", byTool("submit_architecture", `{}`, textArtifact("02_architecting/architecture.md"))},
	{"submit_design", byTool("submit_design", `{}`, textArtifact("05_design/design.md"))},
	{"submit_plan", byTool("submit_plan", `{}`, plan("serial", 2, false))},
	{"submit_plan invalid", byTool("submit_plan", `{}`, &orchestrator.Artifact{Path: "p", Problems: []string{"version: expected 2"}})},
	{"submit_done", byTool("submit_done", `{"subplan_index": 1}`, nil)},
	{"submit_review pass", byTool("submit_review", `{}`, review("reviewer_logic", "pass"))},
	{"submit_review fail", byTool("submit_review", `{}`, review("reviewer_logic", "fail"))},
	{"submit_summary", byTool("submit_summary", `{}`, textArtifact("08_completion/summary.md"))},
	{"submit_research_done", byTool("submit_research_done", `{"topic": "t", "type": "code"}`, textArtifact("s"))},
	{"research_dispatch_code", byTool("research_dispatch_code", `{"topic": "t", "questions": ["?"]}`, nil)},
	{"research_dispatch_web", byTool("research_dispatch_web", `{"topic": "t", "questions": ["?"]}`, nil)},
	{"report_status", byTool("report_status", `{"message": "m", "percent": 5, "current_task": "c"}`, nil)},
	{"ask_human", byTool("ask_human", `{"id": "q1", "question": "?"}`, nil)},
	{"msg_read", byTool("msg_read", `{"file": "msgs/none.md"}`, nil)},
	{"unknown tool", byTool("submit_everything", `{}`, nil)},
	{"bad payload", byTool("submit_done", `{"subplan_index": []}`, nil)},
	{"corrupt line", byLine(orchestrator.Line{Corrupt: "bad JSON", Excerpt: "{"})},
	{"rewound file", byLine(orchestrator.Line{Rewound: &orchestrator.Rewind{From: 9, Reason: "cut"}})},
	{"blank line", byLine(orchestrator.Line{})},
	{"foreign line", byLine(orchestrator.Line{Tool: "report_status", Session: "other", ID: "x"})},
	{"line of an old visit", byLine(orchestrator.Line{Tool: "submit_done", ID: "x", Visit: new(int)})},

	{"stop", byCommand("stop", nil)},
	{"pause", byCommand("pause", nil)},
	{"resume", byCommand("resume", nil)},
	{"retry", byCommand("retry", nil)},
	{"approve", byCommand("approve", nil)},
	{"changes", byCommand("changes", map[string]any{"text": "more"})},
	{"say", byCommand("say", map[string]any{"text": "hello"})},
	{"answer", byCommand("answer", map[string]any{"text": "yes"})},
	{"unknown command", byCommand("jump", nil)},
	{"corrupt command", func(*sim) orchestrator.Input {
		return orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Tool: "command", Payload: []byte(`{"args":1}`)}}
	}},
	{"tool of agents as command", func(*sim) orchestrator.Input {
		return orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Tool: "submit_done"}}
	}},
	{"signal", func(*sim) orchestrator.Input {
		return orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Signal: "terminated"}}
	}},

	{"see artifact", bySight(orchestrator.Observation{What: orchestrator.ObserveArtifact, Artifact: textArtifact("a")})},
	{"see summary", bySight(orchestrator.Observation{What: orchestrator.ObserveSummary, Artifact: textArtifact("s")})},
	{"see done_1", bySight(orchestrator.Observation{What: orchestrator.ObserveMarker, Name: "1"})},
	{"see done_2", bySight(orchestrator.Observation{What: orchestrator.ObserveMarker, Name: "2"})},
	{"see approval", func(m *sim) orchestrator.Input {
		return bySight(orchestrator.Observation{
			What: orchestrator.ObserveApproval, Approval: &orchestrator.Approval{Of: m.s.GateDigest()},
		})(m)
	}},
	{"see approval of what", bySight(orchestrator.Observation{What: orchestrator.ObserveApproval, Approval: &orchestrator.Approval{}})},
	{"see bad approval", bySight(orchestrator.Observation{What: orchestrator.ObserveApproval, Problems: []string{"action"}})},
	{"see changes", bySight(orchestrator.Observation{What: orchestrator.ObserveChanges, Approval: &orchestrator.Approval{Text: "more"}})},
	{"see review", bySight(orchestrator.Observation{What: orchestrator.ObserveReview, Name: "reviewer_logic", Artifact: review("reviewer_logic", "pass")})},
	{"see review of nobody", bySight(orchestrator.Observation{What: orchestrator.ObserveReview, Name: "reviewer_expert"})},

	{"agent live", byAgent(orchestrator.AgentReport{Condition: orchestrator.AgentLive})},
	{"agent silent", byAgent(orchestrator.AgentReport{Condition: orchestrator.AgentLive, Silence: orchestrator.DefaultSettings().LimitStall})},
	{"agent turn end", byAgent(orchestrator.AgentReport{Condition: orchestrator.AgentLive, TurnEnded: "turn 1"})},
	{"agent dialog", byAgent(orchestrator.AgentReport{Condition: orchestrator.AgentLive, Dialog: "?"})},
	{"agent limited", byAgent(orchestrator.AgentReport{Condition: orchestrator.AgentLive, RateLimited: true})},
	{"agent dead", byAgent(orchestrator.AgentReport{Condition: orchestrator.AgentDead, ExitCode: new(int)})},
	{"agent absent", byAgent(orchestrator.AgentReport{Condition: orchestrator.AgentAbsent})},
	{"server lost", byAgent(orchestrator.AgentReport{Condition: orchestrator.AgentAbsent, ServerLost: true})},

	{"timer phase", byTimer("phase")},
	{"timer total", byTimer("total")},
	{"timer review", byTimer("review")},
	{"timer summary", byTimer("summary")},
	{"timer gate", byTimer("gate")},
	{"timer of nothing", byTimer("question/q9")},

	{"result of nothing", func(*sim) orchestrator.Input {
		return orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: "9.999"}}
	}},
	{"failure of nothing", func(*sim) orchestrator.Input {
		return orchestrator.Input{Kind: orchestrator.InEffectFailed, Effect: &orchestrator.Outcome{ID: "9.999"}}
	}},
	{"start", byStart(orchestrator.StartNew)},
	{"start resume", byStart(orchestrator.StartResume)},
	{"owed", func(m *sim) orchestrator.Input {
		return orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: m.live()}}
	}},
	{"locked", func(*sim) orchestrator.Input { return orchestrator.Input{Kind: orchestrator.InLocked} }},
	{"claim lost", func(*sim) orchestrator.Input {
		return orchestrator.Input{Kind: orchestrator.InClaimLost, Host: "h_0123456789abcdef"}
	}},
	{"overwritten", func(*sim) orchestrator.Input { return orchestrator.Input{Kind: orchestrator.InOverwritten} }},
}

func byTool(tool, payload string, a *orchestrator.Artifact) func(*sim) orchestrator.Input {
	return func(m *sim) orchestrator.Input {
		key, visit := m.worker(), m.s.Visit
		role, task := key.Split()
		return orchestrator.Input{Kind: orchestrator.InTool, Line: &orchestrator.Line{
			File: "tool_events.jsonl", Tool: tool, ID: "new", Role: role, Task: task, Launch: m.s.Agents[key].Launch,
			Visit: &visit, Session: "s1", Payload: []byte(payload), Artifact: a, Cursor: orchestrator.Cursor{Offset: 1 << 20},
		}}
	}
}

func byLine(l orchestrator.Line) func(*sim) orchestrator.Input {
	return func(*sim) orchestrator.Input {
		l := l
		l.File, l.Cursor = "tool_events.jsonl", orchestrator.Cursor{Offset: 1 << 20}
		return orchestrator.Input{Kind: orchestrator.InTool, Line: &l}
	}
}

func byCommand(name string, args map[string]any) func(*sim) orchestrator.Input {
	return func(m *sim) orchestrator.Input { return m.commandInput(name, args) }
}

func bySight(o orchestrator.Observation) func(*sim) orchestrator.Input {
	return func(*sim) orchestrator.Input {
		o := o
		o.Evidence = "new"
		return orchestrator.Input{Kind: orchestrator.InObserve, Observe: &o}
	}
}

func byAgent(rep orchestrator.AgentReport) func(*sim) orchestrator.Input {
	return func(m *sim) orchestrator.Input {
		rep := rep
		rep.Key = m.worker()
		rep.Launch = m.s.Agents[rep.Key].Launch
		if rep.Silence > 0 {
			m.wait(2 * rep.Silence.D())
		}
		return orchestrator.Input{Kind: orchestrator.InAgent, Agent: &rep}
	}
}

func byTimer(name string) func(*sim) orchestrator.Input {
	return func(m *sim) orchestrator.Input {
		if at, ok := m.s.Deadlines[name]; ok {
			m.now = at.Time
		}
		return orchestrator.Input{Kind: orchestrator.InTimer, Timer: name}
	}
}

func byStart(mode string) func(*sim) orchestrator.Input {
	return func(m *sim) orchestrator.Input {
		settings := m.s.Settings
		return orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: mode, Settings: &settings}}
	}
}

// outcomeOf says in a word what an input led to: where the session is now if it
// moved, else the first record, "~" for a change without one, "-" for nothing.
func outcomeOf(before *orchestrator.State, step decide.Step) string {
	after := step.State
	switch {
	case !step.Changed:
		return "-"
	case after.Outcome != before.Outcome && after.Outcome != "":
		if after.OutcomeReason != "" {
			return string(after.OutcomeReason)
		}
		return string(after.Outcome)
	case after.Phase != before.Phase || after.Visit != before.Visit:
		return ">" + after.Phase
	case len(step.Events) > 0:
		return step.Events[0].Type
	}
	return "~"
}

// C4: the result of every input in every situation, written down. An input of the
// edge kind leaves a change or a record everywhere, but for lines of agents that
// wait while the session does not run, and inputs that describe nothing new.
func TestProtocolC4EveryInputInEverySituation(t *testing.T) {
	want := map[string][]string{}
	var header []string
	for line := range strings.Lines(strings.TrimSpace(everyResult)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if header == nil {
			header = cells[1:]
			continue
		}
		want[cells[0]] = cells[1:]
	}
	var names []string
	for _, s := range situations {
		names = append(names, s.name)
	}
	if !slices.Equal(header, names) {
		t.Fatalf("the table has columns %v, situations are %v", header, names)
	}
	if len(want) != len(attempts) {
		t.Errorf("the table has %d rows, inputs are %d", len(want), len(attempts))
	}
	var all strings.Builder
	sims := reached(t)
	for _, a := range attempts {
		fmt.Fprintf(&all, "%s", a.name)
		for i, s := range situations {
			m := sims[i].copied(t)
			in := a.input(m)
			m.now = m.now.Add(1)
			in.At = m.now
			in = m.taken(in)
			step, err := decide.Reduce(m.def, m.s, in)
			if err != nil {
				t.Errorf("%s in %s: %v", a.name, s.name, err)
				continue
			}
			got := outcomeOf(m.s, step)
			fmt.Fprintf(&all, " | %s", got)
			if edge(in, m.s) && got == "-" {
				t.Errorf("%s in %s left nothing", a.name, s.name)
			}
			if cells := want[a.name]; i >= len(cells) || cells[i] != got {
				t.Errorf("%s in %s: %q", a.name, s.name, got)
			}
		}
		all.WriteString("\n")
	}
	if t.Failed() {
		t.Logf("all results:\n%s", all.String())
	}
}

// edge reports whether an input must leave a change or a record. Lines of agents
// wait while the session does not run; after its end there is nothing to cancel.
func edge(in orchestrator.Input, s *orchestrator.State) bool {
	switch in.Kind {
	case orchestrator.InTool:
		return !s.Paused && !s.Ended()
	case orchestrator.InCommand:
		return in.Line.Signal == "" || !s.Ended()
	}
	return in.Kind == orchestrator.InEffectDone || in.Kind == orchestrator.InEffectFailed
}

// A level input that stays as it is leaves one record at most, however often it is
// given.
func TestProtocolC4LevelInputsLeaveOneRecord(t *testing.T) {
	level := []string{orchestrator.InObserve, orchestrator.InAgent, orchestrator.InTimer}
	sims := reached(t)
	for _, a := range attempts {
		for i, s := range situations {
			m := sims[i].copied(t)
			in := a.input(m)
			if !slices.Contains(level, in.Kind) {
				continue
			}
			changes := 0
			for range 10 {
				m.now = m.now.Add(10)
				in.At = m.now
				in = m.taken(in)
				step, err := decide.Reduce(m.def, m.s, in)
				if err != nil {
					t.Fatalf("%s in %s: %v", a.name, s.name, err)
				}
				if step.Changed {
					changes++
					m.s = step.State
				}
			}
			if changes > 1 {
				t.Errorf("%s in %s: %d commits", a.name, s.name, changes)
			}
		}
	}
}
