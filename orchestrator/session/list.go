package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/agentmux/agentmux/orchestrator"
)

// Entry is one session of a listing.
type Entry struct {
	Name    string
	Dir     string
	State   *orchestrator.State // nil if it cannot be read
	Err     error               // why
	Running bool                // some process hosts it
}

// Condition is one word or line for a listing: "corrupt: <reason>", the outcome,
// or what the session is doing.
func (e Entry) Condition() string {
	var corrupt *CorruptError
	switch {
	case errors.As(e.Err, &corrupt):
		return "corrupt: " + corrupt.Reason
	case e.Err != nil:
		return "corrupt: " + e.Err.Error()
	case e.State.Outcome != "":
		return string(e.State.Outcome)
	case e.State.Paused:
		return "paused"
	case e.Running:
		return "running"
	default:
		return "interrupted"
	}
}

// List returns a project's sessions, oldest name first. A session that cannot be
// read is in it with its error; half-made and overtaken ones are not, and no directory whose name could
// steer the terminal that shows it.
func List(project string) ([]Entry, error) {
	if err := CheckLinks(project); err != nil {
		return nil, err
	}
	found, err := os.ReadDir(Dir(project))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, fmt.Errorf("%s, where sessions are kept, cannot be read: %w", Dir(project), err)
	}
	var entries []Entry
	for _, e := range found {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !strings.Contains(e.Name(), ".tmp-") && !strings.Contains(e.Name(), OvertakenMark) && printable(e.Name()) {
			entries = append(entries, entry(filepath.Join(Dir(project), e.Name())))
		}
	}
	return entries, nil
}

func entry(dir string) Entry {
	e := Entry{Name: filepath.Base(dir), Dir: dir}
	s, err := Open(dir)
	if err != nil {
		e.Err = &CorruptError{Name: e.Name, Reason: "no " + StateFile + " and no " + StateBackup, Next: startAgain, cause: err}
		return e
	}
	e.Dir = s.Dir
	e.State, e.Err = s.ReadState()
	e.Running = Running(dir)
	return e
}

// Find returns the session that arg means in a project: a name, the only name
// that begins so, a directory, an issue as N, #N or owner/repo#N. A number is the
// beginning of a name only from a whole date on. An empty arg is the project's only
// session that can says yes to; can may be nil. The error is a *NotFoundError or an
// *AmbiguousError.
func Find(project, arg string, can func(Entry) bool) (Entry, error) {
	if e, ok := At(project, arg); ok {
		return e, nil
	}
	entries, err := List(project)
	if err != nil {
		return Entry{}, err
	}
	for _, e := range entries {
		if e.Name == arg {
			return e, nil
		}
	}
	fits := Among(entries, arg)
	meant := len(fits)
	if can != nil && (len(fits) != 1 || arg == "") {
		fits = selected(fits, can)
	}
	switch len(fits) {
	case 0:
		return Entry{}, &NotFoundError{What: arg, Unfit: meant}
	case 1:
		return fits[0], nil
	}
	names := make([]string, len(fits))
	for i, e := range fits {
		names[i] = e.Name
	}
	return Entry{}, &AmbiguousError{arg, names}
}

// At returns the session in the directory arg: absolute, or relative to the working directory
// or the project. It reports false for a word without a separator.
func At(project, arg string) (Entry, bool) {
	if !strings.ContainsRune(arg, filepath.Separator) && arg != "." {
		return Entry{}, false
	}
	for _, dir := range []string{arg, filepath.Join(project, arg)} {
		if s, err := Open(dir); err == nil {
			return entry(s.Dir), true
		}
	}
	return Entry{}, false
}

// dateOfName begins the names that are given to sessions. A shorter number is an issue's
// alone: "stop 2" must never stop the work on issue 1 because its name begins with 2026.
const dateOfName = "20060102"

var issueRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:([^/\s#]+/[^/\s#]+)?#)?(\d+)$`) })

// Among returns the sessions that arg means of those of a project, see Find.
func Among(entries []Entry, arg string) []Entry {
	if m := issueRule().FindStringSubmatch(arg); m != nil {
		number, err := strconv.Atoi(m[2])
		byIssue := selected(entries, func(e Entry) bool {
			return err == nil && e.State != nil && e.State.IssueNumber == number &&
				(m[1] == "" || strings.EqualFold(string(e.State.Repo), m[1]))
		})
		if len(byIssue) > 0 || arg != m[2] || len(arg) < len(dateOfName) {
			return byIssue
		}
	}
	return selected(entries, func(e Entry) bool { return strings.HasPrefix(e.Name, arg) })
}

func selected(entries []Entry, fits func(Entry) bool) []Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return !fits(e) })
}

func printable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
