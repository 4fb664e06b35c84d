package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/toolset"
)

// Waiting returns the messages to the caller that were not delivered yet, in
// the order in which they came.
func Waiting(who Caller) ([]orchestrator.Message, error) {
	c := &call{who: who}
	st, err := c.open()
	if err != nil {
		return nil, err
	}
	return c.waiting(st), nil
}

// waiting returns the messages that wait for the caller and can be read: the file of one that the host writes comes
// after the state that has it.
func (c *call) waiting(st *orchestrator.State) []orchestrator.Message {
	unwritten := c.unwritten(st)
	return slices.DeleteFunc(post.Waiting(c.def, st, c.who.key()), func(m orchestrator.Message) bool { return unwritten[m.File] })
}

// unwritten are the files that the host is about to write.
func (c *call) unwritten(st *orchestrator.State) map[string]bool {
	files := map[string]bool{}
	for _, e := range st.Pending {
		if e.Type == orchestrator.EffWriteFile {
			_, err := os.Lstat(c.s.Path(e.Args.Path))
			files[e.Args.Path] = errors.Is(err, fs.ErrNotExist)
		}
	}
	return files
}

// Notice is the line that hands waiting messages to an agent at the end of its
// turn; it is empty when none wait.
func Notice(who Caller) (string, error) {
	waiting, err := Waiting(who)
	if err != nil {
		return "", err
	}
	lines := make([]string, len(waiting))
	for i, m := range waiting {
		lines[i] = Line(who.Dir, m)
	}
	return strings.Join(lines, "\n"), nil
}

// Line is the line that announces one message to an agent.
func Line(dir string, m orchestrator.Message) string {
	return post.Line(filepath.Join(dir, m.File), m)
}

// reading holds the tools that may answer without leaving a line.
var reading = map[string]func(*call, *orchestrator.State) Answer{
	toolset.MsgList: (*call).listMessages,
	toolset.MsgRead: (*call).readMessage,
}

const defaultListed = 20

func (c *call) listMessages(st *orchestrator.State) Answer {
	if len(c.problems) > 0 {
		return *c.invalid(st, c.problems)
	}
	limit := c.limit
	if limit <= 0 {
		limit = defaultListed
	}
	found := slices.DeleteFunc(post.Of(c.def, st.Messages, c.who.key()), func(m orchestrator.Message) bool { return c.unread && !m.AckedAt.IsZero() })
	if n := limit - len(found); n > 0 && !c.unread {
		found = append(c.ended(st, n, func(orchestrator.Message) bool { return true }), found...)
	}
	if n := len(found) - limit; n > 0 {
		found = found[n:]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", len(found), plural(len(found), "message"))
	for _, m := range found {
		fmt.Fprintf(&b, "\n- %s: %s from %s, %s: %s", path.Base(m.File), m.Type, post.Sender(m), m.State, m.Headline)
	}
	return Answer{OK: true, Phase: st.Phase, Warnings: c.warnings, Text: b.String()}
}

// ended returns the last messages to the caller that have left the state and are wanted, at most limit.
// Without their log only those in the state are shown.
func (c *call) ended(st *orchestrator.State, limit int, wanted func(orchestrator.Message) bool) []orchestrator.Message {
	here := map[int]bool{}
	for i := range st.Messages {
		here[st.Messages[i].Seq] = true
	}
	list, _ := postbox.Last(c.s.Path(session.MessagesLog), limit, func(m orchestrator.Message) bool {
		return !here[m.Seq] && wanted(m) && len(post.Of(c.def, []orchestrator.Message{m}, c.who.key())) == 1
	})
	return list
}

// readMessage shows a message and acknowledges it. After the end of the session it
// acknowledges nothing.
func (c *call) readMessage(st *orchestrator.State) Answer {
	if len(c.problems) > 0 {
		return *c.invalid(st, c.problems)
	}
	name := path.Base(c.payload.File)
	found := c.named(st, c.payload.File)
	if len(found) != 1 {
		a := refused("there is no message %s for you; %s shows yours", name, c.who.shown(c.seen, toolset.MsgList))
		if len(found) > 1 {
			a = refused("%s", post.Several(name, found))
		}
		a.Phase = st.Phase
		return a
	}
	m := found[0]
	writing := c.unwritten(st)[m.File] // asked before, since the file may come at any moment
	file, err := c.s.CheckArtifact(m.File, duty.ArtifactText)
	if err != nil || file.Data == nil {
		problem := strings.Join(file.Artifact.Problems, "; ")
		if writing {
			problem = "the host is writing it; call " + c.who.shown(c.seen, c.tool.Name) + " again in a moment"
		}
		a := refused("message %s cannot be read: %s", name, problem)
		a.Phase = st.Phase
		return a
	}
	if m.By == post.ByHand {
		c.warnings = append(c.warnings, "its file was made by hand: it is from "+post.Sender(m))
	}
	if m.SHA256 != "" && file.Artifact.SHA256 != m.SHA256 {
		c.warnings = append(c.warnings, "its file was changed after it was sent: it is not what "+m.From+" wrote")
	}
	c.payload = orchestrator.Payload{File: m.File}
	if m.AckedAt.IsZero() && !st.Ended() {
		if err := c.acknowledge(st); err != nil {
			c.warnings = append(c.warnings, "not acknowledged: "+err.Error())
		}
	}
	return Answer{OK: true, Phase: st.Phase, Warnings: c.warnings, Text: string(file.Data)}
}

// named returns the messages to the caller that a name may mean: the one with this file, else those with
// this msg-id. Those in the state come before those that have left it: the log is long after many messages.
func (c *call) named(st *orchestrator.State, name string) []orchestrator.Message {
	list := post.Of(c.def, st.Messages, c.who.key())
	if found := post.WithFile(list, name); len(found) > 0 {
		return found
	}
	if strings.HasSuffix(name, ".md") {
		file := func(m orchestrator.Message) bool { return path.Base(m.File) == path.Base(name) }
		if found := c.ended(st, 1, file); len(found) > 0 {
			return found
		}
	}
	if found := post.WithID(list, name); len(found) > 0 {
		return found
	}
	found := c.ended(st, -1, func(m orchestrator.Message) bool { return post.ID(m) == name })
	last := map[int]int{} // one that ended twice counts as it ended last
	for i, m := range found {
		last[m.Seq] = i
	}
	var each []orchestrator.Message
	for i, m := range found {
		if last[m.Seq] == i {
			each = append(each, m)
		}
	}
	return post.WithID(each, name)
}

func (c *call) acknowledge(st *orchestrator.State) error {
	return c.s.AppendSeen(session.ToolEvents, c.now, st, func(tail session.Tail) (*session.NewLine, error) {
		unread, err := tail.Unread()
		if err != nil || c.pending(unread) {
			return nil, err
		}
		return c.line(tail.State), nil
	})
}
