package claim

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
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
