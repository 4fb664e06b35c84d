package hosting

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Trusted returns a *session.ForeignError for a session that was neither made on this machine
// nor taken over. Nothing in its directory is touched before that is settled.
func Trusted(ctx context.Context, a *site.Finder, dir string, backup bool) error {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	state, err := readSession(sess, backup)
	if err != nil {
		return err
	}
	a.Project = sess.Project()
	s, err := a.Cleaner(ctx)
	if err != nil {
		return err
	}
	return s.Host.Trust(ctx, sess.Dir, state, s.Config)
}

// Believes reports whether a session of a listing is of this machine, and names one that is
// not.
func Believes(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry) (bool, error) {
	err := s.Host.Trust(ctx, e.Dir, e.State, s.Config)
	if foreign := (*session.ForeignError)(nil); errors.As(err, &foreign) {
		a.Say("left alone: %v", foreign)
		return false, nil
	}
	return err == nil, err
}

// Adopt shows a session that came from elsewhere and takes it if the person says so. Without a
// terminal the command itself is their word.
func Adopt(ctx context.Context, a *site.Finder, dir string) (session.Entry, error) {
	sess, err := session.Open(dir)
	if err != nil {
		return session.Entry{}, err
	}
	e, err := session.Find(sess.Project(), sess.Dir, nil)
	if err != nil {
		return e, err
	}
	if e.Err != nil {
		return e, e.Err
	}
	a.Project = sess.Project()
	s, err := a.Cleaner(ctx)
	if err != nil {
		return e, err
	}
	foreign := (*session.ForeignError)(nil)
	switch err := s.Host.Trust(ctx, e.Dir, e.State, s.Config); {
	case err == nil:
		a.Say("%s is of this machine already", e.Name)
		return e, nil
	case !errors.As(err, &foreign):
		return e, err
	case foreign.Reason == session.ForeignTracked || foreign.Reason == session.ForeignLink:
		return e, foreign
	}
	for _, line := range look(e.Dir, e.State) {
		a.Say("%s", line)
	}
	if a.Terminal {
		yes, err := a.Ask(ctx, "Take it? What it asks for is done with your rights and your account.")
		if err == nil && !yes {
			err = errors.New("it was not taken")
		}
		if err != nil {
			return e, err
		}
	}
	if err := s.Host.Adopt(ctx, e.Dir, s.Config); err != nil {
		return e, err
	}
	return session.Find(sess.Project(), sess.Dir, nil)
}

// look is what a person should know of a session that somebody else may have written.
func look(dir string, s *orchestrator.State) []string {
	or := func(text, otherwise string) string {
		if text == "" {
			return otherwise
		}
		return text
	}
	issue := "none"
	if s.IssueNumber > 0 {
		issue = fmt.Sprintf("#%d of %s", s.IssueNumber, or(string(s.Repo), "no repository"))
	}
	lines := []string{
		"session    " + filepath.Base(dir) + " in " + dir,
		"phase      " + s.Phase + " " + string(s.Outcome),
		"issue      " + issue + ", which it may comment on",
		"branch     " + or(s.FeatureBranch, "none") + ", from " + or(s.BaseSHA, "the clone as it is"),
		"workflow   " + or(s.Workflow, "that of the earlier tool"),
	}
	if s.ChangeRequest != "" {
		lines = append(lines, "asked for  "+string(s.ChangeRequest))
	}
	return append(lines, "request    "+filepath.Join(dir, session.RequirementsFile)+", prompts and artifacts beside it: read them first")
}
