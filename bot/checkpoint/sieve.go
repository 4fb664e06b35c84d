package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/redact"
)

// Sieve lets into a checkpoint what may leave the machine, and names what it leaves out. Each checkpoint
// has its own.
type Sieve struct {
	Left Left            // what was left out so far
	Held map[string]Work // what it let through of workspaces, by their names

	store *gitrepo.Store
	search
	room int64 // bytes that may still be added
}

// NewSieve has room for MaxSize.
func NewSieve(store *gitrepo.Store, secrets *redact.Redactor) *Sieve {
	return &Sieve{Left: Left{}, Held: map[string]Work{}, store: store, search: newSearch(secrets), room: MaxSize}
}

// Room is how many bytes more it lets through.
func (v *Sieve) Room() int64 { return v.room }

// hidden reports whether the name of a file below dir is a secret itself, and then has it
// left out unnamed: agents choose names.
func (v *Sieve) hidden(dir, name string) bool {
	rule := v.secret(name)
	if rule != "" {
		v.Left[path.Join(dir, "(a file name)")] = rule
	}
	return rule != ""
}

// Session returns which of the files of the session it lets through, by their paths in the checkpoint.
// left says why others could not be read.
func (v *Sieve) Session(found map[string][]byte, left map[string]string) map[string][]byte {
	for rel, problem := range left {
		if !v.hidden(SessionDir, rel) {
			v.Left[path.Join(SessionDir, rel)] = problem
		}
	}
	files := map[string][]byte{}
	for rel, data := range found {
		if v.hidden(SessionDir, rel) {
			continue
		}
		name := path.Join(SessionDir, rel)
		if rule := v.secret(string(data)); rule != "" {
			v.Left[name] = rule
			continue
		}
		files[name] = data
		v.room -= int64(len(data))
	}
	return files
}

// Standing is what a workspace holds.
type Standing struct {
	Name, Base string // the workspace, and the commit it was made at
	Tree       string
	Changes    []gitrepo.Change // from Base to Tree
}

// Work returns the tree of a workspace without what it does not let through.
func (v *Sieve) Work(ctx context.Context, w Standing) (string, error) {
	var ids []string
	for _, c := range w.Changes {
		if c.Status != 'D' {
			ids = append(ids, c.NewID)
		}
	}
	sizes, err := v.store.Sizes(ctx, ids)
	if err != nil {
		return "", err
	}
	changed := map[string]string{}
	v.Held[w.Name] = Work{Base: w.Base, Changed: changed}
	var kept []gitrepo.Change
	for _, c := range w.Changes {
		digest, passes, err := v.change(ctx, path.Join(WorkDir, w.Name), c, sizes[c.NewID])
		if err != nil {
			return "", err
		}
		if passes {
			changed[c.Path] = digest
			kept = append(kept, c)
		}
	}
	if len(kept) == len(w.Changes) {
		return w.Tree, nil
	}
	return v.store.Apply(ctx, w.Base, kept)
}

// change judges one file of a workspace. The digest of one that was removed is empty.
func (v *Sieve) change(ctx context.Context, dir string, c gitrepo.Change, size int64) (digest string, passes bool, err error) {
	if c.Status == 'D' {
		return "", true, nil
	}
	if v.hidden(dir, c.Path) {
		return "", false, nil
	}
	file := path.Join(dir, c.Path)
	if c.NewMode == gitrepo.ModeSymlink || c.NewMode == gitrepo.ModeGitlink {
		v.Left[file] = "is a link"
		return "", false, nil
	}
	if size > v.room {
		v.Left[file] = "is too large"
		return "", false, nil
	}
	rule, hash := "", sha256.New()
	if err := gitrepo.Stream(ctx, v.store, c.NewID, size+1, func(content io.Reader) (err error) {
		rule, err = v.secretIn(io.TeeReader(content, hash))
		return err
	}); err != nil {
		return "", false, fmt.Errorf("look for secrets: %w", err)
	}
	if rule != "" {
		v.Left[file] = rule
		return "", false, nil
	}
	v.room -= size
	return hex.EncodeToString(hash.Sum(nil)), true, nil
}
