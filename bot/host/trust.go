package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
)

// register returns this machine's notes of its sessions.
func (h *Host) register() register.Register { return register.Open(h.StateHome) }

// Trust returns a *register.ForeignError unless the session in dir, whose state is s, was made
// on this machine or taken over by Adopt: a session directory that came with a repository or an
// archive may say anything. A session of a version without notes is recognized by the ref with
// which its host kept its base.
func (h *Host) Trust(ctx context.Context, dir string, s *orchestrator.State, c *config.Config) error {
	if err := h.untracked(ctx, dir, c); err != nil {
		return err
	}
	if !work.Older(dir, s) {
		_, err := h.register().Vouch(dir, s)
		return err
	}
	note, err := h.register().Read(place.FormerID(dir))
	switch {
	case err == nil && note.Path == dir:
		return nil // its host was killed before its state had the rest
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	foreign := &register.ForeignError{Name: filepath.Base(dir), Dir: dir, Reason: register.Unknown}
	if s.IsClassic() {
		return foreign
	}
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	p, err := h.projectOf(ctx, sess, c)
	if err != nil {
		return err
	}
	base, err := p.Store.Ref(ctx, gitrepo.StartRef(place.Of(dir, s).String()))
	if err == nil && base == "" {
		err = foreign
	}
	return err
}

// untracked refuses a session that has files under git's control, and one behind a link: this
// program has made neither where it is now.
func (h *Host) untracked(ctx context.Context, dir string, c *config.Config) error {
	foreign := &register.ForeignError{Name: filepath.Base(dir), Dir: dir}
	for at, n := dir, 0; n < 3; at, n = filepath.Dir(at), n+1 {
		if info, err := os.Lstat(at); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			foreign.Reason, foreign.Place = register.Link, at
			return errors.Join(err, foreign)
		}
	}
	project := filepath.Dir(filepath.Dir(filepath.Dir(dir)))
	if _, managed := h.Projects().ManagedRepo(project, c); managed {
		return nil
	}
	tracked, err := clone.Tracks(ctx, project, dir)
	if err == nil && tracked {
		foreign.Reason = register.Tracked
		err = foreign
	}
	return err
}

// follow renames the store after its clone was moved with a session in it. This is for
// a clone without a server, whose store is named by its path. If the clone was copied,
// the store stays with the original.
func (h *Host) follow(sess *session.Session, s *orchestrator.State) error {
	note, err := h.register().Read(s.Identity)
	if err != nil || note.Path == sess.Dir {
		return nil //nolint:nilerr // nothing says that it was moved
	}
	former := filepath.Dir(filepath.Dir(filepath.Dir(note.Path)))
	from, to := gitrepo.LocalStorePath(h.StateHome, former), gitrepo.LocalStorePath(h.StateHome, sess.Project())
	if _, err := os.Lstat(former); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("bring the host repository of %s along: %w", former, err)
	}
	crash.Point("move store", "")
	return nil
}

// Adopt takes over a session that was made elsewhere, after a person has looked at it. It drops
// the paths of the other machine from the state; workspaces are made again from what is
// integrated. The error is a *register.ForeignError for a session that must never be continued.
func (h *Host) Adopt(ctx context.Context, dir string, c *config.Config) error {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	dir = sess.Dir
	if err := h.untracked(ctx, dir, c); err != nil {
		return err
	}
	if err := sess.Lock(lockTime); err != nil {
		return err
	}
	defer func() { _ = sess.Close() }() // ends with the process at the latest
	s, err := sess.ReadState()
	if err != nil {
		return err
	}
	if h.Trust(ctx, dir, s, c) == nil {
		return nil
	}
	if s.IsClassic() || s.Identity == "" {
		// Its first host gives it the rest, by this note.
		return h.register().Write(register.Note{ID: place.FormerID(dir), Secret: session.NewSecret(), Path: dir})
	}
	if s, err = sess.Recover(h.Now()); err != nil {
		return err
	}
	next := s.Clone()
	if _, err := h.register().Read(next.Identity); err == nil || !session.ValidIdentity(next.Identity) {
		next.Identity = session.NewIdentity() // another session has that one
	}
	next.Noted, next.FeatureDir = session.NewSecret(), dir
	if err := h.register().Write(register.Note{ID: next.Identity, Secret: next.Noted, Path: dir}); err != nil {
		return err
	}
	crash.Point("note session", "")
	p, err := h.projectOf(ctx, sess, c)
	if err != nil {
		return err
	}
	w := work.New(h.workOptions(c), work.Spec{Session: sess, State: next, Config: c, Project: p})
	if err := w.RecordedRefs(ctx, next); err != nil {
		return err
	}
	if err := sess.Commit(decide.Step{State: next, Changed: true}); err != nil {
		return fmt.Errorf("adopt %s: %w", sess.Name(), err)
	}
	return nil
}
