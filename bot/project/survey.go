package project

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// Survey is what a person should know about a repository before a session works on it.
type Survey struct {
	Submodules, LFS int
	Workflows       []Workflow // of GitHub Actions that run on branches or pull requests of sessions
}

// workflowDir is where GitHub looks for workflows of its own.
const workflowDir = ".github/workflows"

// maxWorkflow bounds a workflow file that is read.
const maxWorkflow = 1 << 20

// Survey looks at a commit of the project. branch is one that a session might push.
func (p *Project) Survey(ctx context.Context, commit, branch string) (Survey, error) {
	var s Survey
	entries, err := p.Store.Entries(ctx, commit)
	if err != nil {
		return s, err
	}
	var paths []string
	attributes := false
	for _, e := range entries {
		if e.Gitlink() {
			s.Submodules++
			continue
		}
		attributes = attributes || path.Base(e.Path) == ".gitattributes"
		paths = append(paths, e.Path)
		if ext := path.Ext(e.Path); path.Dir(e.Path) == workflowDir && (ext == ".yml" || ext == ".yaml") {
			data, err := p.Store.File(ctx, commit, e.Path, maxWorkflow)
			if err != nil {
				return s, err
			}
			if w := readWorkflow(e.Path, data, branch); len(w.Events) > 0 {
				s.Workflows = append(s.Workflows, w)
			}
		}
	}
	if !attributes {
		return s, nil
	}
	filters, err := p.Store.Filters(ctx, commit, paths)
	for _, filter := range filters {
		if filter == "lfs" {
			s.LFS++
		}
	}
	return s, err
}

// Unseen counts of what agents have no content in workspaces of a commit: all submodules and LFS files, less
// those that the clone has.
func (p *Project) Unseen(ctx context.Context, commit string) (ghsync.BaseNote, error) {
	if p.Managed {
		s, err := p.Survey(ctx, commit, "")
		return ghsync.BaseNote{Submodules: s.Submodules, LFS: s.LFS}, err
	}
	submodules, files, err := workspace.Lacking(ctx, p.Store, commit, p.Clone.Root)
	return ghsync.BaseNote{Submodules: submodules, LFS: files}, err
}

// ErrNoRemote says that the project has no repository on the server.
var ErrNoRemote = errors.New("the project has no repository on the server")

// ProbeRefs makes a ref below refs/agentmux/ on the server and deletes it again. The error
// is a *remote.PushError if the server refused.
func (p *Project) ProbeRefs(ctx context.Context, commit string) error {
	if p.Remote == nil {
		return ErrNoRemote
	}
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	ref := "refs/agentmux/probe/" + hex.EncodeToString(b[:])
	push := func(from, to string) error {
		_, err := p.Remote.Push(ctx, p.Store, remote.PushSpec{Updates: []remote.RefUpdate{{Ref: ref, New: to, Old: from}}})
		return err
	}
	if err := push("", commit); err != nil {
		return err
	}
	if err := push(commit, ""); err != nil {
		return fmt.Errorf("%s was made and not deleted: %w", ref, err)
	}
	return nil
}
