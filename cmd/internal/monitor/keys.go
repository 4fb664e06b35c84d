package monitor

import (
	"errors"
	"strconv"

	"github.com/agentmux/agentmux/orchestrator"
	tea "github.com/charmbracelet/bubbletea"
)

// maxOptions is how many options of a question have a key.
const maxOptions = 6

var errNoSender = errors.New("this monitor only shows")

// actions are the keys and what they do.
var actions = map[string]func(model) (model, tea.Cmd){
	"a": model.approve,
	"c": model.changes,
	"t": model.typeAnswer,
	"p": model.pause,
	"r": model.goOn,
	"s": model.stop,
}

func (m model) key(msg tea.KeyMsg) (model, tea.Cmd) {
	if m.input != nil {
		open, cmd := m.input.key(msg)
		if !open {
			m.input = nil
		}
		return m, cmd
	}
	name := msg.String()
	if name == "q" || name == "ctrl+c" {
		return m, m.leave()
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= maxOptions {
		return m.option(n)
	}
	if act, ok := actions[name]; ok {
		m.told = ""
		return act(m)
	}
	return m, nil
}

// leave ends the monitor, or detaches the person from one that stays.
func (m model) leave() tea.Cmd {
	if m.detach == nil {
		return tea.Quit
	}
	return func() tea.Msg { return left{m.detach()} }
}

// command sends a command while the screen stays responsive.
func (m model) command(name string, args orchestrator.CommandArgs) tea.Cmd {
	send := m.send
	return func() tea.Msg {
		if send == nil {
			return sent{name: name, err: errNoSender}
		}
		became, err := send(orchestrator.Payload{Name: name, Args: args, Source: "monitor"})
		return sent{name: name, became: became, err: err}
	}
}

func (m model) say(text string) (model, tea.Cmd) {
	m.told, m.bad = text, true
	return m, nil
}

func (m model) approve() (model, tea.Cmd) {
	if m.view.Gate == "" {
		return m.say("nothing waits for approval")
	}
	return m, m.command("approve", orchestrator.CommandArgs{Of: m.view.Digest})
}

func (m model) changes() (model, tea.Cmd) {
	if m.view.Gate == "" && !m.view.Parked && !m.view.More {
		return m.say("changes can be asked for at a gate, or of a session that is done and has a pull request")
	}
	m.input = &input{label: "What is to be changed?", commit: func(text string) tea.Cmd {
		return m.command("changes", orchestrator.CommandArgs{Text: text})
	}}
	return m, nil
}

// option answers the open question with one of its options.
func (m model) option(n int) (model, tea.Cmd) {
	q := m.view.Question
	if q == nil || n > len(q.Options) {
		return m, nil
	}
	return m, m.answer(q.ID, strconv.Itoa(n))
}

func (m model) typeAnswer() (model, tea.Cmd) {
	q := m.view.Question
	if q == nil {
		return m.say("no question is open")
	}
	id := q.ID
	m.input = &input{label: "Your answer to " + id, commit: func(text string) tea.Cmd { return m.answer(id, text) }}
	return m, nil
}

func (m model) answer(id, text string) tea.Cmd {
	return m.command("answer", orchestrator.CommandArgs{ID: id, Text: text})
}

func (m model) pause() (model, tea.Cmd) {
	if m.view.Outcome != nil || m.view.Paused {
		return m.say("there is nothing to pause")
	}
	return m, m.command("pause", orchestrator.CommandArgs{})
}

// goOn resumes a paused session, else restarts a failed or stalled agent.
func (m model) goOn() (model, tea.Cmd) {
	switch {
	case m.view.Paused:
		return m, m.command("resume", orchestrator.CommandArgs{})
	case m.view.Outcome != nil && !m.view.Parked:
		return m.say("the session has ended")
	}
	return m, m.command("retry", orchestrator.CommandArgs{})
}

func (m model) stop() (model, tea.Cmd) {
	if m.view.Outcome != nil && !m.view.Parked {
		return m.say("the session has ended")
	}
	m.input = &input{label: "Stop the session? Its work is kept.", yesNo: true, commit: func(string) tea.Cmd {
		return m.command("stop", orchestrator.CommandArgs{})
	}}
	return m, nil
}
