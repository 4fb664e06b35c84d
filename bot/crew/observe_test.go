package crew_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/crew"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/tmux"
)

// A line that is typed between the list of the panes and the look at the screen is shown there beside the prompt: it begins
// a turn, and the program must not be restarted as one whose turn has ended once more.
func TestALineThatIsTypedDuringALookEndsNoTurn(t *testing.T) {
	const launch = orchestrator.Launch("1-build-api-1")
	c, _, pane := quietPane(t, launch, `? for shortcuts\n`)
	if c.LookAtScreen(t.Context(), launch, pane) == "" {
		t.Error("the prompt on a quiet screen ends no turn")
	}
	pane.Activity = pane.Activity.Add(-time.Minute)
	if got := c.LookAtScreen(t.Context(), launch, pane); got != "" {
		t.Errorf("what came in since the list was taken for the end of a turn: %s", got)
	}
}

// A turn that ends without a submission may be a failure, as a long silence: its report has what is on the screen,
// without secrets, and that of a turn only until it was judged.
func TestTheEndOfATurnHasTheLastWordsOfItsScreen(t *testing.T) {
	const launch = orchestrator.Launch("1-build-api-1")
	secret := "ghp_" + strings.Repeat("aB3d", 9)
	c, st, pane := quietPane(t, launch, `I cannot go on: `+secret+`\n? for shortcuts\n`)
	out := c.Report(t.Context(), "build-api", launch, pane)
	if out.TurnEnded == "" || !strings.HasPrefix(out.Tail, "I cannot go on: ") || strings.Contains(out.Tail, secret) {
		t.Errorf("the end of a turn: %q, with %q", out.TurnEnded, out.Tail)
	}
	st.Seen["turn/"+string(launch)] = out.TurnEnded
	if again := c.Report(t.Context(), "build-api", launch, pane); again.TurnEnded != out.TurnEnded || again.Tail != "" {
		t.Errorf("a turn that was judged: %q, with %q", again.TurnEnded, again.Tail)
	}
	st.Counters["stall/"+string(launch)] = orchestrator.Counter{N: 1} // it was nudged
	if silent := c.Report(t.Context(), "build-api", launch, pane); silent.Tail != out.Tail {
		t.Errorf("an agent that is silent for too long, with %q", silent.Tail)
	}
}

// quietPane is a crew with one agent in a terminal, which has shown a screen an hour ago.
func quietPane(t *testing.T, launch orchestrator.Launch, screen string) (*crew.Crew, *orchestrator.State, tmux.Pane) {
	t.Helper()
	s, st := agentsRun(t)
	dir := s.Path("launches", string(launch))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(agent.Launch{Version: 1, Argv: []string{"claude"}, Mark: strings.Repeat("a", 32), Provider: "claude", Transport: agent.TUI})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, agent.LaunchFile), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := os.MkdirTemp("", "amx") // short: a socket lies below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtime) })
	providers, problems := agent.Load(nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c := crew.New(crew.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }, Redactor: redact.New(), RuntimeDir: runtime, Environ: os.LookupEnv}, crew.Spec{Session: s, State: st, Config: &config.Config{}, Providers: providers})
	if err := c.Open(st); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Server().KillServer(context.Background()) })
	panes, err := c.Server().Ensure(t.Context(), tmux.SessionSpec{Name: "s", Window: tmux.WindowSpec{
		Name: "w", Dir: runtime, Command: []string{"/bin/sh", "-c", "printf '" + screen + "'; exec cat"},
		Options: map[string]string{"@agentmux_launch": string(launch)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	pane := panes[0]
	for text := ""; !strings.Contains(text, "shortcuts"); time.Sleep(10 * time.Millisecond) {
		if text, pane.Activity, err = c.Server().Screen(t.Context(), pane.ID); err != nil {
			t.Fatal(err)
		}
	}
	return c, st, pane
}
