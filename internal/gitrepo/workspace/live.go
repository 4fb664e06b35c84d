package workspace

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
)

// live takes a snapshot of a workspace whose agent still runs. Only files that differ from
// the kept index are read; git gets their bytes and never sees the workspace.
type live struct {
	*snapshot
	tmp    string // for this snapshot alone
	kept   string // the kept index; "" for none
	known  kept   // which files are as in the base
	tree   string // of the base, not in hex
	ids    map[string]string
	walker *walker
	reader reader
	rules  rules
	pack   *object.PackWriter

	edits    []edit // against the base
	given    []file // files that git brings into the form of the store
	links    map[string]uint64
	refusals []Refusal
}

func takeLive(ctx context.Context, shot snapshot) (Snapshot, error) {
	tmp, remove, err := shot.Temporary("live")
	if err != nil {
		return Snapshot{}, fmt.Errorf("snapshot: %w", err)
	}
	defer remove()
	l := live{snapshot: &shot, tmp: tmp, kept: shot.Index, links: map[string]uint64{}}
	shot.work, shot.Index = filepath.Join(tmp, "work"), filepath.Join(tmp, "index")
	err = errors.Join(os.Mkdir(shot.work, 0o700), os.Mkdir(filepath.Join(tmp, "rules"), 0o700))
	if err == nil {
		l.pack, err = object.NewPack(filepath.Join(tmp, "pack"))
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("snapshot: %w", err)
	}
	defer l.pack.Close()
	return l.take(ctx)
}

func (l *live) take(ctx context.Context) (Snapshot, error) {
	if err := l.readBase(ctx); err != nil {
		return Snapshot{}, fmt.Errorf("read base: %w", err)
	}
	w, err := newWalker(l.Workspace, l.base, l.Masked)
	if err != nil {
		return Snapshot{}, err
	}
	defer w.close()
	w.hook, w.live, w.kept, w.ignored = l.hook, true, &l.known, l.ignored
	l.walker, l.reader = w, reader{walker: w, large: scratch(l.work), growth: l.MaxGrowth}
	l.rules = rules{reader: &l.reader, texts: map[string][]byte{}}
	if err := l.finish(ctx, w); err != nil {
		return Snapshot{}, err
	}
	if err := l.checkFiles(ctx); err != nil {
		return Snapshot{}, err
	}
	if l.hook != nil {
		l.hook("index", "")
	}
	for _, f := range l.files {
		if err := l.bring(f); err != nil {
			return Snapshot{}, fmt.Errorf("snapshot: read %s: %w", f.path, err)
		}
		if err := ctx.Err(); err != nil {
			return Snapshot{}, err
		}
	}
	l.remove()
	if err := l.give(ctx); err != nil {
		return Snapshot{}, err
	}
	return l.write(ctx)
}

// readBase reads the entries and trees of the base: from the kept index if this is at the
// base, else from one that git makes. Another kept index still tells which files are as in
// the base.
func (l *live) readBase(ctx context.Context) error {
	tree, err := l.baseTree(ctx)
	if err != nil {
		return err
	}
	l.tree = tree
	var old *git.Index
	if l.kept != "" && copyIndex(l.kept, l.Index) == nil {
		if x, err := indexOf(l.Index, tree); err == nil {
			l.base, l.ids = newPaths(x.Entries), x.Trees
			l.known = kept{base: l.base, time: x.Time}
			return nil
		}
		// One that cannot be used costs time and nothing else.
		old, _ = git.ReadIndex(l.Index, len(tree))
	}
	if err := os.Remove(l.Index); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := l.git("read-tree", l.Base).Run(ctx); err != nil {
		return err
	}
	x, err := indexOf(l.Index, tree)
	if err != nil {
		return err
	}
	l.base, l.ids = newPaths(x.Entries), x.Trees
	l.known = kept{base: l.base, time: time.Unix(0, 0)} // no file equals an entry
	if old != nil {
		l.known.time = old.Time
		l.base.times(old.Entries)
	}
	return nil
}

// copyIndex gives an index a second name: git writes a new file when it changes one.
func copyIndex(from, to string) error {
	if err := os.Link(from, to); err == nil {
		return nil
	}
	return git.CopyIndex(from, to)
}

// ignored lets git see the rule files that decide about the paths, and nothing else.
func (l *live) ignored(ctx context.Context, asked []question) (map[string]bool, error) {
	see := scratch(filepath.Join(l.tmp, "rules"))
	ruled := false
	for _, q := range asked {
		if q.dir {
			if err := see.directory(q.path); err != nil {
				return nil, err
			}
		}
		any, err := l.rules.copy(".gitignore", q.path, see)
		if err != nil {
			return nil, err
		}
		ruled = ruled || any
	}
	if !ruled {
		return nil, nil // without a rule nothing is ignored
	}
	shot := *l.snapshot
	shot.work = string(see)
	return shot.ignored(ctx, asked)
}

// bring reads a file and puts it where it gets into the store from: into the pack as it is, or
// into the work tree of git where its bytes or its name need git's judgement.
func (l *live) bring(f file) error {
	c, err := l.reader.read(f)
	switch {
	case errors.Is(err, errGone):
		if f.at >= 0 {
			l.walker.present[f.at] = false
		}
		return nil
	case errors.Is(err, errChanging), errors.Is(err, errClosed), errors.Is(err, errType):
		l.refusals = append(l.refusals, Refusal{f.path, err.Error()})
		return nil
	case err != nil:
		return err
	}
	if reason := l.badRule(f, c); reason != "" {
		l.refusals = append(l.refusals, Refusal{f.path, reason})
		return nil
	}
	l.links[f.path] = c.links
	if c.data == nil {
		l.given = append(l.given, f)
		return nil
	}
	converted := c.mode != modeSymlink && l.rules.convert(f.path, c.data)
	if f.at >= 0 && (f.racy || !converted) {
		e := l.base.entries[f.at]
		if e.Mode == c.mode && e.ID == object.RawID(object.Blob, c.data) {
			return nil
		}
	}
	if converted || judged(f.path, c.mode) {
		l.given = append(l.given, f)
		return scratch(l.work).content(f.path, c)
	}
	id, err := l.pack.Add(object.Blob, c.data)
	l.edits = append(l.edits, edit{path: f.path, mode: c.mode, id: id})
	return err
}

// badRule is why a rule file, as it was read, may not be taken; "" for good.
func (l *live) badRule(f file, c content) string {
	switch {
	case !ruleFile(path.Base(f.path)):
	case c.mode == modeSymlink && (f.at < 0 || l.base.entries[f.at].Mode != modeSymlink):
		return reasonRuleType
	case c.size > maxRuleFile:
		_ = os.Remove(scratch(l.work).path(f.path))
		return reasonRuleSize
	}
	return ""
}

// judged reports whether git may refuse a path that the walk has let through: one with another
// separator in it, a symlink that some file system takes for .gitmodules.
func judged(p string, mode uint32) bool {
	if strings.ContainsRune(p, '\\') {
		return true
	}
	strange := func(r rune) bool { return r == '~' || r >= utf8.RuneSelf }
	return mode == modeSymlink && (strings.Contains(strings.ToLower(p), ".git") || strings.ContainsFunc(p, strange))
}

// remove takes the paths of the base out that are not files any more.
func (l *live) remove() {
	masked := gitrepo.Covers(l.Masked)
	for i, e := range l.base.entries {
		if !l.walker.present[i] && e.Mode != modeGitlink && (len(l.Masked) == 0 || !masked(e.Path)) {
			l.edits = append(l.edits, edit{path: e.Path})
		}
	}
}

// give has git bring files into the form of the store, by the attributes of the workspace:
// line ends, encodings. It works on the base and reads the given files alone.
func (l *live) give(ctx context.Context) error {
	if len(l.given) == 0 {
		return nil
	}
	var names []string
	// An attribute file that is gone must not be found in the index. What is below a file is
	// replaced with it.
	for _, e := range l.edits {
		if e.mode == 0 && strings.HasSuffix(e.path, ".gitattributes") && !l.belowGiven(e.path) {
			names = append(names, e.path)
		}
	}
	for _, f := range l.given {
		names = append(names, f.path)
		if _, err := l.rules.copy(".gitattributes", f.path, scratch(l.work)); err != nil {
			return err
		}
	}
	if err := l.updateIndex(ctx, names, "--add", "--remove", "--replace"); err != nil {
		return err
	}
	x, err := git.ReadIndex(l.Index, len(l.tree))
	if err != nil {
		return fmt.Errorf("update index: %w", err)
	}
	for _, f := range l.given {
		at, ok := slices.BinarySearchFunc(x.Entries, f.path, func(e git.IndexEntry, p string) int { return strings.Compare(e.Path, p) })
		if !ok {
			l.refusals = append(l.refusals, Refusal{f.path, reasonNotTaken})
			continue
		}
		l.edits = append(l.edits, edit{path: f.path, mode: x.Entries[at].Mode, id: x.Entries[at].ID})
	}
	return nil
}

func (l *live) belowGiven(p string) bool {
	return slices.ContainsFunc(l.given, func(f file) bool { return strings.HasPrefix(p, f.path+"/") })
}

// write puts the edits into the store and returns what the base becomes by them.
func (l *live) write(ctx context.Context) (Snapshot, error) {
	changes := l.changes()
	for _, c := range changes {
		if c.Status != 'D' && l.links[c.Path] > 1 {
			l.refusals = append(l.refusals, Refusal{c.Path, reasonLinked})
		}
	}
	if err := refused(append(l.refusals, l.rules.refusals...)); err != nil {
		return Snapshot{}, err
	}
	if len(changes) == 0 {
		return Snapshot{Tree: hex.EncodeToString([]byte(l.tree))}, nil
	}
	id, err := trees{ids: l.ids, pack: l.pack}.build("", l.base.entries, l.edits)
	if err == nil {
		err = l.TakePack(ctx, l.pack)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("write tree: %w", err)
	}
	return Snapshot{Tree: hex.EncodeToString([]byte(id)), Changes: changes}, nil
}

// changes brings the edits into git's order, without those that change nothing, and lists
// them.
func (l *live) changes() []gitrepo.Change {
	for _, e := range l.edits {
		if e.mode != 0 && l.base.place(e.path) < 0 && l.base.parents[e.path] {
			// A file takes the place of a directory, also of what is masked there.
			for _, old := range l.base.below(e.path) {
				l.edits = append(l.edits, edit{path: old.Path})
			}
		}
	}
	slices.SortFunc(l.edits, func(a, b edit) int { return strings.Compare(a.path, b.path) })
	l.edits = slices.CompactFunc(l.edits, func(a, b edit) bool { return a.path == b.path })
	var list []gitrepo.Change
	keep := l.edits[:0]
	for _, e := range l.edits {
		if c := l.change(e); c.Status != 0 {
			list, keep = append(list, c), append(keep, e)
		}
	}
	l.edits = keep
	return list
}

// change is the change that an edit makes; its status is 0 for none.
func (l *live) change(e edit) gitrepo.Change {
	zero := strings.Repeat("0", 2*len(l.tree))
	c := gitrepo.Change{Path: e.path, Status: 'A', OldMode: "000000", OldID: zero, NewMode: "000000", NewID: zero}
	if e.mode != 0 {
		c.NewMode, c.NewID = fmt.Sprintf("%06o", e.mode), hex.EncodeToString([]byte(e.id))
	}
	at := l.base.place(e.path)
	if at < 0 {
		return c
	}
	old := l.base.entries[at]
	c.OldMode, c.OldID = fmt.Sprintf("%06o", old.Mode), hex.EncodeToString([]byte(old.ID))
	switch {
	case e.mode == 0:
		c.Status = 'D'
	case e.mode == old.Mode && e.id == old.ID:
		c.Status = 0
	case e.mode&object.TypeBits != old.Mode&object.TypeBits:
		c.Status = 'T'
	default:
		c.Status = 'M'
	}
	return c
}
