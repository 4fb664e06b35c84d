package claim

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// HostID names a process that may hold claims: "h_" and 16 hex digits, or "a_<run>_<attempt>"
// for a job of GitHub Actions. It says nothing about the machine.
type HostID string

var hostRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:h_[0-9a-f]{16}|a_[1-9][0-9]{0,17}_[1-9][0-9]{0,8})$`)
})

// NewHostID returns an id that no other host has.
func NewHostID() HostID { return HostID("h_" + random()) }

// JobHostID is the id of a job of GitHub Actions.
func JobHostID(run int64, attempt int) HostID {
	return HostID(fmt.Sprintf("a_%d_%d", run, attempt))
}

// KeptHostID returns the id of the daemon of a state home, made once and kept in its file host_id.
func KeptHostID(stateHome string) (HostID, error) {
	file := filepath.Join(stateHome, "host_id")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeHostID(file); err == nil || errors.Is(err, fs.ErrExist) {
			data, err = os.ReadFile(file)
		}
	}
	if err != nil {
		return "", fmt.Errorf("read host id: %w", err)
	}
	id, err := ParseHostID(strings.TrimSpace(string(data)))
	if err != nil {
		return "", fmt.Errorf("read host id: %w; remove %s", err, file)
	}
	return id, nil
}

// makeHostID creates the file with its whole content at once, unless it exists.
func makeHostID(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	id := NewHostID().String()
	temp := file + ".tmp-" + id
	if err := os.WriteFile(temp, []byte(id+"\n"), 0o600); err != nil {
		return err
	}
	return errors.Join(os.Link(temp, file), os.Remove(temp))
}

// ParseHostID accepts the two forms and nothing else.
func ParseHostID(text string) (HostID, error) {
	if !hostRule().MatchString(text) {
		return "", fmt.Errorf("bad host id %.40q", text)
	}
	return HostID(text), nil
}

// String is the id as it stands in refs and files.
func (h HostID) String() string { return string(h) }

// Job returns the run and the attempt of a job; ok is false for any other host.
func (h HostID) Job() (run int64, attempt int, ok bool) {
	rest, isJob := strings.CutPrefix(string(h), "a_")
	first, second, _ := strings.Cut(rest, "_")
	run, err := strconv.ParseInt(first, 10, 64)
	attempt, err2 := strconv.Atoi(second)
	if !isJob || err != nil || err2 != nil {
		return 0, 0, false
	}
	return run, attempt, true
}

// beats reports whether the host tells by a ref that it lives. A job does not: its run tells.
func (h HostID) beats() bool {
	_, _, job := h.Job()
	return !job
}

// random returns 16 hex digits.
func random() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails since Go 1.24
	return hex.EncodeToString(b)
}
