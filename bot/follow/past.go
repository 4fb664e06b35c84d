package follow

import (
	"bytes"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// Past is what became of objections to a session's pull request so far.
type Past struct {
	Sources map[string]bool // those that led to a round
	Said    map[string]bool // those that any line names: also what was answered without the session
	Rounds  int
	Last    time.Time // when the last round was asked for
	Stopped bool      // a person wants no more of them
	Told    bool      // a person was told that no more follow
}

// noteDone is the state of a note in commands.jsonl about a command that was carried out without
// the session. A stop of an open pull request's session is one.
const noteDone = "done"

// origin says in a command who gave it: a follow-up, and not the person it names.
const origin = "follow-up"

// noteRefused is the state of one that was not carried out.
const noteRefused = "refused"

// separator is between the sources in the source id of a command.
const separator = ","

// PastOf reads the commands of the session in dir.
func PastOf(dir string) (Past, error) {
	s, err := session.Open(dir)
	if err != nil {
		return Past{}, err
	}
	p, cursor := newPast(), orchestrator.Cursor{}
	for more := true; more && err == nil; {
		var lines []orchestrator.Line
		lines, more, err = s.Lines(session.Commands, cursor, 0)
		for _, l := range lines {
			cursor = l.Cursor
			p.add(l)
		}
	}
	return p, err
}

// PastIn is PastOf for a commands.jsonl that is not in a directory here.
func PastIn(commands []byte) Past {
	p := newPast()
	for line := range bytes.Lines(commands) {
		p.add(session.ParseLine(bytes.TrimRight(line, "\n")))
	}
	return p
}

func newPast() Past { return Past{Sources: map[string]bool{}, Said: map[string]bool{}} }

// add takes in one line.
func (p *Past) add(l orchestrator.Line) {
	said, err := l.Decode()
	if err != nil || l.Corrupt != "" {
		return
	}
	for source := range strings.SplitSeq(said.SourceID, separator) {
		p.Said[source] = true
	}
	switch {
	case said.SourceID == story.FollowUpsOver:
		p.Told = true
	case said.Name == "stop" && said.State == noteDone:
		p.Stopped = true
	case said.State == "" || said.State == "accepted":
		p.command(said, l.At.Time)
	}
}

// command takes in a command to the session. That of a person in the body of a review names the
// review as its source, and the review is done with.
func (p *Past) command(said orchestrator.Payload, at time.Time) {
	for source := range strings.SplitSeq(said.SourceID, separator) {
		p.Sources[source] = true
	}
	if said.Origin == origin {
		p.Rounds++
		p.Last = at
	}
}
