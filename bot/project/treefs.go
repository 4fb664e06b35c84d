package project

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

const (
	// settingsDir is all of a commit that a treeFS shows.
	settingsDir = ".agentmux"
	modeSymlink = "120000"
	// maxSettings bounds what is read of one commit.
	maxSettings = 16 << 20
)

// Files shows a commit's configuration, workflows and prompts: its directory .agentmux,
// read once and whole. Only regular files are in it.
func (p *Project) Files(ctx context.Context, commit string) (fs.FS, error) {
	entries, err := p.entries(ctx, commit)
	if err != nil {
		return nil, err
	}
	paths, ids := map[string]string{}, []string{}
	for _, e := range entries {
		if e.Type == "blob" && e.Mode != modeSymlink && strings.HasPrefix(e.Path, settingsDir+"/") && fs.ValidPath(e.Path) {
			paths[e.Path] = e.ID
			ids = append(ids, e.ID)
		}
	}
	sizes, err := p.Store.Sizes(ctx, ids)
	if err != nil {
		return nil, err
	}
	var total int64
	for _, id := range ids {
		total += sizes[id]
	}
	if total > maxSettings {
		return nil, fmt.Errorf("read %s of %.7s: %w", settingsDir, commit, gitrepo.ErrTooLarge)
	}
	blobs, err := p.Store.Blobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	t := treeFS{}
	for file, id := range paths {
		t[file] = blobs[id]
	}
	return t, nil
}

// treeFS holds files by their path.
type treeFS map[string][]byte

// Open opens a file or a directory.
func (t treeFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if data, ok := t[name]; ok {
		return &treeFile{treeInfo: treeInfo{name: path.Base(name), size: len(data)}, Reader: bytes.NewReader(data)}, nil
	}
	if entries := t.list(name); len(entries) > 0 || name == "." {
		return &treeDir{treeInfo: treeInfo{name: path.Base(name), dir: true}, entries: entries}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// list returns what is directly in a directory, by name.
func (t treeFS) list(dir string) []fs.DirEntry {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	seen := map[string]treeInfo{}
	for file, data := range t {
		rest, ok := strings.CutPrefix(file, prefix)
		if !ok {
			continue
		}
		name, _, below := strings.Cut(rest, "/")
		if below {
			data = nil
		}
		seen[name] = treeInfo{name: name, size: len(data), dir: below}
	}
	var entries []fs.DirEntry
	for _, info := range seen {
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

// treeInfo describes a file or directory of a treeFS.
type treeInfo struct {
	name string
	size int
	dir  bool
}

func (i treeInfo) Name() string       { return i.name }
func (i treeInfo) Size() int64        { return int64(i.size) }
func (i treeInfo) ModTime() time.Time { return time.Time{} }
func (i treeInfo) IsDir() bool        { return i.dir }
func (i treeInfo) Sys() any           { return nil }

func (i treeInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type treeFile struct {
	treeInfo
	*bytes.Reader
}

func (f *treeFile) Stat() (fs.FileInfo, error) { return f.treeInfo, nil }
func (f *treeFile) Close() error               { return nil }
func (f *treeFile) Size() int64                { return f.treeInfo.Size() }

type treeDir struct {
	treeInfo
	entries []fs.DirEntry
}

func (d *treeDir) Stat() (fs.FileInfo, error) { return d.treeInfo, nil }
func (d *treeDir) Close() error               { return nil }
func (d *treeDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: fs.ErrInvalid}
}

// ReadDir returns the next n entries, all of them for n <= 0.
func (d *treeDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		rest := d.entries
		d.entries = nil
		return rest, nil
	}
	if len(d.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.entries))
	next := d.entries[:n]
	d.entries = d.entries[n:]
	return next, nil
}
