package monitor

import (
	"reflect"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/orchestrator"
	tea "github.com/charmbracelet/bubbletea"
)

// refreshEvery is how often the session directory is read.
const refreshEvery = time.Second

// refreshed is the result of reading the session once.
type refreshed struct {
	view View
	err  error
}

// sent is what happened to a command.
type sent struct {
	name   string
	became string
	err    error
}

// left is the result of detaching the terminal.
type left struct{ err error }

type tick struct{}

// model is the program's state; the terminal's loop owns it.
type model struct {
	reader  *reader
	send    func(orchestrator.Payload) (string, error)
	detach  func() error // nil: quit
	now     func() time.Time
	palette paint.Palette

	view          View
	err           error // of the last read
	width, height int
	input         *input // open one-line input, nil when none
	told          string // what happened to the last command
	bad           bool
	picture       string // drawn from the fields above; "" before the first message
}

func (m model) Init() tea.Cmd { return m.refresh }

// refresh reads the session. Only one read runs at a time: the next one starts after its result
// has arrived.
func (m model) refresh() tea.Msg {
	v, err := m.reader.view(m.now())
	return refreshed{view: v, err: err}
}

func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tick:
		return m, m.refresh
	case refreshed:
		cmd = tea.Tick(refreshEvery, func(time.Time) tea.Msg { return tick{} })
		// Drawing costs much more than reading, and mostly nothing has changed.
		if m.err == nil && msg.err == nil && reflect.DeepEqual(m.view, msg.view) {
			return m, cmd
		}
		if m.err = msg.err; m.err == nil {
			m.view = msg.view
		}
	case sent:
		m.told, m.bad = msg.name+": "+plain(msg.became), false
		if msg.err != nil {
			m.told, m.bad = msg.name+": "+plain(msg.err.Error()), true
		}
	case left:
		if m.told = ""; msg.err != nil {
			m.told, m.bad = "detach: "+plain(msg.err.Error()), true
		}
	case tea.KeyMsg:
		m, cmd = m.key(msg)
	}
	m.picture = m.draw()
	return m, cmd
}

func (m model) View() string {
	if m.picture == "" {
		return m.draw()
	}
	return m.picture
}

func (m model) draw() string {
	s := screen{width: m.width, height: m.height, palette: m.palette, status: m.status()}
	if m.view.Session == "" && m.err == nil {
		return "reading the session…\n"
	}
	// The end of the last line would be one line more, and the first would leave the terminal.
	return strings.TrimSuffix(draw(m.view, s), "\n")
}

// status is what the monitor itself has to say.
func (m model) status() []line {
	var lines []line
	if m.err != nil {
		lines = append(lines, plainLine("cannot read the session: "+plain(m.err.Error()), paint.Bad))
	}
	if m.input != nil {
		return append(lines, m.input.lines(max(m.width, minWidth))...)
	}
	if m.told != "" {
		i := paint.Good
		if m.bad {
			i = paint.Bad
		}
		lines = append(lines, plainLine(m.told, i))
	}
	return lines
}
