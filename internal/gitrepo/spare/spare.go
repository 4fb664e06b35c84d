package spare

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// Move says which spare becomes the workspace of which place.
type Move struct {
	Store  *gitrepo.Store
	Spare  string // its place
	Dir    string // the workspace's, where there is none
	Commit string // of the workspace, by its full id
}

// Take gives a spare the place of a workspace and brings it to the commit. ok is false where it
// cannot serve: then it is as it was, or it is gone.
func Take(ctx context.Context, m Move) (ok bool, err error) {
	ok, err = m.take(ctx)
	if err != nil {
		return false, fmt.Errorf("take spare %s: %w", filepath.Base(m.Spare), err)
	}
	return ok, nil
}

func (m Move) take(ctx context.Context) (bool, error) {
	base, err := workspace.Base(m.Spare)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var road *road
	if base != m.Commit {
		if road, err = m.plan(base); err != nil {
			return false, unlessUnread(err)
		}
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	making := workspace.Making(m.Dir)
	if err := gitrepo.RemoveAll(making); err != nil {
		return false, err
	}
	if err := os.Rename(m.Spare, making); err != nil {
		return false, err
	}
	crash.Point("take spare", "")
	// What lies beside it is of the commit that it had.
	if err := os.Rename(m.Spare+".lfs", m.Dir+".lfs"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if road != nil {
		if err := road.follow(making); err != nil {
			return false, errors.Join(err, gitrepo.RemoveAll(making))
		}
		crash.Point("bring spare", "")
	}
	if err := workspace.Finish(m.Dir, m.Commit); err != nil {
		return false, err
	}
	return true, workspace.Remove(m.Spare)
}

// unlessUnread drops the error that says that this is left to git.
func unlessUnread(err error) error {
	if errors.Is(err, object.ErrUnread) || errors.Is(err, git.ErrIndex) {
		return nil
	}
	return err
}

// plan finds out what leads from a spare's commit to the wanted one. The error is
// object.ErrUnread where a new workspace has to be made.
func (m Move) plan(base string) (*road, error) {
	if _, err := os.Lstat(m.Spare + ".lfs"); err == nil {
		return nil, object.ErrUnread // its content may be other than what is stored
	}
	index, err := git.ReadIndex(filepath.Join(m.Spare, ".git", "index"), len(object.RawID(object.Blob, nil)))
	if err != nil {
		return nil, err
	}
	r := m.Store.Objects().Reader()
	defer r.Close()
	road := &road{from: base, to: m.Commit, index: index}
	if err := road.read(r); err != nil {
		return nil, err
	}
	// A file has other bytes in a work tree than in a commit by line ends, encodings, ids, filters.
	if !r.AttributesLack(m.Commit, road.paths(), "eol", "crlf", "encoding", "ident", "filter") {
		return nil, object.ErrUnread
	}
	return road, nil
}
