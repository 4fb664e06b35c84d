package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// trusted returns a *session.ForeignError for a session that was neither made on this machine
// nor taken over. Nothing in its directory is touched before that is settled.
func (a *app) trusted(ctx context.Context, dir string, backup bool) error {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	state, err := readSession(sess, backup)
	if err != nil {
		return err
	}
	a.project = sess.Project()
	s, err := a.cleaner(ctx)
	if err != nil {
		return err
	}
	return s.host.Trust(ctx, sess.Dir, state, s.config)
}

// believes reports whether a session of a listing is of this machine, and names one that is
// not.
func (a *app) believes(ctx context.Context, s *site, e session.Entry) (bool, error) {
	err := s.host.Trust(ctx, e.Dir, e.State, s.config)
	if foreign := (*session.ForeignError)(nil); errors.As(err, &foreign) {
		a.say("left alone: %v", foreign)
		return false, nil
	}
	return err == nil, err
}

// adopt shows a session that came from elsewhere and takes it if the person says so. Without a
// terminal the command itself is their word.
func (a *app) adopt(ctx context.Context, dir string) (session.Entry, error) {
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
	a.project = sess.Project()
	s, err := a.cleaner(ctx)
	if err != nil {
		return e, err
	}
	foreign := (*session.ForeignError)(nil)
	switch err := s.host.Trust(ctx, e.Dir, e.State, s.config); {
	case err == nil:
		a.say("%s is of this machine already", e.Name)
		return e, nil
	case !errors.As(err, &foreign):
		return e, err
	case foreign.Reason == session.ForeignTracked || foreign.Reason == session.ForeignLink:
		return e, foreign
	}
	for _, line := range look(e.Dir, e.State) {
		a.say("%s", line)
	}
	if a.terminal {
		yes, err := a.ask(ctx, "Take it? What it asks for is done with your rights and your account.")
		if err == nil && !yes {
			err = errors.New("it was not taken")
		}
		if err != nil {
			return e, err
		}
	}
	if err := s.host.Adopt(ctx, e.Dir, s.config); err != nil {
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

// socketOf is where the tmux server of a session listens: as its host noted it, which may run
// with another runtime directory, if it has the name that is this session's.
func socketOf(dir string, s *orchestrator.State, r session.Runtime) string {
	if place.OwnSocket(r.Socket, dir, s) {
		return r.Socket
	}
	return ""
}

// begun refuses a session of an issue for which another command has made one since ours
// looked: people start twice what seems to do nothing.
func (s *site) begun(ctx context.Context, repo ghsync.Repo, number int) error {
	entries, err := session.List(s.project)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ofIssue(e, repo, number) && (e.Running || unfinished(e)) && s.host.Trust(ctx, e.Dir, e.State, s.config) == nil {
			return atWork(e)
		}
	}
	return nil
}
