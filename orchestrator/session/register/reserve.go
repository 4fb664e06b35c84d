package register

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// reservation keeps a branch of a repository for the session that chose it, which makes the
// branch at its end only.
type reservation struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	ID     string `json:"id"`
	By     *maker `json:"by,omitempty"` // nil: not known
}

// turnWait is how long a session waits for others that reserve their branches.
const turnWait = time.Minute

// reservedAtLeast is how long a reservation counts whose session is not there: it may be about
// to be made. A start that fails gives back its own at once, and what one has reserved that was killed
// is free with the end of its process; this is for one of which that is not known.
const reservedAtLeast = time.Minute

// Reserve keeps a branch of a repository for the session with an identity, and reports whether
// it is that session's. A session that is gone keeps none.
func (r Register) Reserve(repo, branch, id string) (bool, error) {
	ok, err := r.reserve(repo, branch, id)
	if err != nil {
		return false, fmt.Errorf("reserve branch %s: %w", branch, err)
	}
	return ok, nil
}

func (r Register) reserve(repo, branch, id string) (bool, error) {
	if err := durable.MkdirAll(r.branches()); err != nil {
		return false, err
	}
	turn, err := durable.LockWithin(filepath.Join(r.branches(), ".lock"), "", turnWait)
	if err != nil {
		return false, err
	}
	defer func() { _ = turn.Close() }() // ends with the process at the latest
	file := filepath.Join(r.branches(), fileName(repo, branch)+".json")
	var there reservation
	data, err := session.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, err
	case json.Unmarshal(data, &there) == nil && there.ID != id && r.holds(file, there):
		return false, nil
	}
	if data, err = json.Marshal(reservation{Repo: repo, Branch: branch, ID: id, By: thisProcess()}); err != nil {
		return false, err
	}
	return true, durable.Replace(file, append(data, '\n'))
}

// Holder returns the identity of the session that keeps a branch; "" if none does.
func (r Register) Holder(repo, branch string) string {
	file := filepath.Join(r.branches(), fileName(repo, branch)+".json")
	var there reservation
	if data, err := session.ReadFile(file); err != nil || json.Unmarshal(data, &there) != nil || !r.holds(file, there) {
		return ""
	}
	return there.ID
}

// holds reports whether the session of a reservation is there, or may be soon.
func (r Register) holds(file string, there reservation) bool {
	if info, err := os.Lstat(file); err == nil && time.Since(info.ModTime()) < reservedAtLeast && !there.By.gone() {
		return true
	}
	note, err := r.Read(there.ID)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	_, err = os.Lstat(note.Path)
	return !errors.Is(err, fs.ErrNotExist)
}

// GiveBack forgets the sessions that were to be made and were not, and frees what they had reserved. One
// that is there keeps everything.
func (r Register) GiveBack(ids ...string) error {
	var failed error
	for _, id := range slices.Compact(ids) {
		made, err := r.made(id)
		if err == nil && !made {
			err = r.Remove(id)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// made reports whether the session with an identity is where it was noted, or may be.
func (r Register) made(id string) (bool, error) {
	note, err := r.Read(id)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	there, err := session.Open(note.Path)
	if err != nil {
		return false, nil //nolint:nilerr // there is no session
	}
	s, err := there.ReadState()
	return err != nil || s.Identity == id, nil //nolint:nilerr // what cannot be read may be it
}

// release gives back what a session that is removed had reserved.
func (r Register) release(id string) error {
	found, err := os.ReadDir(r.branches())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	turn, err := durable.LockWithin(filepath.Join(r.branches(), ".lock"), "", turnWait)
	if err != nil {
		return err
	}
	defer func() { _ = turn.Close() }() // ends with the process at the latest
	for _, e := range found {
		var there reservation
		file := filepath.Join(r.branches(), e.Name())
		data, readErr := session.ReadFile(file)
		if readErr == nil && json.Unmarshal(data, &there) == nil && there.ID == id {
			err = errors.Join(err, os.Remove(file))
		}
	}
	return err
}

// fileName names a reservation.
func fileName(repo, branch string) string {
	sum := sha256.Sum256([]byte(repo + "\x00" + branch))
	return hex.EncodeToString(sum[:])
}

func (r Register) branches() string { return filepath.Join(r.dir, "branches") }
