package monitor_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/monitor"
	"github.com/agentmux/agentmux/orchestrator"
	tea "github.com/charmbracelet/bubbletea"
)

// press gives keys to the monitor and carries out what they ask for; names longer
// than one character are special keys.
func press(t *testing.T, m tea.Model, keys ...string) (after tea.Model, quit bool) {
	t.Helper()
	special := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "back": tea.KeyBackspace, "ctrl+c": tea.KeyCtrlC}
	for _, key := range keys {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(key)}
		if kind, ok := special[key]; ok {
			msg = tea.KeyMsg{Type: kind}
		}
		var cmd tea.Cmd
		m, cmd = m.Update(msg)
		if cmd == nil {
			continue
		}
		result := cmd()
		if _, ok := result.(tea.QuitMsg); ok {
			return m, true
		}
		m, _ = m.Update(result)
	}
	return m, false
}

func describe(p orchestrator.Payload) string {
	out := p.Name
	for _, arg := range []string{p.Args.ID, p.Args.Text} {
		if arg != "" {
			out += " " + arg
		}
	}
	return out
}

func TestKeysBecomeCommands(t *testing.T) {
	paused := planned()
	paused.state.Paused = true
	stopped := ended() // in a round that was asked of its pull request
	stopped.state.Phase, stopped.state.Outcome = orchestrator.PhaseFailed, orchestrator.OutcomeCanceled
	for _, c := range []struct {
		name    string
		picture picture
		keys    string
		want    string
	}{
		{"approve", gated(), "a", "approve"},
		{"approve without a gate", planned(), "a", ""},
		{"changes", gated(), "c|k|e|e|x|back|p| |i|t|enter", "changes keep it"},
		{"changes dropped", gated(), "c|k|e|esc|enter", ""},
		{"changes blank", gated(), "c| |enter", ""},
		{"changes while it works", planned(), "c|x|enter", ""},
		{"keys inside an input are text", gated(), "c|a|s|q|enter", "changes asq"},
		{"pasted lines become one", gated(), "c|one\ntwo\x1b[31m|enter", "changes one two[31m"},
		{"changes of a pull request", ended(), "c|x|enter", "changes x"},
		{"changes of a round that was stopped", stopped, "c|x|enter", ""},
		{"option", asking(), "2", "answer q1 2"},
		{"a key without an option", asking(), "3", ""},
		{"typed answer", asking(), "t|n|o|enter", "answer q1 no"},
		{"answer without a question", planned(), "t|n|enter", ""},
		{"pause", planned(), "p", "pause"},
		{"pause twice", paused, "p", ""},
		{"resume", paused, "r", "resume"},
		{"retry", planned(), "r", "retry"},
		{"retry a parked one", parked(), "r", "retry"},
		{"retry an ended one", ended(), "r", ""},
		{"stop", planned(), "s|y", "stop"},
		{"stop not meant", planned(), "s|n", ""},
		{"stop an ended one", ended(), "s|y", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			m := monitor.NewModel(c.picture.view(), func(p orchestrator.Payload) (string, error) {
				if p.Source != "monitor" {
					t.Errorf("source %q, want monitor", p.Source)
				}
				got = append(got, describe(p))
				return "done", nil
			})
			if _, quit := press(t, m, strings.Split(c.keys, "|")...); quit {
				t.Error("the monitor quit")
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("sent %q, want %q", s, c.want)
			}
		})
	}
}

func TestQuitKeys(t *testing.T) {
	for _, key := range []string{"q", "ctrl+c"} {
		if _, quit := press(t, monitor.NewModel(planned().view(), nil), key); !quit {
			t.Errorf("%s does not quit", key)
		}
	}
}

func TestInputAndFateOfACommandAreShown(t *testing.T) {
	m := monitor.NewModel(gated().view(), func(orchestrator.Payload) (string, error) { return "", errors.New("the log is\x1b[2J busy") })
	m, _ = press(t, m, "c", "w", "h", "y")
	if text := m.View(); !strings.Contains(text, "What is to be changed?") || !strings.Contains(text, "> why_") {
		t.Errorf("the open input is not shown:\n%s", text)
	}
	m, _ = press(t, m, "enter")
	if text := m.View(); !strings.Contains(text, "changes: the log is[2J busy") {
		t.Errorf("the failure is not shown, or not cleaned:\n%s", text)
	}
	m, _ = press(t, m, "s")
	if text := m.View(); !strings.Contains(text, "Stop the session? Its work is kept. [y/N]") {
		t.Errorf("stop does not ask:\n%s", text)
	}
}
