package notice_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/bot/notice"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/agents"
)

func state(change func(*orchestrator.State)) *orchestrator.State {
	s := &orchestrator.State{SessionID: "shop", Team: map[string]agents.Progress{"auth": {}, "basket": {}}}
	if change != nil {
		change(s)
	}
	return s
}

// A notice tells of a question, a failure and the end, each once, and of nothing else.
func TestNews(t *testing.T) {
	before := state(nil)
	mark := func(name, marker string) func(*orchestrator.State) {
		return func(s *orchestrator.State) { s.Team[name] = agents.Progress{Marker: marker} }
	}
	for name, c := range map[string]struct {
		now  func(*orchestrator.State)
		want []string
	}{
		"nothing": {nil, nil},
		"done":    {mark("auth", "0"), nil},
		"blocked": {mark("auth", "99"), nil},
		"failed":  {mark("auth", "3"), []string{"auth failed (exit 3)"}},
		"question": {func(s *orchestrator.State) {
			s.Questions = []orchestrator.Question{{ID: "q1", Task: "auth", Text: "$(rm -rf /)"}}
		}, []string{"auth asks a question"}},
		"end": {func(s *orchestrator.State) { s.Outcome, s.Phase = orchestrator.OutcomeDone, orchestrator.PhaseDone }, []string{"the run has ended: done"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := state(c.now)
			if got := notice.News(before, now); !slices.Equal(got, c.want) {
				t.Errorf("news %q, want %q", got, c.want)
			}
			if got := notice.News(now, now); len(got) != 0 {
				t.Errorf("told again: %q", got)
			}
		})
	}
}

// The program of the desktop gets title and text as arguments, and no variable of the host that it
// does not need.
func TestBoardShowsNotices(t *testing.T) {
	dir := t.TempDir()
	shown := filepath.Join(dir, "shown")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" \"$AGENTMUX_GITHUB_TOKEN\" > '" + shown + "'\n"
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	b := notice.New(state(nil), func(name string) (string, bool) {
		value, ok := map[string]string{"PATH": dir + ":/usr/bin:/bin", "AGENTMUX_GITHUB_TOKEN": "secret"}[name]
		return value, ok
	})
	now := state(func(s *orchestrator.State) { s.Team["auth"] = agents.Progress{Marker: "1"} })
	b.Look(now)
	b.Look(now)
	b.Close()
	if text, err := os.ReadFile(shown); err != nil || string(text) != "--app-name=agentmux\n--\nagentmux: shop\nauth failed (exit 1)\n\n" {
		t.Errorf("shown %q, %v", text, err)
	}
	var none notice.Board
	none.Look(now)
	none.Close()
}
