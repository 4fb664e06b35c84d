package ticket

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// version is the one of the files that this program writes.
const version = 1

// Ticket is a request that waits for its slot.
type Ticket struct {
	Version  int         `json:"version"`
	Repo     ghsync.Repo `json:"repo"`
	RepoID   int64       `json:"repo_id"`
	Issue    int         `json:"issue"`
	Session  string      `json:"session"`  // its name
	Identity string      `json:"identity"` // its identity
	Workflow string      `json:"workflow"` // that was asked for; empty: the configured one

	Trigger   gate.Trigger   `json:"trigger"`
	With      []gate.Trigger `json:"with,omitempty"`
	Actor     ghsync.Account `json:"actor"`
	Requested time.Time      `json:"requested"` // the time of the trigger
	Made      time.Time      `json:"made"`
	Locked    bool           `json:"locked,omitempty"` // the issue took no comments

	Snapshot *ghsync.Snapshot `json:"snapshot"`
	// Dropped says why the ticket is not to begin; it goes when its issue was told so.
	Dropped string `json:"dropped,omitempty"`
	// Stopped is when a person asked for that, by the server; zero: none did. What was asked before goes, too.
	Stopped time.Time `json:"stopped,omitzero"`
	Taken   bool      `json:"taken,omitempty"` // from another host, which may have made the comment
	Lost    bool      `json:"lost,omitempty"`  // it was a session, on a host that is gone
	Saved   bool      `json:"saved,omitempty"` // it was one, and is continued from its checkpoint
	// Claimed, of one that is taken, is when the other host claimed it: its comment was changed after that.
	Claimed time.Time `json:"claimed,omitzero"`
	// Former is a session that was lost with its host; nil: there is none, or its comment says so.
	Former *Former `json:"former,omitempty"`
}

// Began is when the first host that had the ticket may have made its comment.
func (t Ticket) Began() time.Time {
	if t.Taken && !t.Claimed.IsZero() && t.Claimed.Before(t.Made) {
		return t.Claimed
	}
	return t.Made
}

// Asked is when it was asked for, as far as is known.
func (t Ticket) Asked() time.Time {
	if t.Requested.IsZero() {
		return t.Made
	}
	return t.Requested
}

// Former is the session of a host that is gone, which the session of a ticket follows.
type Former struct {
	Session  string    `json:"session"`
	Identity string    `json:"identity"`
	Claimed  time.Time `json:"claimed"` // its comment was changed after that
	Why      string    `json:"why"`     // it is lost
}

// Key names the ticket among those of all repositories.
func (t Ticket) Key() Key { return Key{t.RepoID, t.Issue} }

// Key is an issue of a repository.
type Key struct {
	RepoID int64
	Issue  int
}

// ErrNewer says that a newer agentmux wrote a ticket.
var ErrNewer = errors.New("it was written by a newer agentmux")

// A Problem is a file that is not a ticket.
type Problem struct {
	Issue int    // 0: the name is not the one of a ticket
	File  string // where it is now
	Err   error  // ErrNewer, or why it cannot be read
}

func (p Problem) Error() string { return fmt.Sprintf("%s is not a ticket: %v", p.File, p.Err) }

func (p Problem) Unwrap() error { return p.Err }

// What tells what becomes of the file and its issue.
func (p Problem) What() string {
	if errors.Is(p.Err, ErrNewer) {
		return "a ticket is left to the newer version that wrote it, and its issue waits"
	}
	return "a ticket is damaged; its issue is judged again if it still asks"
}

// A Shelf holds the tickets of a repository.
type Shelf struct{ dir string }

// Of returns the shelf of a managed project. It touches nothing.
func Of(project string) Shelf { return Shelf{filepath.Join(project, "tickets")} }

func (s Shelf) file(issue int) string { return filepath.Join(s.dir, strconv.Itoa(issue)+".json") }

// Placard is the file in which the placard of an issue's ticket keeps what it did.
func (s Shelf) Placard(issue int) string {
	return filepath.Join(s.dir, strconv.Itoa(issue)+".placard.json")
}

// Former is the file of the placard of the session that an issue's ticket follows.
func (s Shelf) Former(issue int) string {
	return filepath.Join(s.dir, strconv.Itoa(issue)+".former.json")
}

// Ledger is what the placard of a ticket did, for the mirror of its session; nil if it did nothing.
func (s Shelf) Ledger(issue int) ([]byte, error) {
	data, err := session.ReadFile(s.Placard(issue))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Write puts a ticket on the shelf, in the place of an earlier version of it. It is on disk when
// Write returns.
func (s Shelf) Write(t Ticket) error {
	t.Version = version
	if err := t.check(t.Issue); err != nil {
		return fmt.Errorf("write ticket: %w", err)
	}
	data, err := json.Marshal(t)
	if err == nil {
		err = durable.MkdirAll(s.dir)
	}
	if err == nil {
		err = durable.Replace(s.file(t.Issue), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write ticket of issue %d: %w", t.Issue, err)
	}
	return nil
}

// Remove takes a ticket and its placard's file off the shelf; it succeeds if they are not there.
// The ticket goes behind them: while it is there, a start finds what to do next. What asked to drop it goes last, so that
// a kill never leaves the ticket without it.
func (s Shelf) Remove(issue int) error {
	for _, file := range []string{s.Former(issue), s.Placard(issue), s.file(issue), s.stopFile(issue)} {
		if err := durable.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove ticket of issue %d: %w", issue, err)
		}
	}
	return nil
}

// Read returns the ticket of an issue. The error is fs.ErrNotExist without one, else a Problem.
func (s Shelf) Read(issue int) (Ticket, error) {
	file := s.file(issue)
	data, err := session.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Ticket{}, err
	}
	var t Ticket
	if err == nil {
		t, err = parse(data, issue)
	}
	if err != nil {
		return Ticket{}, Problem{Issue: issue, File: file, Err: err}
	}
	t.Dropped = cmp.Or(t.Dropped, s.stopped(t).Why)
	return t, nil
}

// stopFile is what a person asked at a terminal: that the ticket does not begin.
type stopFile struct {
	Session string `json:"session"` // of the ticket; a later ticket of the issue is another request
	Why     string `json:"why"`
	// At is when, by the clock of this machine.
	At time.Time `json:"at,omitzero"`
}

func (s Shelf) stopFile(issue int) string {
	return filepath.Join(s.dir, strconv.Itoa(issue)+".stop.json")
}

// Stop asks the owner of the shelf to drop a ticket: from now on Read returns it as dropped. at is now, by the clock of this
// machine. It is for those who do not own the directory, and is on disk when Stop returns. A ticket that is gone by then is success.
func (s Shelf) Stop(t Ticket, why string, at time.Time) error {
	data, err := json.Marshal(stopFile{Session: t.Session, Why: why, At: at})
	if err == nil {
		err = durable.Replace(s.stopFile(t.Issue), append(data, '\n'))
	}
	if _, gone := os.Lstat(s.file(t.Issue)); err == nil && errors.Is(gone, fs.ErrNotExist) {
		// Its owner, who removes both, has not seen the file. The session may be a ticket again.
		if err = durable.Remove(s.stopFile(t.Issue)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("stop ticket of issue %d: %w", t.Issue, err)
	}
	return nil
}

// Drop notes on the ticket of an issue why it is not to begin, and when a person asked for that (the zero time: none did),
// unless it says so already. It returns the zero Ticket without one.
func (s Shelf) Drop(issue int, why string, asked time.Time) (Ticket, error) {
	t, err := s.Read(issue)
	if errors.Is(err, fs.ErrNotExist) {
		return Ticket{}, nil
	}
	if first := t.Dropped == ""; err == nil && (first || t.Stopped.IsZero() && !asked.IsZero()) {
		t.Dropped, t.Stopped = cmp.Or(t.Dropped, why), asked
		err = s.Write(t)
	}
	return t, err
}

// Stopped returns the ticket of a session that a person has asked to drop; the error is fs.ErrNotExist without one.
func (s Shelf) Stopped(name string) (Ticket, error) {
	tickets, _, err := s.Peek()
	for _, t := range tickets {
		if t.Session == name && t.Dropped != "" {
			return t, nil
		}
	}
	return Ticket{}, errors.Join(err, fs.ErrNotExist)
}

// stopped is what a person asked about a ticket; the zero value if none did. A file that cannot be read asks for nothing.
func (s Shelf) stopped(t Ticket) stopFile {
	var f stopFile
	if data, err := session.ReadFile(s.stopFile(t.Issue)); err != nil || json.Unmarshal(data, &f) != nil || f.Session != t.Session {
		return stopFile{}
	}
	return f
}

// Dated returns a ticket with the time of a stop that its owner was not there to hear, which it notes. The clock of the server
// is ahead of this machine's.
func (s Shelf) Dated(t Ticket, ahead time.Duration) (Ticket, error) {
	f := s.stopped(t)
	if f.At.IsZero() || !t.Stopped.IsZero() {
		return t, nil
	}
	return s.Drop(t.Issue, f.Why, f.At.Add(ahead))
}

// Served are the triggers whose request labels the placard of an issue's ticket takes off; none without one.
func (s Shelf) Served(issue int) []gate.Trigger {
	t, err := s.Read(issue)
	if err != nil || t.Saved { // the placard of a saved one shows nothing
		return nil
	}
	return append(slices.Clone(t.With), t.Trigger)
}

// Ends reports whether what holds an issue is over, and only its claim is left: the ticket, if it is dropped or its request
// refused, or without one the session, if that has ended.
func (s Shelf) Ends(issue int, ended bool, refused func(int, gate.Trigger) bool) bool {
	t, err := s.Read(issue)
	if err != nil {
		return ended && errors.Is(err, fs.ErrNotExist)
	}
	return t.Dropped != "" || refused(issue, t.Trigger)
}

// Unread reports whether an issue has a ticket that cannot be read: one of a newer version, which takes it up, or a damaged one.
func (s Shelf) Unread(issue int) bool {
	_, err := s.Read(issue)
	return errors.As(err, new(Problem))
}

func parse(data []byte, issue int) (Ticket, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Ticket{}, errors.New("it is not JSON, or cut off")
	}
	if head.Version > version {
		return Ticket{}, ErrNewer
	}
	var t Ticket
	if err := json.Unmarshal(data, &t); err != nil {
		return Ticket{}, err
	}
	return t, t.check(issue)
}

// check tells what keeps a ticket from being one of an issue.
func (t Ticket) check(issue int) error {
	switch {
	case t.Issue < 1 || t.Issue != issue:
		return fmt.Errorf("it is of issue %d", t.Issue)
	case t.RepoID < 1:
		return errors.New("it names no repository")
	case !session.ValidName(t.Session) || !session.ValidIdentity(t.Identity):
		return errors.New("it names no session")
	case t.Snapshot == nil || t.Snapshot.Issue != t.Issue:
		return errors.New("it has no snapshot of its issue")
	}
	return nil
}

// List returns the tickets by issue. A file that cannot be read is moved aside, so that it is
// told once; one of a newer version stays.
func (s Shelf) List() ([]Ticket, []Problem, error) {
	tickets, problems, err := s.Peek()
	for i, p := range problems {
		problems[i] = s.aside(p)
	}
	return tickets, problems, err
}

// Peek is List for those who do not own the directory: every file stays where it is.
func (s Shelf) Peek() ([]Ticket, []Problem, error) {
	found, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("list tickets: %w", err)
	}
	var tickets []Ticket
	var problems []Problem
	for _, e := range found {
		number, isTicket := strings.CutSuffix(e.Name(), ".json")
		issue, err := strconv.Atoi(number)
		if !isTicket || err != nil || issue < 1 {
			continue
		}
		t, err := s.Read(issue)
		var p Problem
		switch {
		case err == nil:
			tickets = append(tickets, t)
		case errors.As(err, &p):
			problems = append(problems, p)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, nil, err
		}
	}
	slices.SortFunc(tickets, func(a, b Ticket) int { return a.Issue - b.Issue })
	return tickets, problems, nil
}

// aside moves a damaged file away.
func (s Shelf) aside(p Problem) Problem {
	if errors.Is(p.Err, ErrNewer) {
		return p
	}
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.damaged-%d", p.File, n)
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if os.Rename(p.File, to) == nil {
			p.File = to
		}
		return p
	}
}

// IsFree reports whether no session of the project has a name.
func IsFree(project, name string) bool {
	_, err := os.Lstat(filepath.Join(session.Dir(project), name))
	return errors.Is(err, fs.ErrNotExist)
}

// FreeName is a name for the next session of an issue that no session of the project has.
func FreeName(project string, issue int, title string, now time.Time) string {
	first := session.Name(now, session.IssueSlug(issue, title))
	name := first
	for n := 2; ; n++ {
		if IsFree(project, name) {
			return name
		}
		name = fmt.Sprintf("%s-%d", first, n)
	}
}
