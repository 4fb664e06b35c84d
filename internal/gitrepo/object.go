package gitrepo

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
)

// Entry is one path of a tree. Type is blob or commit (a gitlink).
type Entry struct {
	Mode, Type, ID, Path string
}

// Gitlink reports whether the entry is a submodule.
func (e Entry) Gitlink() bool { return e.Mode == ModeGitlink }

// The modes of what is not a file.
const (
	ModeSymlink = "120000"
	ModeGitlink = "160000"
)

// Entries lists all paths of a tree or commit, in git's order. The list is not the
// caller's to change.
func (s *Store) Entries(ctx context.Context, tree string) ([]Entry, error) {
	if list, ok := s.known.list(tree); ok {
		return list, nil
	}
	if list, err := s.direct.entries(tree); err == nil {
		s.known.keepList(tree, list)
		return list, nil
	}
	out, err := s.git("ls-tree", "-r", "-z", "--full-tree", tree).Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", tree, err)
	}
	var list []Entry
	for _, rec := range git.Records(out) {
		meta, path, ok := strings.Cut(rec, "\t")
		f := strings.Fields(meta)
		if !ok || len(f) != 3 {
			return nil, fmt.Errorf("list %s: unexpected record %q", tree, rec)
		}
		list = append(list, Entry{Mode: f[0], Type: f[1], ID: f[2], Path: path})
	}
	s.known.keepList(tree, list)
	return list, nil
}

// NamesAlong lists the names in each directory of a tree or commit that leads to one of the files,
// "." for the top; none for one that is not there.
func (s *Store) NamesAlong(ctx context.Context, tree string, files ...string) (map[string][]string, error) {
	if names, err := s.direct.namesAlong(tree, files); err == nil {
		return names, nil
	}
	entries, err := s.Entries(ctx, tree)
	if err != nil {
		return nil, err
	}
	all := map[string][]string{".": namesIn(entries, ".")}
	for _, file := range files {
		for dir := path.Dir(file); ; dir = path.Dir(dir) {
			if _, known := all[dir]; known {
				break
			}
			all[dir] = namesIn(entries, dir)
		}
	}
	return all, nil
}

// namesIn returns the names in a directory of a tree with these files.
func namesIn(entries []Entry, dir string) []string {
	var names []string
	for _, e := range entries {
		below := e.Path
		if dir != "." {
			var ok bool
			if below, ok = strings.CutPrefix(e.Path, dir+"/"); !ok {
				continue
			}
		}
		if name, _, _ := strings.Cut(below, "/"); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

// Blob returns the content of a blob of at most max bytes, ErrTooLarge beyond.
func (s *Store) Blob(ctx context.Context, id string, max int64) ([]byte, error) {
	if !git.IsID(id) {
		return nil, fmt.Errorf("read blob: bad id %q", id)
	}
	if data, ok, err := s.direct.blob(id, max); ok {
		return data, err
	}
	c := s.git("cat-file", "blob", id)
	c.MaxOutput = max
	return c.Run(ctx)
}

// Stream gives the content of a blob to use, which reads it to its end. Only one that lies in a pack as what differs from
// another is held as a whole, and is of at most max bytes then.
func Stream(ctx context.Context, s *Store, id string, max int64, use func(io.Reader) error) error {
	if err := s.direct.Stream(id, use); !unread(err) {
		return err
	}
	data, err := s.Blob(ctx, id, max)
	if err != nil {
		return err
	}
	return use(bytes.NewReader(data))
}

// Blobs returns the contents of several blobs by id. The caller bounds their sizes
// (Sizes); the id of anything but a blob is an error.
func (s *Store) Blobs(ctx context.Context, ids []string) (map[string][]byte, error) {
	blobs := map[string][]byte{}
	r := s.objects.Reader()
	defer r.Close()
	for i, id := range ids {
		kind, data, err := r.Read(id, maxBlob)
		if err != nil || kind != object.Blob {
			return blobsByGit(ctx, s, ids[i:], blobs)
		}
		blobs[id] = data
	}
	return blobs, nil
}

// maxBlob bounds what is read at once without a process.
const maxBlob = 64 << 20

func blobsByGit(ctx context.Context, s *Store, ids []string, blobs map[string][]byte) (map[string][]byte, error) {
	c := s.git("cat-file", "--batch=%(objectname) %(objecttype) %(objectsize)")
	c.Stdin = []byte(strings.Join(ids, "\n") + "\n")
	out, err := c.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("read blobs: %w", err)
	}
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		f := strings.Fields(string(head))
		if len(f) != 3 || f[1] != "blob" {
			return nil, fmt.Errorf("read blobs: %s", head)
		}
		size, err := strconv.Atoi(f[2])
		if err != nil || size < 0 || size >= len(rest) {
			return nil, fmt.Errorf("read blobs: bad size in %q", head)
		}
		blobs[f[0]] = rest[:size:size]
		out = rest[size+1:]
	}
	return blobs, nil
}

// File returns the content of path in rev. ErrNoCommit if it is not there.
func (s *Store) File(ctx context.Context, rev, path string, max int64) ([]byte, error) {
	switch e, found, err := s.direct.lookup(rev, path); {
	case err == nil && found && e.Blob():
		return s.Blob(ctx, hex.EncodeToString([]byte(e.ID)), max)
	case err == nil:
		return nil, fmt.Errorf("read %s of %s: %w", path, rev, ErrNoFile)
	}
	out, err := s.git("ls-tree", "-z", "--full-tree", rev, path).Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", path, rev, err)
	}
	for _, rec := range git.Records(out) {
		meta, name, _ := strings.Cut(rec, "\t")
		if f := strings.Fields(meta); name == path && len(f) == 3 && f[1] == "blob" {
			return s.Blob(ctx, f[2], max)
		}
	}
	return nil, fmt.Errorf("read %s of %s: %w", path, rev, ErrNoFile)
}

// Sizes returns the sizes of blobs in bytes. An id without an object is left out.
func (s *Store) Sizes(ctx context.Context, ids []string) (map[string]int64, error) {
	sizes := map[string]int64{}
	if len(ids) == 0 {
		return sizes, nil
	}
	r := s.objects.Reader()
	defer r.Close()
	for i, id := range ids {
		_, size, err := r.Stat(id)
		if err != nil {
			ids = ids[i:] // git knows them, or that they are not there
			break
		}
		if sizes[id] = size; i == len(ids)-1 {
			return sizes, nil
		}
	}
	c := s.git("cat-file", "--batch-check=%(objectname) %(objectsize)")
	c.Stdin = []byte(strings.Join(ids, "\n") + "\n")
	out, err := c.Text(ctx)
	if err != nil {
		return nil, fmt.Errorf("read sizes: %w", err)
	}
	for line := range strings.Lines(out) {
		id, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(size, 10, 64); err == nil {
			sizes[id] = n
		}
	}
	return sizes, nil
}
