package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/outgate"
)

// ErrNone says that the server has no checkpoint of a session.
var ErrNone = errors.New("the server has no checkpoint of the session")

// RefusedError says why a checkpoint is not continued from. It stays in the store at Ref for a person
// to look at.
type RefusedError struct {
	Session, Ref string
	Problems     []string // all that was found, by the path in the checkpoint
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the checkpoint of %s is refused: %s", e.Session, strings.Join(e.Problems, "; "))
}

// Wanted says which checkpoint is wanted.
type Wanted struct {
	Session string                 // its name on the server, and
	Issue   int                    // its issue, as the claim has them
	Issues  []int                  // those of a run of an agents file, instead
	Keeps   func(file string) bool // whether a session has a file of this path
	// Within is the commit that has to have the one that the session started from in its history: what a
	// commit configures is believed only of the base branch. Empty = any.
	Within string
	// Judge returns what must not be believed of the commits of agents. Nil for other sessions.
	Judge func(ctx context.Context, base string, parents []string) ([]string, error)
	// Of reports whether a name is that of the repository; nil = any.
	Of func(ctx context.Context, repo string) (bool, error)
}

// Fetched is a checkpoint whose names, sizes and digests are right.
type Fetched struct {
	Manifest
	Commit  string
	Parents []string          // bring the integrated work, or that of agents
	Session map[string][]byte // the session's files, by their paths in it
	Trees   map[string]string // what the workspaces held, by their names
}

// Fetch fetches the checkpoint of a session from a server and verifies it. The error is ErrNone or
// *RefusedError, or says why that could not be done.
func Fetch(ctx context.Context, store *gitrepo.Store, from remote.Repository, w Wanted) (*Fetched, error) {
	at := gitrepo.CheckpointRef(w.Session)
	refs, err := from.Refs(ctx, store, at)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(refs, func(r remote.Ref) bool { return r.Name == at })
	if i < 0 {
		return nil, ErrNone
	}
	here := gitrepo.FetchedRef(w.Session)
	if err := from.Fetch(ctx, store, "+"+refs[i].ID+":"+here); err != nil {
		return nil, err
	}
	v := &verification{Wanted: w, store: store, room: MaxSize, out: &Fetched{Commit: refs[i].ID}}
	if err := v.all(ctx); err != nil {
		return nil, err
	}
	if len(v.problems) > 0 {
		return nil, &RefusedError{Session: w.Session, Ref: here, Problems: v.problems}
	}
	return v.out, nil
}

// verification is one checkpoint that is verified.
type verification struct {
	Wanted
	store    *gitrepo.Store
	room     int64
	out      *Fetched
	problems []string
}

// maxProblems is how many are worth telling.
const maxProblems = 10

func (v *verification) refuse(format string, args ...any) {
	if len(v.problems) < maxProblems {
		v.problems = append(v.problems, fmt.Sprintf(format, args...))
	}
}

// all verifies what the manifest says of itself first: nothing of a foreign one is read any further.
func (v *verification) all(ctx context.Context) error {
	text, err := v.store.Message(ctx, v.out.Commit)
	if err != nil {
		return err
	}
	m, err := ParseMessage(text)
	if err != nil {
		v.refuse("%v", err)
		return nil
	}
	v.out.Manifest = m
	if m.Session != v.Wanted.Session {
		v.refuse("it is of the session %q", m.Session)
	}
	if m.Issue != v.Issue {
		v.refuse("it is of the issue %d, not %d", m.Issue, v.Issue)
	}
	if !slices.Equal(m.Issues, v.Issues) {
		v.refuse("its agents work for the issues %d, not %d", m.Issues, v.Issues)
	}
	for _, step := range []func(context.Context) error{v.parents, v.project, v.judged, v.names, v.files, v.work} {
		if err := step(ctx); err != nil || len(v.problems) > 0 {
			return err
		}
	}
	return nil
}

// project verifies that the session is of this repository and started from its base branch.
func (v *verification) project(ctx context.Context) error {
	if v.Of != nil {
		if is, err := v.Of(ctx, v.out.Repo); err != nil {
			return err
		} else if !is {
			v.refuse("it is of the repository %q", v.out.Repo)
		}
	}
	if v.Within == "" {
		return nil
	}
	is, err := v.descends(ctx, v.out.Base, v.Within)
	if err == nil && !is {
		v.refuse("its base %q is not in the history of the base branch", v.out.Base)
	}
	return err
}

// parents verifies that the history is that of the session: the one parent, if there is one, descends
// from the commit that the session started from. An agent of an agents file may continue a branch that does not,
// so its commits are judged; the state names each of them.
func (v *verification) parents(ctx context.Context) error {
	parents, err := gitrepo.Parents(ctx, v.store, v.out.Commit)
	if err != nil {
		return err
	}
	v.out.Parents = parents
	switch {
	case len(parents) == 0:
		return nil
	case len(v.Issues) > 0: // see judged
		return nil
	case len(parents) > 1:
		v.refuse("it has %d parents", len(parents))
		return nil
	}
	if ok, err := v.descends(ctx, v.out.Base, parents[0]); err != nil {
		return err
	} else if !ok {
		v.refuse("its parent does not descend from the base %q", v.out.Base)
	}
	return nil
}

// judged asks what is wrong with the commits of agents.
func (v *verification) judged(ctx context.Context) error {
	if len(v.Issues) == 0 || len(v.out.Parents) == 0 {
		return nil
	}
	if !objectID().MatchString(v.out.Base) {
		v.refuse("its base %q is not a commit", v.out.Base)
		return nil
	}
	found, err := v.Judge(ctx, v.out.Base, v.out.Parents)
	for _, f := range found {
		v.refuse("%s", f)
	}
	return err
}

var objectID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`) })

// descends reports whether a commit that a manifest names is an ancestor of one of the store.
func (v *verification) descends(ctx context.Context, old, tip string) (bool, error) {
	if !objectID().MatchString(old) {
		return false, nil
	}
	if old == tip {
		return true, nil
	}
	is, err := v.store.IsAncestor(ctx, old, tip)
	if err != nil {
		if _, gone := v.store.Resolve(ctx, old); errors.Is(gone, gitrepo.ErrNoCommit) {
			return false, nil // the history that came along lacks it
		}
	}
	return is, err
}

// workspaceName is what a workspace may be called: it becomes a name of a directory.
var workspaceName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// names verifies which files there are, and of which kind.
func (v *verification) names(ctx context.Context) error {
	for name := range v.out.Work {
		if !workspaceName().MatchString(name) {
			v.refuse("%q is not the name of a workspace", name)
		}
	}
	entries, err := v.store.Entries(ctx, v.out.Commit)
	if err != nil {
		return err
	}
	missing := maps.Clone(v.out.Files)
	for _, e := range entries {
		top, rest, _ := strings.Cut(e.Path, "/")
		space, _, _ := strings.Cut(rest, "/")
		switch _, held := v.out.Work[space]; {
		case top == WorkDir && held:
		case top != SessionDir || !v.Keeps(rest):
			v.refuse("%q does not belong into it", e.Path)
		case e.Mode != fileMode:
			v.refuse("%q has the mode %s", e.Path, e.Mode)
		case v.out.Files[rest] == "":
			v.refuse("%q has no digest", e.Path)
		}
		if top == SessionDir {
			delete(missing, rest)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		v.refuse("%q is missing", SessionDir+"/"+name)
	}
	return nil
}

const (
	fileMode       = "100644"
	executableMode = "100755"
)

// files reads the files of the session.
func (v *verification) files(ctx context.Context) error {
	entries, err := v.store.Entries(ctx, v.out.Commit)
	if err != nil {
		return err
	}
	v.out.Session = map[string][]byte{}
	for _, e := range entries {
		if rel, ok := strings.CutPrefix(e.Path, SessionDir+"/"); ok {
			data, err := v.content(ctx, e.Path, e.ID, v.out.Files[rel])
			if err != nil || data == nil {
				return err
			}
			v.out.Session[rel] = data
		}
	}
	return nil
}

// content returns a file whose digest is right, while there is room; nil if it is refused.
func (v *verification) content(ctx context.Context, path, id, digest string) ([]byte, error) {
	sizes, err := v.store.Sizes(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	if v.room -= sizes[id]; v.room < 0 {
		v.refuse("it holds more than %d MiB", MaxSize>>20)
		return nil, nil
	}
	data, err := v.store.Blob(ctx, id, sizes[id]+1)
	if err != nil {
		return nil, err
	}
	if Digest(data) != digest {
		v.refuse("%q is not the file that its digest is of", path)
		return nil, nil
	}
	return append([]byte{}, data...), nil
}

// work verifies what differs in each workspace from the commit that it was made at.
func (v *verification) work(ctx context.Context) error {
	v.out.Trees = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(v.out.Work)) {
		w, dir := v.out.Work[name], WorkDir+"/"+name
		if ok, err := v.holds(ctx, w.Base); err != nil {
			return err
		} else if !ok {
			v.refuse("%q was made at %q, which is not a commit of the session", dir, w.Base)
			return nil
		}
		tree, err := gitrepo.Subtree(ctx, v.store, v.out.Commit, dir)
		if err != nil {
			return err
		}
		changes, err := v.store.Changes(ctx, w.Base, tree)
		if err != nil {
			return err
		}
		if err := v.changes(ctx, dir, w.Changed, changes); err != nil {
			return err
		}
		v.out.Trees[name] = tree
	}
	return nil
}

// holds reports whether a commit is in the history that came along, or in that of the base if none did.
func (v *verification) holds(ctx context.Context, commit string) (bool, error) {
	tips := v.out.Parents
	if len(tips) == 0 {
		tips = []string{v.out.Base}
	}
	for _, tip := range tips {
		if ok, err := v.descends(ctx, commit, tip); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

func (v *verification) changes(ctx context.Context, dir string, digests map[string]string, changes []gitrepo.Change) error {
	missing := maps.Clone(digests)
	for _, c := range changes {
		digest, listed := digests[c.Path]
		delete(missing, c.Path)
		path := dir + "/" + c.Path
		problem := outgate.NameProblem(c.Path)
		switch {
		case !listed || (c.Status == 'D') != (digest == ""):
			v.refuse("%q has no digest", path)
		case c.Status == 'D':
		case problem != "":
			v.refuse("%q %s", path, problem)
		case c.NewMode != fileMode && c.NewMode != executableMode:
			v.refuse("%q has the mode %s", path, c.NewMode)
		default:
			if _, err := v.content(ctx, path, c.NewID, digest); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		v.refuse("%q is missing", dir+"/"+name)
	}
	return nil
}
