// Package session owns the directory of one session: its name, its files, its
// lock, and the rules by which they are read and written.
//
// One directory is one session. The process that holds the lock is its host, and only
// the host commits: [Session.Commit] stores the blobs a step names, appends its
// records to events.jsonl and replaces state.json, each on disk before the next
// begins. The cursors of the line files are inside the state, so a kill between
// any two of these leaves a directory that [Session.Recover] brings back to the
// last committed state; records beyond it are cut, and the input that made them
// is read again.
//
// Line files (tool_events.jsonl, commands.jsonl) are hints with a memory: the
// reader trusts its cursor only as long as the file still holds the line the
// cursor describes, and starts from the beginning otherwise. Artifacts are read once; the bytes
// that were checked are the bytes in blobs/.
//
// Everything else may be read without the lock: the state, the records up to
// its seq, artifacts, the list of a project's sessions.
package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// Session is one session directory. Reading needs no lock; Commit, Recover and
// the writers of host files need it and belong to one goroutine, except Replace,
// PutBlob, Blob and the file functions of effects, which are safe for concurrent
// use.
type Session struct {
	// Dir is the absolute path of the session directory.
	Dir string

	disk durable.Disk // what is written is written through it
	held *durable.Held

	// What the host last wrote; valid while the lock is held.
	stateFile  fs.FileInfo
	eventsSize int64

	created *createdLog

	defOnce sync.Once
	def     *workflows.Definition
	defHash string
	defErr  error
}

// Open returns the session in dir, not locked. The error is a *NotFoundError if
// dir is not a session; a session whose state cannot be read is opened.
func Open(dir string) (*Session, error) { return OpenOn(dir, durable.Disk{}) }

// OpenOn is Open for a session that is written through disk. It is for tests of
// what a failing disk does; reading takes the files of this machine.
func OpenOn(dir string, disk durable.Disk) (*Session, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	s := &Session{Dir: abs, disk: disk}
	if !s.exists(StateFile) && !s.exists(StateBackup) {
		return nil, &NotFoundError{What: dir}
	}
	return s, nil
}

// OpenDamaged returns the session in dir whatever is left of its files, for those who end what
// it has running.
func OpenDamaged(dir string) (*Session, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	return &Session{Dir: abs}, nil
}

// Name is the last part of the directory's path.
func (s *Session) Name() string { return filepath.Base(s.Dir) }

// Path joins names below the session directory.
func (s *Session) Path(elem ...string) string {
	return filepath.Join(append([]string{s.Dir}, elem...)...)
}

// Owner is who holds a session's lock, as its text says. It is for people: the
// lock counts, not the text.
type Owner struct {
	PID      int    `json:"pid"`
	PIDStart string `json:"pid_start"`
	Host     string `json:"host"`
	Since    string `json:"since"`
}

// Lock makes this process the host. It waits up to retry for the present holder
// to let go, as a launcher does when it hands the session over; 0 means at once.
// The error is a *LockedError if the holder stays.
func (s *Session) Lock(retry time.Duration) error {
	held, err := lock(s.disk, s.Path(LockFile), retry)
	if errors.Is(err, durable.ErrLocked) && abandoned(s.Dir) {
		held, err = lock(s.disk, s.Path(LockFile), inheritTime)
	}
	if err != nil {
		return s.lockError(err)
	}
	s.held = held
	return nil
}

func lock(disk durable.Disk, path string, retry time.Duration) (*durable.Held, error) {
	text, err := json.Marshal(self(time.Now()))
	if err != nil {
		return nil, err
	}
	return disk.LockWithin(path, string(text)+"\n", retry)
}

func self(now time.Time) Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	pid := os.Getpid()
	return Owner{PID: pid, PIDStart: processStart(pid), Host: host, Since: orchestrator.Classic(now)}
}

// Locked reports whether this Session holds the lock.
func (s *Session) Locked() bool { return s.held != nil }

// Release lets the lock go. It may be called again.
func (s *Session) Release() error {
	if s.held == nil {
		return nil
	}
	held := s.held
	s.held = nil
	return held.Close()
}

// Close releases the lock, if held.
func (s *Session) Close() error { return s.Release() }

// Running reports whether some process hosts the session in dir. It disturbs
// a process that is about to take the lock.
func Running(dir string) bool {
	deadline := time.Now().Add(inheritTime)
	for {
		held, err := durable.Probe(filepath.Join(dir, LockFile))
		if err != nil || !held {
			return false
		}
		// A new holder writes its name a moment after it has the lock.
		if !abandoned(dir) || time.Now().After(deadline) {
			return true
		}
		<-time.After(probePause)
	}
}

// inheritTime is how long a lock is asked for again whose holder is gone: a child that the
// holder was about to start has a copy of it until it becomes its program or ends.
const inheritTime = 10 * time.Second

// probePause is between two looks at a lock whose holder is gone.
const probePause = 10 * time.Millisecond

// abandoned reports whether the process that the lock's text names is gone.
func abandoned(dir string) bool {
	o, me := Holder(dir), self(time.Time{})
	return o.PID > 0 && o.PIDStart != "" && o.Host == me.Host && processStart(o.PID) != o.PIDStart
}

// Holder returns what the lock's text says; the zero Owner if nothing.
func Holder(dir string) Owner {
	var o Owner
	data, err := readOwn(filepath.Join(dir, LockFile), 1<<16)
	if err != nil || json.Unmarshal(data, &o) != nil {
		return Owner{}
	}
	return o
}
