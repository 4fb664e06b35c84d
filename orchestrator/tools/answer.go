package tools

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/toolset"
)

// Answer is what a caller is told. Its JSON is the structured part of a tool
// result; Text is what an agent or a person reads.
type Answer struct {
	OK       bool      `json:"ok"`
	Errors   []string  `json:"errors"`
	Warnings []string  `json:"warnings"`
	Phase    string    `json:"phase"`
	Messages []Pending `json:"messages"` // the first of the caller's undelivered ones

	Text  string `json:"-"` // with the errors and the messages
	Usage bool   `json:"-"` // no such tool: exit 2, not 1
}

// Pending is a message that waits for the caller.
type Pending struct {
	Type     string `json:"type"`
	From     string `json:"from"`
	Headline string `json:"headline"`
	File     string `json:"file"` // for msg_read
}

// shownMessages is how many waiting messages an answer lists.
const shownMessages = 3

func usage(format string, args ...any) Answer {
	a := refused(format, args...)
	a.Usage = true
	return a
}

func refused(format string, args ...any) Answer {
	text := fmt.Sprintf(format, args...)
	return Answer{Text: "refused: " + text, Errors: []string{text}}
}

// already answers a submission that was made before.
func (c *call) already(st *orchestrator.State) *Answer {
	return &Answer{OK: true, Phase: st.Phase, Warnings: c.warnings,
		Text: "already submitted: " + c.who.shown(c.seen, c.tool.Name) + " was recorded before. Stop now; the session continues."}
}

// refuse says why the session does not accept the call, and what it expects instead.
func (c *call) refuse(st *orchestrator.State, j duty.Judgement) *Answer {
	text := j.Reason
	if len(j.Expected) > 0 && c.tool.Submits {
		text += "; expected now: " + strings.Join(c.who.allShown(c.seen, j.Expected), ", ")
	}
	return &Answer{Phase: st.Phase, Errors: []string{text}, Warnings: c.warnings,
		Text: fmt.Sprintf("refused: %s (phase %s, tool %s). Nothing was recorded.", text, st.Phase, c.who.shown(c.seen, c.tool.Name))}
}

// invalid lists everything that is wrong with parameters or artifact.
func (c *call) invalid(st *orchestrator.State, problems []string) *Answer {
	return &Answer{Phase: st.Phase, Errors: problems, Warnings: c.warnings,
		Text: fmt.Sprintf("invalid: nothing was recorded. Correct this and call %s again:\n%s", c.who.shown(c.seen, c.tool.Name), strings.Join(problems, "\n"))}
}

// submitted says that the call counts: its line is on disk, and a submission is taken.
func (c *call) submitted(st *orchestrator.State) Answer {
	text := c.tool.Answer(c.payload.Topic, c.payload.ID)
	if !c.tool.Submits && !session.Running(c.who.Dir) {
		text += " " + c.nobody()
	}
	return c.accepted(st, text)
}

// recorded says that a submission is on disk and not taken yet.
func (c *call) recorded(st *orchestrator.State, why string) Answer {
	return c.accepted(st, "recorded: "+c.who.shown(c.seen, c.tool.Name)+" is on disk, and not taken yet. "+why+" Stop now.")
}

func (c *call) nobody() string {
	return "No host runs this session now: it is applied at the next agentmux resume " + c.s.Name() + "."
}

func (c *call) accepted(st *orchestrator.State, text string) Answer {
	if len(c.warnings) > 0 {
		text += "\nWarnings, accepted all the same:\n" + strings.Join(c.warnings, "\n")
	}
	return Answer{OK: true, Phase: st.Phase, Warnings: c.warnings, Text: text}
}

// withMessages ends an answer with the messages that wait for the caller.
func withMessages(who Caller, a Answer) Answer {
	c := &call{who: who}
	var waiting []orchestrator.Message
	if st, err := c.open(); err == nil {
		waiting = c.waiting(st)
	}
	return a.with(waiting, c.who.shown(c.seen, toolset.MsgRead))
}

// with adds the messages that wait for the caller, who reads one with a tool.
func (a Answer) with(waiting []orchestrator.Message, reader string) Answer {
	if a.Errors == nil {
		a.Errors = []string{}
	}
	if a.Warnings == nil {
		a.Warnings = []string{}
	}
	a.Messages = []Pending{}
	if len(waiting) == 0 {
		return a
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%d undelivered %s for you:", a.Text, len(waiting), plural(len(waiting), "message"))
	for _, m := range waiting[:min(len(waiting), shownMessages)] {
		a.Messages = append(a.Messages, Pending{Type: m.Type, From: post.Sender(m), Headline: m.Headline, File: m.File})
		fmt.Fprintf(&b, "\n- %s: %s (%s file=%q)", post.Announced(m), m.Headline, reader, filepath.Base(m.File))
	}
	a.Text = b.String()
	return a
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
