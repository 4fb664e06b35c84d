package gitrepo

import (
	"sync"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// known remembers what was read of objects. An object never changes, and one that a
// session needs never goes away: an answer stays true. Only full ids are keys.
type known struct {
	mu      sync.Mutex
	commits map[string]bool   // that are there
	trees   map[string]string // of a commit or a tree
	listed  string            // the tree or commit listed last
	entries []Entry           // its paths; read only
	gitDirs map[string]string // of clones
	parents map[string]string // the first, of commits that this process made
}

const (
	// maxListed is how many paths of one listing are kept.
	maxListed = 20_000
	// maxKnown is how many answers of one kind are kept: a process may live for months. A
	// session asks for far fewer, and what is forgotten is read again.
	maxKnown = 10_000
)

// keep puts an answer into a map of limited size.
func keep[V any](m map[string]V, key string, v V) map[string]V {
	if m == nil || len(m) >= maxKnown {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

func (k *known) commit(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.commits[id]
}

func (k *known) keepCommit(id string) {
	if !git.IsID(id) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.commits = keep(k.commits, id, true)
}

// tree returns "" for one that is not known.
func (k *known) tree(id string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.trees[id]
}

func (k *known) keepTree(id, tree string) {
	if !git.IsID(id) || !git.IsID(tree) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trees = keep(k.trees, id, tree)
}

// follows reports that new is on the first-parent line from old, by the commits that this
// process made. After false only git knows.
func (k *known) follows(old, new string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for new != "" && new != old {
		new = k.parents[new]
	}
	return new != ""
}

func (k *known) keepParent(id, parent string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.parents = keep(k.parents, id, parent)
}

func (k *known) list(id string) ([]Entry, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.entries, k.listed != "" && k.listed == id
}

func (k *known) keepList(id string, entries []Entry) {
	if !git.IsID(id) || len(entries) > maxListed {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listed, k.entries = id, entries
}

func (k *known) gitDir(clone string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.gitDirs[clone]
}

func (k *known) keepGitDir(clone, dir string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gitDirs = keep(k.gitDirs, clone, dir)
}
