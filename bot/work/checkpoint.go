package work

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

const (
	// maxCheckpoint bounds what a checkpoint holds besides the integrated commits.
	maxCheckpoint = 50 << 20
	// maxLeftNamed is how many files that were left out a record names.
	maxLeftNamed = 20
)

// keeping is one checkpoint that is being made.
type keeping struct {
	*workspaces
	room int64             // bytes that may still be added
	left map[string]string // path in the checkpoint -> why it is not in it
}

// Checkpoint keeps the session in the store, so that it can be made again
// where this directory is not: its files below session/, unsubmitted work below work/,
// and as parent the integrated commits. A file that holds a secret is left out and named.
func (r *workspaces) Checkpoint(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	if err := r.Mend(ctx, s); err != nil { // the old checkpoint may be all that holds a file
		return orchestrator.Result{}, err
	}
	k := &keeping{workspaces: r, room: maxCheckpoint, left: map[string]string{}}
	files, err := k.files()
	if err != nil {
		return orchestrator.Result{}, fmt.Errorf("read the session: %w", err)
	}
	work, err := k.work(ctx, e.Args.Paths, s)
	if err != nil {
		return orchestrator.Result{}, err
	}
	tree, err := r.repo.BuildTree(ctx, files, work)
	if err != nil {
		return orchestrator.Result{}, err
	}
	ref := gitrepo.CheckpointRef(r.place.String())
	old, err := r.repo.Ref(ctx, ref)
	if err != nil {
		return orchestrator.Result{}, err
	}
	var parents []string
	if s.Integrated.Commit != "" && s.Integrated.Commit != s.BaseSHA {
		parents = []string{s.Integrated.Commit}
	}
	commit, err := r.repo.Commit(ctx, gitrepo.CommitSpec{
		Tree: tree, Parents: parents, Message: k.message(s), Author: robot, Date: r.Now(),
	})
	if err == nil {
		err = r.repo.UpdateRef(ctx, ref, commit, old)
	}
	if err != nil {
		return orchestrator.Result{}, fmt.Errorf("keep checkpoint: %w", err)
	}
	return orchestrator.Result{Path: ref, Commit: commit, Findings: k.named()}, nil
}

func (k *keeping) files() (map[string][]byte, error) {
	found, left, err := k.sess.Kept(k.room)
	if err != nil {
		return nil, err
	}
	for rel, problem := range left {
		if !k.hidden("session", rel) {
			k.left[path.Join("session", rel)] = problem
		}
	}
	files := map[string][]byte{}
	for rel, data := range found {
		if k.hidden("session", rel) {
			continue
		}
		name := path.Join("session", rel)
		if rule := k.secret(string(data)); rule != "" {
			k.left[name] = rule
			continue
		}
		files[name] = data
		k.room -= int64(len(data))
	}
	return files, nil
}

// unescaped takes the escapes of JSON out of texts: the n of a new line in front of a token
// would become a part of it.
var unescaped = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`)

// secret names the rule of a secret in text, or "".
func (k *keeping) secret(text string) string {
	for _, form := range []string{text, unescaped.Replace(text)} {
		if found := k.Redactor.ScanAdded("", form); len(found) > 0 {
			return "secret." + found[0].Rule
		}
	}
	return ""
}

// hidden reports whether the name of a file below dir is a secret itself, and then has it
// left out unnamed: agents choose names.
func (k *keeping) hidden(dir, name string) bool {
	rule := k.secret(name)
	if rule != "" {
		k.left[path.Join(dir, "(a file name)")] = rule
	}
	return rule != ""
}

// standing is what a workspace holds: what was submitted of it, or what its agents, who have
// ended, left in it.
func (k *keeping) standing(ctx context.Context, name string, w orchestrator.Workspace) (workspace.Snapshot, error) {
	if _, _, ok := duty.OfVisit(name); ok && w.Snapshot != "" {
		changes, err := k.repo.Changes(ctx, w.Base, string(w.Snapshot))
		return workspace.Snapshot{Tree: string(w.Snapshot), Changes: changes}, err
	}
	snap, _, err := k.snapshot(ctx, orchestrator.Args{Workspace: name, Dir: w.Path, Base: w.Base})
	return snap, err
}

// work takes snapshots of workspaces whose agents have ended.
func (k *keeping) work(ctx context.Context, names []string, s *orchestrator.State) (map[string]string, error) {
	trees := map[string]string{}
	for _, name := range names {
		w := s.Workspaces[name]
		snap, err := k.standing(ctx, name, w)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil { // what is integrated is kept all the same
			k.left[path.Join("work", name)] = k.Redactor.Error(err).Error()
			continue
		}
		tree, err := k.clean(ctx, name, w.Base, snap)
		if err != nil {
			return nil, err
		}
		trees[path.Join("work", name)] = tree
	}
	return trees, nil
}

// clean is the tree of a snapshot without files that hold secrets or find no room.
func (k *keeping) clean(ctx context.Context, name, base string, snap workspace.Snapshot) (string, error) {
	var ids []string
	for _, c := range snap.Changes {
		if c.Status != 'D' {
			ids = append(ids, c.NewID)
		}
	}
	sizes, err := k.repo.Sizes(ctx, ids)
	if err != nil {
		return "", err
	}
	var kept []gitrepo.Change
	for _, c := range snap.Changes {
		file := path.Join("work", name, c.Path)
		switch size := sizes[c.NewID]; {
		case c.Status == 'D':
		case k.hidden(path.Join("work", name), c.Path):
			continue
		case size > k.room:
			k.left[file] = "is too large"
			continue
		default:
			data, err := k.repo.Blob(ctx, c.NewID, size+1)
			if err != nil {
				return "", err
			}
			if rule := k.secret(string(data)); rule != "" {
				k.left[file] = rule
				continue
			}
			k.room -= size
		}
		kept = append(kept, c)
	}
	if len(kept) == len(snap.Changes) {
		return snap.Tree, nil
	}
	return k.repo.Apply(ctx, base, kept)
}

func (k *keeping) named() []string {
	var names []string
	for _, file := range slices.Sorted(maps.Keys(k.left)) {
		names = append(names, fmt.Sprintf("%s: %s", file, k.left[file]))
	}
	if more := len(names) - maxLeftNamed; more > 0 {
		names = append(names[:maxLeftNamed], fmt.Sprintf("%d more", more))
	}
	return names
}

func (k *keeping) message(s *orchestrator.State) string {
	text := fmt.Sprintf("checkpoint of %s\n\nphase %s, visit %d, record %d\n", s.SessionID, s.Phase, s.Visit, s.Seq)
	if names := k.named(); len(names) > 0 {
		text += "\nLeft out:\n- " + strings.Join(names, "\n- ") + "\n"
	}
	return text
}
