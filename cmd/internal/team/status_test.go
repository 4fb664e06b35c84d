package team_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/team"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// A question that waits is shown with its agent and with the command that answers it; one that has its
// answer is not.
func TestStatusShowsTheQuestionsThatWait(t *testing.T) {
	asked := orchestrator.At(time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC))
	state := &orchestrator.State{Questions: []orchestrator.Question{
		{ID: "q1", Role: "build", Task: "words", Text: "Old?", AskedAt: asked, AnsweredAt: asked},
		{ID: "q2", Role: "build", Task: "words", Text: "Which words?", Options: []string{"short", "long"}, AskedAt: asked},
	}}
	entry := session.Entry{Name: "shop", Dir: t.TempDir(), State: state}
	var out bytes.Buffer
	team.Show(&site.Finder{Console: console.New(console.Streams{Out: &out}, redact.New)}, entry, &agents.Team{Session: "shop", Agents: []agents.Agent{{Name: "words", Role: "build"}}})
	if want := "\nwords asks: Which words?\n  1) short\n  2) long\nagentmux answer q2 \"...\" --session shop\n"; !strings.HasSuffix(out.String(), want) || strings.Contains(out.String(), "Old?") {
		t.Errorf("it shows\n%s", &out)
	}
}

// A failure stands out with any exit code. What an agent waits for may be called like a status.
func TestStatusesHaveTheirColours(t *testing.T) {
	for status, want := range map[string]paint.Ink{
		"failed (exit 3)": paint.Bad, "failed (exit 130)": paint.Bad, "done": paint.Good, "running": paint.Busy, "blocked": paint.Ask,
		"waiting (failed)": paint.Plain, "idle": paint.Plain, "no pane": paint.Plain,
	} {
		if got := team.Ink(status); got != want {
			t.Errorf("%s: %v, want %v", status, got, want)
		}
	}
}
