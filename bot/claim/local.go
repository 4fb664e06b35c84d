package claim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
)

// Local is a Desk whose claims are locks of this machine, for a server that refuses the refs of
// Remote. A lock ends with its process, so a claim is never stale and none is left over: what goes
// on takes it again.
type Local struct {
	dir    string
	repoID int64
	host   HostID
	now    func() time.Time
}

var _ Desk = (*Local)(nil)

// NewLocal returns the desk of a host for a repository. All hosts of the machine name one state
// home.
func NewLocal(stateHome string, repoID int64, host HostID, now func() time.Time) *Local {
	return &Local{dir: filepath.Join(stateHome, "claims", strconv.FormatInt(repoID, 10)), repoID: repoID, host: host, now: Clock{Now: now}.whole().Now}
}

const lockSuffix = ".lock"

func (d *Local) file(issue int) string { return filepath.Join(d.dir, strconv.Itoa(issue)+lockSuffix) }

// Take is described at Desk.
func (d *Local) Take(_ context.Context, want Want) (Held, error) {
	c := Claim{
		RepoID: d.repoID, Issue: want.Issue, Session: want.Session, Trigger: want.Trigger, Host: d.host,
		State: want.State, Gen: 1, At: d.now(),
	}
	text, err := c.text()
	if err == nil && want.State == Handover {
		err = fmt.Errorf("bad state %s", want.State)
	}
	if err == nil {
		err = durable.MkdirAll(d.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("claim issue %d: %w", want.Issue, err)
	}
	lock, err := durable.Lock(d.file(want.Issue), text)
	if errors.Is(err, durable.ErrLocked) {
		return nil, &TakenError{Seen: d.read(want.Issue)}
	}
	if err != nil {
		return nil, fmt.Errorf("claim issue %d: %w", want.Issue, err)
	}
	return &localHeld{desk: d, lock: lock, seen: Seen{Issue: want.Issue, Claim: c}, lost: make(chan struct{})}, nil
}

// Steal is described at Desk: it succeeds only if the lock was let go since.
func (d *Local) Steal(ctx context.Context, seen Seen, want Want) (Held, error) {
	if want.Only {
		return nil, &TakenError{Seen: seen}
	}
	return d.Take(ctx, want)
}

// Adopt is described at Desk: there is nothing to adopt.
func (d *Local) Adopt(seen Seen) (Held, error) { return nil, &LostError{Issue: seen.Issue} }

// Stale is described at Desk.
func (d *Local) Stale(context.Context, Seen) (Stale, error) { return NotStale, nil }

// Leftovers is described at Desk.
func (d *Local) Leftovers(context.Context) ([]Seen, error) { return nil, nil }

// Run is described at Desk: a lock needs no beat.
func (d *Local) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Look is described at Desk.
func (d *Local) Look(context.Context) ([]Seen, error) {
	entries, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read claims: %w", err)
	}
	var all []Seen
	for _, e := range entries {
		number, isLock := strings.CutSuffix(e.Name(), lockSuffix)
		issue, err := strconv.Atoi(number)
		if !isLock || err != nil {
			continue
		}
		held, err := durable.Probe(d.file(issue))
		if err != nil {
			return nil, fmt.Errorf("read claims: %w", err)
		}
		if held {
			all = append(all, d.read(issue))
		}
	}
	slices.SortFunc(all, func(a, b Seen) int { return a.Issue - b.Issue })
	return all, nil
}

// read is what the holder of a lock wrote into it.
func (d *Local) read(issue int) Seen {
	seen := Seen{Issue: issue}
	f, err := os.Open(d.file(issue))
	if err != nil {
		seen.Problem = err
		return seen
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLine+1))
	if err != nil {
		seen.Problem = err
		return seen
	}
	if seen.Claim, err = ParseClaim(string(text)); err == nil && (seen.Claim.Issue != issue || seen.Claim.RepoID != d.repoID) {
		seen.Claim, err = Claim{}, errors.New("it is the claim of another issue")
	}
	seen.Problem = err
	return seen
}

// localHeld is a claim of a Local.
type localHeld struct {
	desk *Local
	mu   sync.Mutex
	lock *durable.Held // nil once released
	seen Seen
	err  *LostError
	lost chan struct{}
}

func (h *localHeld) Seen() Seen {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen
}

func (h *localHeld) Lost() <-chan struct{} { return h.lost }

func (h *localHeld) Holder() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err.holder()
}

func (h *localHeld) Check(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.check()
}

// check also finds a lock file that was removed or replaced: others lock the new one.
func (h *localHeld) check() error {
	switch {
	case h.err != nil:
		return h.err
	case h.lock == nil:
		return ErrReleased
	case !h.lock.Valid(h.desk.file(h.seen.Issue)):
		h.err = &LostError{Issue: h.seen.Issue, Host: h.desk.read(h.seen.Issue).Claim.Host}
		close(h.lost)
		return h.err
	}
	return nil
}

func (h *localHeld) Mark(_ context.Context, to State) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.check(); err != nil {
		return err
	}
	c := h.seen.Claim
	if to == Handover {
		return h.release()
	}
	if c.State != Queued || to != Running {
		return fmt.Errorf("mark the claim of issue %d: it is %s and cannot become %s", c.Issue, c.State, to)
	}
	c.State, c.At = to, h.desk.now()
	text, err := c.text()
	if err == nil {
		// In place: the lock is on this file. What it says is for others to read, nothing more.
		err = os.WriteFile(h.desk.file(c.Issue), []byte(text), 0o600)
	}
	if err != nil {
		return fmt.Errorf("mark the claim of issue %d: %w", c.Issue, err)
	}
	h.seen.Claim = c
	return nil
}

func (h *localHeld) Release(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.check(); err != nil && !errors.Is(err, ErrReleased) {
		return err
	}
	return h.release()
}

// release removes the file before it lets go, so that no process locks a file that is about to go.
func (h *localHeld) release() error {
	if h.lock == nil {
		return nil
	}
	err := errors.Join(durable.Remove(h.desk.file(h.seen.Issue)), h.lock.Close())
	if err != nil {
		return fmt.Errorf("release issue %d: %w", h.seen.Issue, err)
	}
	h.lock = nil
	return nil
}
