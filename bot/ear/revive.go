package ear

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// revival tells what a retry of a session that has ended leads to: a line for it, which keeps its work, or another
// session, if this one cannot continue or the issue says something else since. The run of an agents file has another way
// to try again, which its owner tells.
func (j *judgement) revival(ctx context.Context) (deed, error) {
	if j.s.Agent != "" {
		return again, nil
	}
	var refused *command.RefusedError
	switch err := j.foreseen(orchestrator.Payload{Name: j.order.Verb, Actor: j.w.author.Login, Source: "issue", SourceID: j.w.source}); {
	case errors.As(err, &refused):
		return again, nil
	case err != nil:
		return refuse, err
	}
	edited, err := j.textEdited(ctx)
	if err != nil {
		return refuse, err
	}
	if edited {
		return again, nil
	}
	return line, nil
}

// textEdited reports whether title or body of the issue are others than those that the session works from.
func (j *judgement) textEdited(ctx context.Context) (bool, error) {
	sess, err := session.Open(j.s.Dir)
	if err != nil {
		return false, err
	}
	data, err := session.ReadFile(sess.Path(session.SnapshotFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var text ghsync.Snapshot
	if err == nil {
		text, err = ghsync.ParseSnapshot(data)
	}
	if err != nil {
		return false, fmt.Errorf("read issue snapshot: %w", err)
	}
	issue, err := j.o.Client.Issue(ctx, j.where(), j.s.Issue)
	if transport.IsNotFound(err) {
		return true, nil // the gate says so
	}
	return err == nil && text.Edited(issue.Title, issue.Body), err
}
