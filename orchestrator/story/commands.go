package story

import (
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// CommandResult is what became of a command.
type CommandResult string

// Results of commands. Those of a say are what became of its message.
const (
	CommandApplied   CommandResult = "applied"
	CommandRefused   CommandResult = "refused"
	CommandQueued    CommandResult = "queued"
	CommandDelivered CommandResult = "delivered"
	CommandLost      CommandResult = "lost"
)

// Command is a command of a person.
type Command struct {
	SourceID  string // of the one who gave it
	At        time.Time
	Actor     string
	Name      string
	To        string // the agent that a say is for
	Result    CommandResult
	Reason    string    // of a refused or lost one
	Delivered time.Time // of a delivered one

	message        int // number of the message that carries a say; 0: none
	expectsMessage bool
}

// Commands are those of a session's whole life, oldest first.
type Commands []Command

// Fold takes in one record.
func (c *Commands) Fold(e orchestrator.Event) {
	switch d := e.Data.(type) {
	case orchestrator.CommandAppliedRecord:
		*c = append(*c, Command{SourceID: d.SourceID, At: e.TS.Time, Actor: d.Actor, Name: d.Name, Result: CommandApplied, expectsMessage: d.Name == "say"})
	case orchestrator.CommandRefusedRecord:
		*c = append(*c, Command{SourceID: d.SourceID, At: e.TS.Time, Actor: d.Actor, Name: d.Name, Result: CommandRefused, Reason: d.Reason})
	case orchestrator.MsgQueuedRecord:
		c.queued(d)
	case orchestrator.MsgDeliveredRecord:
		if command := c.of(d.Seq); command != nil {
			command.Result, command.Delivered = CommandDelivered, e.TS.Time
		}
	case orchestrator.MsgAckedRecord: // an agent may read a message before it is delivered
		if command := c.of(d.Seq); command != nil && command.Result == CommandQueued {
			command.Result, command.Delivered = CommandDelivered, e.TS.Time
		}
	case orchestrator.MsgFailedRecord:
		c.lost(d.Seq, d.Reason)
	case orchestrator.MsgOrphanedRecord:
		c.lost(d.Seq, d.Reason)
	}
}

// Note takes in a line of commands.jsonl, if it is a note: what became of a command that never
// reached the session. With the name of an agent it takes those alone that are for that agent of an agents file.
func (c *Commands) Note(l orchestrator.Line, agent string) {
	p, err := l.Decode()
	results := map[string]CommandResult{orchestrator.NoteRefused: CommandRefused, orchestrator.NoteDone: CommandApplied}
	result, note := results[p.State]
	if err != nil || l.Corrupt != "" || l.Tool != orchestrator.CommandTool || !note || agent != "" && p.Args.Role != agent {
		return
	}
	*c = append(*c, Command{SourceID: p.SourceID, At: l.At.Time, Actor: p.Actor, Name: p.Name, Result: result, Reason: p.Reason})
}

// FollowUpsOver is the source of the note that an objection to the pull request leads to no further
// round of the session, and a person has to decide.
const FollowUpsOver = "followup/over"

// FollowUpsOver reports whether there is such a note since a time.
func (c Commands) FollowUpsOver(since time.Time) bool {
	return slices.ContainsFunc(c, func(c Command) bool { return c.SourceID == FollowUpsOver && !c.At.Before(since) })
}

// With returns the commands and those of another list, oldest first.
func (c Commands) With(other Commands) Commands {
	all := slices.Concat(c, other)
	slices.SortStableFunc(all, func(a, b Command) int { return a.At.Compare(b.At) })
	return all
}

// Asked reports whether a command of this name was done.
func (c Commands) Asked(name string) bool {
	return slices.ContainsFunc(c, func(c Command) bool { return c.Name == name && c.Result == CommandApplied })
}

// queued notes a message, which belongs to the say of the same commit.
func (c *Commands) queued(d orchestrator.MsgQueuedRecord) {
	n := len(*c)
	if n == 0 || !(*c)[n-1].expectsMessage {
		return
	}
	say := &(*c)[n-1]
	say.expectsMessage, say.message = false, d.Seq
	say.To, say.Result = strings.TrimPrefix(d.To, "pipeline/"), CommandQueued
}

func (c *Commands) lost(message int, reason string) {
	if command := c.of(message); command != nil {
		command.Result, command.Reason = CommandLost, reason
	}
}

func (c *Commands) of(message int) *Command {
	for i := range *c {
		if message != 0 && (*c)[i].message == message {
			return &(*c)[i]
		}
	}
	return nil
}
