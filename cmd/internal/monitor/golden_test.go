package monitor_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/monitor"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/agents"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) orchestrator.Time { return orchestrator.At(noon.Add(d)) }

var featurePhases = []string{
	"product_management", "architecting", "planning", "designing", "implementing", "reviewing", "fixing", "completing",
}

// story collects records, one per second unless told otherwise.
type story struct {
	at      time.Duration
	records []orchestrator.Event
}

func (s *story) tell(wait time.Duration, kind string, data map[string]any) {
	line, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	s.at += wait
	s.records = append(s.records, orchestrator.Event{Seq: len(s.records) + 1, TS: after(s.at), Type: kind, Data: orchestrator.ReadRecord(kind, line)})
}

func (s *story) enter(wait time.Duration, phase, kind string) {
	s.tell(wait, orchestrator.EvPhaseEntered, map[string]any{"phase": phase, "kind": kind})
}

func (s *story) leave(wait time.Duration, phase string) {
	s.tell(wait, orchestrator.EvPhaseLeft, map[string]any{"phase": phase, "seconds": wait.Seconds()})
}

func (s *story) start(role, task, provider, launch string) {
	s.tell(time.Second, orchestrator.EvAgentStarted, map[string]any{
		"role": role, "task": task, "provider": provider, "launch": launch,
	})
}

// picture is a state with its records at a moment.
type picture struct {
	state   *orchestrator.State
	records []orchestrator.Event
	now     time.Time
	host    bool
	team    *agents.Team
}

func (p picture) view() monitor.View {
	return monitor.Build(p.state, monitor.Facts{Phases: featurePhases, Team: p.team, Running: p.host, Sandbox: "none (agents run as you)"}, p.records, p.now)
}

func newState() *orchestrator.State {
	s := orchestrator.NewState()
	s.SessionID, s.Workflow = "20260115-120000-issue-42-refuse-expired-tokens", "feature"
	s.Repo, s.IssueNumber, s.IssueTitle = "acme/shop", 42, "Refuse expired tokens"
	s.BaseBranch, s.FeatureBranch = "main", "agentmux/issue-42-refuse-expired-tokens"
	s.CreatedAt, s.Phase = after(0), "architecting"
	return s
}

// planned is a session two minutes into its second coder, with one of three
// subplans done.
func planned() picture {
	s, t := newState(), &story{}
	t.tell(0, orchestrator.EvSessionCreated, nil)
	t.leave(0, "architecting")
	t.enter(0, "architecting", "author")
	t.start("architect", "", "claude", "1.architect.1")
	t.leave(4*time.Minute+12*time.Second, "architecting")
	t.enter(0, "planning", "plan")
	t.leave(65*time.Second, "planning")
	t.enter(0, "implementing", "implement")
	t.tell(0, orchestrator.EvGroupStarted, map[string]any{"group_id": "core"})
	t.start("coder", "1", "claude", "3.coder.1.1")
	t.start("coder", "2", "codex", "3.coder.2.1")
	t.tell(30*time.Second, orchestrator.EvSubplanDone, map[string]any{"id": "1"})
	t.tell(time.Second, orchestrator.EvAgentStatus, map[string]any{
		"role": "coder", "task": "2", "message": "writing the failing test for the error page",
	})
	s.Phase, s.PhaseEnteredAt, s.SubplanCount = "implementing", after(5*time.Minute+18*time.Second), 3
	s.CompletedSubplans = []string{"1"}
	s.Schedule = &orchestrator.Schedule{
		Groups: []orchestrator.Group{
			{ID: "core", Mode: "parallel", Plans: []string{"1", "2"}}, {ID: "docs", Mode: "serial", Plans: []string{"3"}},
		},
		Titles: map[string]string{"1": "Token check", "2": "Error page", "3": "Documentation of the expiry"},
	}
	s.SubplanStatus = map[string]string{"1": orchestrator.SubplanDone, "2": orchestrator.SubplanRunning, "3": orchestrator.SubplanPending}
	s.Agents = map[orchestrator.AgentKey]orchestrator.Agent{
		"architect": {}, "coder/1": {}, "coder/2": {Launch: "3.coder.2.1"}, "code-researcher/clock-skew": {Launch: "3.code-researcher.clock-skew.1"},
	}
	s.ResearchTasks = map[string]string{"token-store": orchestrator.ResearchDone, "clock-skew": orchestrator.ResearchDispatched}
	s.WebResearchTasks = map[string]string{"rfc-9068": orchestrator.ResearchFailed}
	return picture{state: s, records: t.records, now: noon.Add(7*time.Minute + 20*time.Second), host: true}
}

func asking() picture {
	p := planned()
	p.state.Questions = []orchestrator.Question{{
		ID: "q1", Role: "coder", Task: "2", AskedAt: after(6 * time.Minute),
		Text:    "The old flag is still documented. Shall I keep it as an alias, or remove it with a note in the change log?",
		Options: []string{"keep it as an alias", "remove it"},
	}, {ID: "q2", Role: "planner", Text: "another"}}
	agent := p.state.Agents["coder/2"]
	agent.Waiting = "question"
	p.state.Agents["coder/2"] = agent
	return p
}

func gated() picture {
	p := planned()
	s, t := p.state, &story{at: 351 * time.Second, records: p.records}
	t.leave(31*time.Second, "implementing")
	t.enter(0, "reviewing", "review")
	t.tell(10*time.Second, orchestrator.EvVerdict, map[string]any{"role": "reviewer_quality", "verdict": "fail"})
	t.leave(10*time.Second, "reviewing")
	t.enter(0, "fixing", "fix")
	t.leave(8*time.Second, "fixing")
	t.enter(0, "reviewing", "review")
	t.leave(5*time.Second, "reviewing")
	t.enter(0, "completing", "complete")
	p.records = t.records
	s.SubplanStatus = map[string]string{"1": orchestrator.SubplanDone, "2": orchestrator.SubplanDone, "3": orchestrator.SubplanDone}
	s.Phase, s.PhaseEnteredAt = "completing", after(7*time.Minute)
	s.Agents, s.CompletedSubplans = nil, []string{"1", "2", "3"}
	s.ReviewIteration = 1
	s.ReviewResults = map[string]orchestrator.ReviewResult{
		"reviewer_logic":   {Verdict: "pass", Iteration: 1},
		"reviewer_quality": {Verdict: "fail", Iteration: 0, Findings: 2},
	}
	s.Gate = &orchestrator.Gate{Name: orchestrator.GateCompletion, OpenedAt: after(7 * time.Minute)}
	return p
}

func ended() picture {
	p := gated()
	p.state.Gate = nil
	p.state.Phase, p.state.Outcome = orchestrator.PhaseDone, orchestrator.OutcomeDone
	p.state.Completion = orchestrator.Completion{PRNumber: 7, PRURL: "https://github.com/acme/shop/pull/7", Draft: true}
	t := &story{at: 8 * time.Minute, records: p.records}
	t.tell(0, orchestrator.EvPROpened, map[string]any{"number": 7})
	t.tell(0, orchestrator.EvDone, nil)
	p.records, p.now, p.host = t.records, noon.Add(9*time.Hour), false
	return p
}

func parked() picture {
	p := planned()
	p.state.Outcome, p.state.OutcomeReason = orchestrator.OutcomeNeedsHuman, orchestrator.ReasonAgentStalled
	t := &story{at: 8 * time.Minute, records: p.records}
	t.tell(0, orchestrator.EvNeedsHuman, map[string]any{
		"reason": "agent_stalled", "text": "the coder/2 did not submit (exit 1)", "next": "agentmux attach, then resume",
	})
	p.records, p.host = t.records, false
	return p
}

func TestRenderShowsWhatTheSessionDoes(t *testing.T) {
	var got txtar.Archive
	for _, c := range []struct {
		name          string
		picture       picture
		width, height int
	}{
		{"at work, narrow", planned(), 40, 0},
		{"at work, 80x24", planned(), 80, 24},
		{"at work, wide", planned(), 120, 30},
		{"question, narrow and low", asking(), 40, 20},
		{"question, 80 columns", asking(), 80, 45},
		{"gate", gated(), 80, 40},
		{"done", ended(), 60, 0},
		{"parked", parked(), 60, 40},
		{"new", picture{state: newState(), now: noon}, 40, 0},
	} {
		text := monitor.Render(c.picture.view(), c.width, c.height)
		for _, line := range strings.Split(text, "\n") {
			if w := paint.Width(line); w > c.width {
				t.Errorf("%s: line of %d columns, want at most %d: %q", c.name, w, c.width, line)
			}
		}
		if n := strings.Count(text, "\n"); c.height > 0 && n > c.height {
			t.Errorf("%s: %d lines, want at most %d", c.name, n, c.height)
		}
		got.Files = append(got.Files, txtar.File{Name: c.name, Data: []byte(text)})
	}
	golden(t, "testdata/render.txtar", txtar.Format(&got))
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("differs from %s (go test -update writes it); got:\n%s", file, got)
	}
}
