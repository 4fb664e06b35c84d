package request

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// ShownBefore reports whether the issue has a comment with the marker of a session.
func (j *Judged) ShownBefore() bool {
	return slices.ContainsFunc(j.Record.Comments, func(c ghsync.Comment) bool {
		_, marked := ghsync.ParseMarker(c.Body)
		return marked
	})
}

// OpenPull refuses an issue that has an open pull request of an earlier session.
func (j Judge) OpenPull(ctx context.Context, of *Judged) error {
	pull, err := j.GitHub.OpenPullOf(ctx, of.Repo, of.Record.Issue.Number)
	if err != nil || pull == nil {
		return err
	}
	return refuse(fmt.Errorf("%s has the open pull request #%d, %s; agentmux resume '#%d' --changes \"...\" in the clone of its session has it changed, --new starts another",
		of, pull.Number, pull.URL, of.Record.Issue.Number))
}

// An ElsewhereError says that the label of an issue names a running session.
type ElsewhereError struct {
	issue, label, host string
	session            string // "" if no comment names it
	comment            ghsync.Comment
}

func (e *ElsewhereError) Error() string {
	where := "another host"
	if e.host != "" {
		where = "host " + e.host
	}
	shown := ""
	if e.session != "" {
		shown = fmt.Sprintf(", session %s, last shown at %s, %s", e.session, e.comment.EditedAt.Local().Format("2006-01-02 15:04"), e.comment.URL)
	}
	return fmt.Sprintf("%s has the label %s: %s works on it%s; agentmux attach there joins it, --take starts here if that host is gone",
		e.issue, e.label, where, shown)
}

// Among reports whether the session is one of entries. The caller has checked that none of
// them runs.
func (e *ElsewhereError) Among(entries []session.Entry) bool {
	return e.session != "" && slices.ContainsFunc(entries, func(s session.Entry) bool { return s.State != nil && s.State.SessionID == e.session })
}

// Elsewhere returns the session that runs according to the issue's label; nil without the label.
func (j Judge) Elsewhere(ctx context.Context, of *Judged) (*ElsewhereError, error) {
	label := ghsync.RunningLabel(j.Rules.Bot.Label)
	if !of.Record.Issue.HasLabel(label) {
		return nil, nil
	}
	id, host, comment, err := j.GitHub.StatusOf(ctx, of.Record)
	if err != nil {
		return nil, err
	}
	return &ElsewhereError{issue: of.String(), label: label, host: host, session: id, comment: comment}, nil
}
