package hosting

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
)

// Trusted returns the site of a session's project. It fails with a *register.ForeignError if the
// session was neither made on this machine nor taken over, before anything in its directory is
// touched. The site does not use GitHub until Finder.Connect.
func Trusted(ctx context.Context, a *site.Finder, dir string, backup bool) (*site.Site, error) {
	sess, err := session.Open(dir)
	if err != nil {
		return nil, err
	}
	state, err := readSession(sess, backup)
	if err != nil {
		return nil, err
	}
	a.Project = sess.Project()
	s, err := a.Cleaner(ctx)
	if err == nil {
		err = a.AtBase(ctx, s, state)
	}
	if err != nil {
		return nil, err
	}
	return s, s.Host.Trust(ctx, sess.Dir, state, s.Config)
}

// Believes reports whether a session of a listing was made on this machine or taken over, and
// tells the person of one that was not.
func Believes(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry) (bool, error) {
	err := s.Host.Trust(ctx, e.Dir, e.State, s.Config)
	if foreign := (*register.ForeignError)(nil); errors.As(err, &foreign) {
		a.Say("left alone: %v", foreign)
		return false, nil
	}
	return err == nil, err
}

// Adopt shows a session that was made elsewhere and takes it over if the person agrees. Without a
// terminal the command itself is the agreement. The site is as that of Trusted.
func Adopt(ctx context.Context, a *site.Finder, dir string) (session.Entry, *site.Site, error) {
	sess, err := session.Open(dir)
	if err != nil {
		return session.Entry{}, nil, err
	}
	e, err := session.Find(sess.Project(), sess.Dir, nil)
	if err == nil {
		err = e.Err
	}
	if err != nil {
		return e, nil, err
	}
	a.Project = sess.Project()
	s, err := a.Cleaner(ctx)
	if err != nil {
		return e, nil, err
	}
	if err := take(ctx, a, s, e); err != nil {
		return e, s, err
	}
	e, err = session.Find(sess.Project(), sess.Dir, nil)
	return e, s, err
}

// take takes over a session if the person agrees, unless it is of this machine already.
func take(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry) error {
	foreign := (*register.ForeignError)(nil)
	switch err := s.Host.Trust(ctx, e.Dir, e.State, s.Config); {
	case err == nil:
		a.Say("%s is of this machine already", e.Name)
		return nil
	case !errors.As(err, &foreign):
		return err
	case foreign.Reason == register.Tracked || foreign.Reason == register.Link:
		return foreign
	}
	for _, line := range describe(e.Dir, e.State) {
		a.Say("%s", line)
	}
	if a.Terminal {
		yes, err := a.Ask(ctx, "Take it? What it asks for is done with your rights and your account.")
		if err == nil && !yes {
			err = errors.New("it was not taken")
		}
		if err != nil {
			return err
		}
	}
	return s.Host.Adopt(ctx, e.Dir, s.Config)
}

// describe lists what a person should know about a session that may come from anybody.
func describe(dir string, s *orchestrator.State) []string {
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
