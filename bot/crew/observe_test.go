package crew_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/crew"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/tmux"
)

// A line that is typed between the list of the panes and the look at the screen is shown there beside the prompt: it begins
// a turn, and the program must not be restarted as one whose turn has ended once more.
func TestALineThatIsTypedDuringALookEndsNoTurn(t *testing.T) {
	s, st := agentsRun(t)
	const launch = orchestrator.Launch("1-build-api-1")
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
	defer os.RemoveAll(runtime)
	providers, problems := agent.Load(nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c := crew.New(crew.Options{Now: time.Now, RuntimeDir: runtime, Environ: os.LookupEnv}, crew.Spec{Session: s, State: st, Config: &config.Config{}, Providers: providers})
	if err := c.Open(st); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Server().KillServer(t.Context()) }()
	panes, err := c.Server().Ensure(t.Context(), tmux.SessionSpec{Name: "s", Window: tmux.WindowSpec{
		Name: "w", Dir: runtime, Command: []string{"/bin/sh", "-c", "printf '? for shortcuts\\n'; exec cat"},
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
	if c.LookAtScreen(t.Context(), launch, pane) == "" {
		t.Error("the prompt on a quiet screen ends no turn")
	}
	pane.Activity = pane.Activity.Add(-time.Minute)
	if got := c.LookAtScreen(t.Context(), launch, pane); got != "" {
		t.Errorf("what came in since the list was taken for the end of a turn: %s", got)
	}
}
