package gitrepo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
	disk "github.com/agentmux/agentmux/internal/durable"
)

// hostHead is the HEAD of a host repository: a branch that nobody makes. Git wants the file
// before it takes a directory for a repository.
const hostHead = "ref: refs/heads/none\n"

// DamagedError is a host repository that work of sessions was in and that cannot be used.
type DamagedError struct {
	Dir  string
	What string // what is wrong with it
	Owed string // a ref that a session's work is known by; "" if the place is not a directory
}

// Error names the place, what it held and the next step.
func (e *DamagedError) Error() string {
	owed := ""
	if e.Owed != "" {
		owed = ", and work of sessions was in it (" + e.Owed + ")"
	}
	return fmt.Sprintf("the host repository %s is damaged: %s%s; put it back from a backup, or move it away for a new one to be made: "+
		"a session whose work was in it then says so", e.Dir, e.What, owed)
}

// whole makes the directory one that git takes for a repository, and reports whether it is
// there. What is written again holds nothing of anybody. One without objects is set aside when
// no ref of a session is in it, and a *DamagedError otherwise.
func (h *Host) whole(ctx context.Context) (bool, error) {
	info, err := os.Lstat(h.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return false, &DamagedError{Dir: h.dir, What: "it is not a directory"}
	}
	if !isDir(filepath.Join(h.dir, "objects")) {
		return true, h.setAside(ctx)
	}
	// The refs may all be packed, and git removes directories that are empty.
	if refs := filepath.Join(h.dir, "refs"); !isDir(refs) {
		if err := os.Mkdir(refs, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		h.mended = append(h.mended, "refs")
		crash.Point("mend host repository", "refs")
	}
	head := filepath.Join(h.dir, "HEAD")
	if data, err := os.ReadFile(head); err == nil && strings.HasPrefix(string(data), "ref: refs/heads/") {
		return true, nil
	}
	if err := disk.Replace(head, []byte(hostHead)); err != nil {
		return false, err
	}
	h.mended = append(h.mended, "HEAD")
	crash.Point("mend host repository", "HEAD")
	return true, nil
}

// asideTime is how long one process waits for another that sets the same directory aside.
const asideTime = 10 * time.Second

// setAside moves a directory without objects out of the way, unless refs of sessions are in it,
// and makes the repository anew. The old one stays beside its place for people to look at. The
// lock is held until the new one is there, so that nobody moves that away.
func (h *Host) setAside(ctx context.Context) error {
	held, err := disk.LockWithin(h.dir+".lock", "", asideTime)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }() // ends with the process at the latest
	if isDir(filepath.Join(h.dir, "objects")) {
		return nil // another process was faster
	}
	owed, err := h.owed()
	if err != nil {
		return err
	}
	if owed != "" {
		return &DamagedError{Dir: h.dir, What: "its directory objects is missing", Owed: owed}
	}
	away := h.dir + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000")
	crash.Point("set host repository aside", "")
	switch err := os.Rename(h.dir, away); {
	case err == nil:
		h.mended = append(h.mended, "all of it: its objects were missing, and it is now "+away)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	crash.Point("host repository set aside", "")
	return h.create(ctx)
}

// owed is a ref of a session, as its files tell it: git does not read a repository without
// objects. What was fetched from elsewhere is still there.
func (h *Host) owed() (string, error) {
	const ours, fetched = "refs/agentmux/", "refs/agentmux/base/"
	isOwed := func(ref string) bool { return strings.HasPrefix(ref, ours) && !strings.HasPrefix(ref, fetched) }
	found := ""
	err := filepath.WalkDir(filepath.Join(h.dir, filepath.FromSlash(ours)), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		rel, relErr := filepath.Rel(h.dir, path)
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
	packed, err := os.Open(filepath.Join(h.dir, "packed-refs"))
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

// Mended names what was missing of the repository when it was opened, and is made again.
func (h *Host) Mended() []string { return h.mended }

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
