package tools

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// lookPause is the time between two looks for a commit of the session. A look asks for the
// attributes of one file.
const lookPause = 2 * time.Millisecond

// await returns the session's answer to the submission of a line: it is taken, or it has to be
// corrected. Where no answer comes the line stands, and the session reads it later. before is the
// state in which it was written.
func (c *call) await(ctx context.Context, before *orchestrator.State, line string) Answer {
	switch {
	case before.Paused:
		return c.recorded(before, "The session is paused: it is taken when somebody unpauses it.")
	case !session.Running(c.s.Dir):
		return c.recorded(before, c.nobody())
	}
	limit := c.who.Wait
	if limit == 0 {
		limit = duty.AnswerTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	records := c.s.Follow(before.Seq).FromEnd()
	for seen := os.FileInfo(nil); ; {
		// Each commit replaces the file. The one after the next may get the number of the first.
		now, err := os.Stat(c.s.Path(session.StateFile))
		if err == nil && (seen == nil || !os.SameFile(now, seen) || !now.ModTime().Equal(seen.ModTime())) {
			seen = now
			if answer := c.answered(before, records, line); answer != nil {
				return *answer
			}
		}
		select {
		case <-ctx.Done():
			return c.recorded(before, "The session has not answered: it is taken when the session comes to it.")
		case <-tick.C:
		}
	}
}

// answered returns what the records say about a line; nil if they say nothing yet.
func (c *call) answered(st *orchestrator.State, records *session.Follower, line string) *Answer {
	events, err := records.Read()
	if err != nil {
		return nil // the next commit is read again
	}
	for _, e := range events {
		switch d := e.Data.(type) {
		case orchestrator.SubmissionRecord:
			if d.Line == line {
				c.warnings = append(c.warnings, d.Warnings...)
				a := c.submitted(st)
				return &a
			}
		case orchestrator.InputRejectedRecord:
			if d.Line == line {
				return c.rejected(st, d.Errors)
			}
		case orchestrator.InputIgnoredRecord:
			if d.Line == line {
				return c.passedOver(st, d.Reason)
			}
		}
	}
	return nil
}

// rejected says what the session found wrong with the submission.
func (c *call) rejected(st *orchestrator.State, problems []string) *Answer {
	return &Answer{Phase: st.Phase, Errors: problems, Warnings: c.warnings, Text: fmt.Sprintf(
		"refused: %s was not taken. Correct this and call %s again:\n- %s", c.who.shown(c.seen, c.tool.Name), c.who.shown(c.seen, c.tool.Name), strings.Join(problems, "\n- "))}
}

// passedOver says why the submission has no effect.
func (c *call) passedOver(st *orchestrator.State, reason string) *Answer {
	if reason == duty.AlreadySubmitted {
		return c.already(st)
	}
	return &Answer{Phase: st.Phase, Errors: []string{reason}, Warnings: c.warnings, Text: fmt.Sprintf("refused: %s has no effect: %s", c.who.shown(c.seen, c.tool.Name), reason)}
}
