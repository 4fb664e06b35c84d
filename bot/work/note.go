package work

import (
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
)

// Remember notes a session of an older version, and where one is now that was moved with its
// project. The note is written before the state: a start after a kill in between continues.
func (r *Work) Remember(s *orchestrator.State) (*orchestrator.State, error) {
	dir, next := r.sess.Dir, s.Clone()
	switch {
	case s.IsClassic():
		return s, nil // its state is upgraded first
	case Older(dir, s):
		note, err := r.register().Read(s.Identity)
		if err != nil {
			note = register.Note{ID: s.Identity, Secret: session.NewSecret()}
		}
		if err := r.renote(note); err != nil {
			return s, err
		}
		next.Noted = note.Secret
	default:
		note, err := r.register().Vouch(dir, s)
		if err != nil {
			return s, err
		}
		if err := r.renote(note); err != nil {
			return s, err
		}
	}
	crash.Point("note session", "")
	if s.FeatureDir != dir {
		if err := r.sess.Moved(s.FeatureDir); err != nil {
			return s, err
		}
		next.FeatureDir = dir
	}
	if next.FeatureDir == s.FeatureDir && next.Noted == s.Noted {
		return s, nil
	}
	if err := r.sess.Commit(decide.Step{State: next, Changed: true}); err != nil {
		return s, fmt.Errorf("note %s: %w", r.sess.Name(), err)
	}
	return next, nil
}

// renote brings the note up to where the session and its workspaces are now.
func (r *Work) renote(note register.Note) error {
	root := r.workspaceRoot()
	if note.Path == r.sess.Dir && slices.Contains(note.Roots, root) {
		return nil
	}
	note.Path = r.sess.Dir
	if !slices.Contains(note.Roots, root) {
		note.Roots = append(note.Roots, root)
	}
	return r.register().Write(note)
}

// Older reports whether a state is one that nothing was noted of yet. Its identity, if it has
// one, was made from its path.
func Older(dir string, s *orchestrator.State) bool {
	return s.Noted == "" && (s.Identity == "" || s.Identity == place.FormerID(dir))
}
