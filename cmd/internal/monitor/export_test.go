package monitor

import (
	"io"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/orchestrator"
	tea "github.com/charmbracelet/bubbletea"
)

// NewModel is the program's model with a view that is there already.
func NewModel(v View, send func(orchestrator.Payload) (string, error)) tea.Model {
	return model{view: v, send: send, now: time.Now, width: 80, height: 40}
}

// Painted draws a view as out would show it.
func Painted(v View, width, height int, out io.Writer) string {
	return draw(v, screen{width: width, height: height, palette: paint.New(out)})
}

// Pass filters the texts of a view.
func Pass(v *View, shown func(string) string) { v.pass(shown) }
