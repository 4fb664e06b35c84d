package keys_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/crew/keys"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/signal"
)

// A turn is a person's by a key that was pressed in it, or by a line that the host has not sent.
func TestProtocolP22InWhichTurnAPersonTookPart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, agent.LaunchFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now().Truncate(time.Second)
	if err := os.Chtimes(filepath.Join(dir, agent.LaunchFile), began, began); err != nil {
		t.Fatal(err)
	}
	after := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	lines := func(texts ...string) (list []signal.Line) {
		for i, text := range texts {
			list = append(list, signal.Line{Turn: i + 1, Text: text})
		}
		return list
	}
	first, told := agent.Opening+"/s/prompt.md", "New update from system: read @/s/msgs/1.md and act on it."
	for name, c := range map[string]struct {
		status  signal.Status
		pressed time.Time
		want    int
	}{
		"nobody":                   {signal.Status{Lines: lines(first, told)}, time.Time{}, 0},
		"a line without its text":  {signal.Status{Lines: lines("")}, time.Time{}, 0},
		"a line of a person":       {signal.Status{Lines: lines(first, "go on", told)}, time.Time{}, 2},
		"words like those of ours": {signal.Status{Lines: lines(first, "New idea: read @README.md")}, time.Time{}, 2},
		"a key in the first turn":  {signal.Status{}, after(5), 1},
		"a key in the third turn":  {signal.Status{Ended: []time.Time{after(2), after(4)}}, after(5), 3},
		"a key as a turn ends":     {signal.Status{Ended: []time.Time{after(5)}}, after(5), 1},
		"a key in an earlier turn": {signal.Status{Ended: []time.Time{after(2), after(6)}}, after(5), 2},
		"a key before the launch":  {signal.Status{}, after(-1), 0},
		"a key and a later line":   {signal.Status{Lines: lines(first, "go on"), Ended: []time.Time{after(6)}}, after(5), 2},
		"a line and a later key":   {signal.Status{Lines: lines("go on"), Ended: []time.Time{after(4)}}, after(5), 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (keys.Launch{Dir: dir, Session: "/s"}).Turn(c.status, c.pressed); got != c.want {
				t.Errorf("turn %d, want %d", got, c.want)
			}
		})
	}
}
