package work

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// keeping is one checkpoint that is being made.
type keeping struct {
	*workspaces
	room int64 // bytes that may still be added
	left checkpoint.Left
	held map[string]checkpoint.Work
}

// Checkpoint keeps the session in the store, so that it can be made again
// where this directory is not: its files below session/, unsubmitted work below work/,
// and as parent the integrated commits. A file that holds a secret is left out and named.
func (r *workspaces) Checkpoint(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	if err := r.Mend(ctx, s); err != nil { // the old checkpoint may be all that holds a file
		return orchestrator.Result{}, err
	}
	k := &keeping{workspaces: r, room: checkpoint.MaxSize, left: checkpoint.Left{}, held: map[string]checkpoint.Work{}}
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
	if same, err := k.same(ctx, old, tree); err != nil || same && (r.away() == nil || r.Away.Last == old) {
		return orchestrator.Result{}, err
	}
	commit, err := k.commit(ctx, s, files, tree)
	if err == nil {
		err = r.repo.UpdateRef(ctx, ref, commit, old)
	}
	if err != nil {
		return orchestrator.Result{}, fmt.Errorf("keep checkpoint: %w", err)
	}
	crash.Point("keep checkpoint", "")
	res := orchestrator.Result{Path: ref, Commit: commit, Findings: k.left.Names()}
	if k.away() == nil {
		return res, nil
	}
	late, err := k.push(ctx, s, commit)
	res.Pushed, res.Skipped = late == nil, ""
	if late != nil {
		res.Skipped = late.Error()
	}
	return res, err
}

// away is how checkpoints get to the server; nil if they stay here.
func (r *workspaces) away() *checkpoint.Away {
	if r.Away == nil || r.Guard == nil || !r.cfg.Checkpoint.Remote || r.project.Remote == nil || r.ReadOnly || r.Token == nil {
		return nil
	}
	return r.Away
}

// push brings a checkpoint to the server, or says why that was not possible now. It never holds up a
// session: a later checkpoint makes up for it.
func (k *keeping) push(ctx context.Context, s *orchestrator.State, commit string) (late, err error) {
	late = k.away().Push(ctx, k.repo, checkpoint.Pushing{
		To: *k.project.Remote, Session: orchestrator.PublicID(s.SessionID, s.Identity), Commit: commit, Final: s.Ended(), Stopped: s.Outcome == orchestrator.OutcomeCanceled, Guard: k.Guard,
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if late != nil && !errors.Is(late, checkpoint.ErrBusy) {
		late = k.Redactor.Error(late)
		k.Log.Warn("the checkpoint is not on the server", "session", k.sess.Name(), "err", late)
	}
	return late, nil
}

// commit makes the commit of a checkpoint. Its parent brings the integrated commits along.
func (k *keeping) commit(ctx context.Context, s *orchestrator.State, files map[string][]byte, tree string) (string, error) {
	var parents []string
	if s.Integrated.Commit != "" && s.Integrated.Commit != s.BaseSHA {
		parents = []string{s.Integrated.Commit}
	}
	m := checkpoint.Manifest{
		Session: orchestrator.PublicID(s.SessionID, s.Identity), Repo: string(s.Repo), Issue: s.IssueNumber, At: k.Now().UTC(),
		Record: s.Seq, Base: s.BaseSHA, Files: map[string]string{}, Work: k.held, LeftOut: k.left.Names(),
	}
	if k.Away != nil {
		m.Host = k.Away.Host
	}
	for name, data := range files {
		m.Files[strings.TrimPrefix(name, checkpoint.SessionDir+"/")] = checkpoint.Digest(data)
	}
	text, err := m.Message()
	if err != nil {
		return "", err
	}
	return k.repo.Commit(ctx, gitrepo.CommitSpec{Tree: tree, Parents: parents, Message: text, Author: robot, Date: k.Now()})
}

// ownTraces are the files that the making of a checkpoint itself changes.
var ownTraces = []string{
	"session/" + session.StateFile, "session/" + session.EventsFile, "session/" + session.ToolCursorFile, "session/" + session.MirrorFile,
}

// same reports whether nothing has happened since the last checkpoint but that it was made.
func (k *keeping) same(ctx context.Context, old, tree string) (bool, error) {
	last, err := checkpoint.ManifestOf(ctx, k.repo, old)
	if err != nil {
		return false, nil //nolint:nilerr // none, or of an older version
	}
	changes, err := k.repo.Changes(ctx, old, tree)
	if err != nil || slices.ContainsFunc(changes, func(c gitrepo.Change) bool { return !slices.Contains(ownTraces, c.Path) }) {
		return false, err
	}
	events, _, err := k.sess.Events(0)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(events, func(e orchestrator.Event) bool {
		return e.Seq > last.Record && e.Type != orchestrator.EvCheckpointSaved
	}), nil
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
	changed := map[string]string{}
	k.held[name] = checkpoint.Work{Base: base, Changed: changed}
	var kept []gitrepo.Change
	for _, c := range snap.Changes {
		file := path.Join("work", name, c.Path)
		switch size := sizes[c.NewID]; {
		case c.Status == 'D':
			changed[c.Path] = ""
		case c.NewMode == gitrepo.ModeSymlink || c.NewMode == gitrepo.ModeGitlink:
			k.left[file] = "is a link"
			continue
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
			changed[c.Path] = checkpoint.Digest(data)
		}
		kept = append(kept, c)
	}
	if len(kept) == len(snap.Changes) {
		return snap.Tree, nil
	}
	return k.repo.Apply(ctx, base, kept)
}
