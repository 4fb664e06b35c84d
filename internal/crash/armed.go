//go:build crash

package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// A point that is passed again and again is told apart by how often it was.
var armed struct {
	sync.Mutex
	log    *os.File
	at     string
	passed map[string]int
	all    int
}

// Arm makes this process write each point it passes to the file log, as "name#1" for the
// first time, and end by SIGKILL at the one called at, or at the one that is the at-th of
// all; with "" it ends by itself. A process that is not armed passes all points.
func Arm(log, at string) error {
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("arm crash points: %w", err)
	}
	armed.Lock()
	defer armed.Unlock()
	armed.log, armed.at, armed.passed = f, at, map[string]int{}
	return nil
}

// Point is a moment right behind a step; of is what the step was about, a path for
// instance, or "".
func Point(step, of string) {
	armed.Lock()
	defer armed.Unlock()
	if armed.log == nil {
		return
	}
	name := step
	if of != "" {
		name += " " + plain(of)
	}
	armed.passed[name]++
	armed.all++
	name = fmt.Sprintf("%s#%d", name, armed.passed[name])
	if _, err := fmt.Fprintln(armed.log, name); err != nil {
		panic(err)
	}
	if name == armed.at || strconv.Itoa(armed.all) == armed.at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // with the lock held: no goroutine passes another point
	}
}

var (
	digest  = regexp.MustCompile(`[0-9a-f]{16,}|-[0-9a-f]{8}\b`)
	stamp   = regexp.MustCompile(`[0-9]{8}-[0-9]{6}[a-z0-9-]*|[0-9]{14}[a-z0-9-]*`)
	number  = regexp.MustCompile(`[0-9]+`)
	nothing = strings.NewReplacer(" ", "-", "#", "-", "/", ":")
)

// plain is a name that is the same in every run: of a path its last two parts, without
// digests, times and numbers.
func plain(of string) string {
	if filepath.IsAbs(of) {
		of = filepath.Join(filepath.Base(filepath.Dir(of)), filepath.Base(of))
	}
	of = stamp.ReplaceAllString(digest.ReplaceAllString(of, "H"), "S")
	return nothing.Replace(number.ReplaceAllString(of, "N"))
}
