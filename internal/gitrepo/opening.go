package gitrepo

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
	disk "github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// opening is a store that is being opened: looked for, mended, made.
type opening struct {
	dir    string
	mended []string // what was missing
}

func (o *opening) open(ctx context.Context) error {
	there, err := o.whole(ctx)
	if err == nil && !there {
		err = o.create(ctx)
	}
	return err
}

// whole makes the directory one that git takes for a repository, and reports whether it is
// there. What is written again holds no work. One without objects is set aside when
// no ref of a session is in it, and a *DamagedError otherwise.
func (o *opening) whole(ctx context.Context) (bool, error) {
	info, err := os.Lstat(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return false, &DamagedError{Dir: o.dir, What: "it is not a directory"}
	}
	if !isDir(filepath.Join(o.dir, "objects")) {
		return true, o.setAside(ctx)
	}
	// The refs may all be packed, and git removes directories that are empty.
	if refs := filepath.Join(o.dir, "refs"); !isDir(refs) {
		if err := os.Mkdir(refs, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		o.mended = append(o.mended, "refs")
		crash.Point("mend store", "refs")
	}
	head := filepath.Join(o.dir, "HEAD")
	if data, err := os.ReadFile(head); err == nil && strings.HasPrefix(string(data), "ref: refs/heads/") {
		return true, nil
	}
	if err := disk.Replace(head, []byte(storeHead)); err != nil {
		return false, err
	}
	o.mended = append(o.mended, "HEAD")
	crash.Point("mend store", "HEAD")
	return true, nil
}

// asideTime is how long one process waits for another that sets the same directory aside.
const asideTime = 10 * time.Second

// setAside moves a directory without objects out of the way, unless refs of sessions are in it,
// and makes the repository again. The old one stays beside its place for people to look at. The
// lock is held until the new one is there, so that no other process moves that away.
func (o *opening) setAside(ctx context.Context) error {
	held, err := disk.LockWithin(o.dir+".lock", "", asideTime)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }() // ends with the process at the latest
	if isDir(filepath.Join(o.dir, "objects")) {
		return nil // another process was faster
	}
	owed, err := o.owed()
	if err != nil {
		return err
	}
	if owed != "" {
		return &DamagedError{Dir: o.dir, What: "its directory objects is missing", Owed: owed}
	}
	away := o.dir + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000")
	crash.Point("set store aside", "")
	switch err := os.Rename(o.dir, away); {
	case err == nil:
		o.mended = append(o.mended, "all of it: its objects were missing, and it is now "+away)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	crash.Point("store set aside", "")
	return o.create(ctx)
}

// owed is a ref of a session, as its files tell it: git does not read a repository without
// objects. What was fetched from elsewhere is still there.
func (o *opening) owed() (string, error) {
	const kept, fetched = "refs/agentmux/", "refs/agentmux/base/"
	isOwed := func(ref string) bool { return strings.HasPrefix(ref, kept) && !strings.HasPrefix(ref, fetched) }
	found := ""
	err := filepath.WalkDir(filepath.Join(o.dir, filepath.FromSlash(kept)), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		rel, relErr := filepath.Rel(o.dir, path)
		if err = errors.Join(err, relErr); err != nil {
			return err
		}
		if ref := filepath.ToSlash(rel); !d.IsDir() && isOwed(ref) {
			found = ref
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || found != "" {
		return found, err
	}
	packed, err := os.Open(filepath.Join(o.dir, "packed-refs"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer packed.Close()
	lines := bufio.NewScanner(packed)
	for lines.Scan() {
		if _, ref, _ := strings.Cut(lines.Text(), " "); isOwed(ref) {
			return ref, nil
		}
	}
	return "", lines.Err()
}

// create makes the repository beside its place and renames it, so that it is seen
// whole or not at all.
func (o *opening) create(ctx context.Context) error {
	parent := filepath.Dir(o.dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	init := git.Call{Dir: tmp, Args: []string{"init", "-q", "--bare", "--template=", "-b", "none", tmp}}
	if _, err := init.Run(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "config"), []byte(storeConfig), 0o600); err != nil {
		return err
	}
	crash.Point("make store", "")
	err = os.Rename(tmp, o.dir)
	crash.Point("rename store", "")
	if _, statErr := os.Stat(filepath.Join(o.dir, "HEAD")); err != nil && statErr != nil {
		return err
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
