package agent

import (
	"strings"

	"github.com/agentmux/agentmux/internal/agent/signal"
)

// Screen reads a program's state from what it shows, for programs without hooks and as a last
// resort. The state is Working when text has a busy mark, Idle when it has only a ready mark,
// else "".
func (p Provider) Screen(text string) signal.State {
	for _, mark := range p.Busy {
		if strings.Contains(text, mark) {
			return signal.Working
		}
	}
	for _, mark := range p.Ready {
		if strings.Contains(text, mark) {
			return signal.Idle
		}
	}
	return ""
}
