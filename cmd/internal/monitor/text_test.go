package monitor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/monitor"
	"github.com/agentmux/agentmux/orchestrator"
)

const hostile = "\x1b[2J\x1b]0;owned\x07 a\u202eb\r\nc\u0085d"

func TestSecurity21HostileTextsCannotSpeakToTheTerminal(t *testing.T) {
	p := asking()
	s := p.state
	s.IssueTitle, s.Questions[0].Text, s.Questions[0].Options = hostile, hostile, []string{hostile}
	s.Schedule.Titles["1"] = hostile
	s.ResearchTasks = map[string]string{hostile: orchestrator.ResearchDone}
	s.Agents = map[orchestrator.AgentKey]orchestrator.Agent{"coder/" + hostile: {Launch: "x"}, "coder/2": s.Agents["coder/2"]}
	st := story{at: time.Hour, records: p.records}
	st.tell(0, orchestrator.EvAgentStatus, map[string]any{"role": "coder", "task": "2", "message": hostile})
	st.tell(0, orchestrator.EvEffectFailed, map[string]any{"effect": "ensure_push", "error": hostile})
	p.records = st.records
	for _, width := range []int{40, 120} {
		text := monitor.Render(p.view(), width, 0)
		if !strings.Contains(text, "[2J") {
			t.Fatalf("the texts are not shown at all:\n%s", text)
		}
		for _, r := range text {
			if r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e) {
				t.Errorf("width %d: %U reaches the terminal", width, r)
			}
		}
	}
}

// The agents of an agents file have branches of their own; the session has none.
func TestATeamHasNoBranchOfTheSession(t *testing.T) {
	p := planned()
	branch := p.state.FeatureBranch
	if text := monitor.Render(p.view(), 120, 0); !strings.Contains(text, branch) {
		t.Fatalf("no branch of a session of an issue:\n%s", text)
	}
	p.state.Kind = orchestrator.KindAgents
	if text := monitor.Render(p.view(), 120, 0); strings.Contains(text, branch) {
		t.Errorf("a branch that was never made:\n%s", text)
	}
}

func TestColoursOnlyOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("CLICOLOR_FORCE", "")
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v := planned().view()
	if got := monitor.Painted(v, 80, 40, f); got != monitor.Render(v, 80, 40) {
		t.Errorf("a file gets colours: %q", got)
	}
}

func TestPhasesBehindANewPlanAreToBeDoneAgain(t *testing.T) {
	p := gated()
	st := story{at: 10 * time.Minute, records: p.records}
	st.leave(time.Second, "completing")
	st.enter(0, "planning", "plan")
	p.records = st.records
	p.state.Gate, p.state.Phase, p.state.PhaseEnteredAt = nil, "planning", after(st.at)
	marks := map[string]string{}
	for _, row := range p.view().Phases {
		marks[row.ID] = row.Mark
	}
	want := map[string]string{
		"product_management": monitor.MarkSkipped, "architecting": monitor.MarkDone, "planning": monitor.MarkCurrent,
		"implementing": monitor.MarkPending, "reviewing": monitor.MarkPending, "completing": monitor.MarkPending,
	}
	for id, mark := range want {
		if marks[id] != mark {
			t.Errorf("%s is marked %q, want %q", id, marks[id], mark)
		}
	}
}
