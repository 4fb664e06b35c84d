package claim

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

const (
	beatEvery  = 2 * time.Minute
	beatAgain  = 20 * time.Second // after one that failed
	beatLate   = 3 * time.Minute  // it goes first then
	guardLimit = 4 * time.Minute
	tellEvery  = 10 * time.Minute
)

// Options are what a Remote needs. Repo, Store, RepoID and Host are required.
type Options struct {
	Repo   remote.Repository
	Store  *gitrepo.Store // see OpenStore
	RepoID int64
	Host   HostID
	// OneSession: the host ends with its session, so the last release removes its beat, too.
	OneSession bool
	// ReadRun reads a run of GitHub Actions. If it is nil, no job is ever stale.
	ReadRun func(ctx context.Context, run int64) (RunState, error)
	Free    func() int // slots, for the beat; may be nil
	Clock   Clock
	Memory  *Memory       // of hosts, between processes; nil: none
	Write   time.Duration // from one write to the server to the next, for its Pace; 0: 1 s, below zero: none
	Log     *slog.Logger
}

// RunState is the state of a run of GitHub Actions.
type RunState struct {
	Attempt   int
	Completed bool
	Gone      bool // there is no such run any more
}

// Remote is a Desk whose claims are refs on the server.
type Remote struct {
	o      Options
	clock  Clock
	pace   *Pace
	server server

	mu      sync.Mutex
	list    listing
	sights  sights
	beat    beating
	held    map[int]*remoteHeld
	taking  map[int]bool  // issues whose claim is being taken
	changed chan struct{} // closed when there is something else to wait for
}

var _ Desk = (*Remote)(nil)

// NewRemote returns the desk of a host for a repository.
func NewRemote(o Options) *Remote {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	d := &Remote{
		o: o, clock: o.Clock.whole(), pace: NewPace(o.Clock, cmp.Or(o.Write, time.Second)), server: newServer(o.Repo, o.Store), list: newListing(o.RepoID), sights: newSights(),
		beat: beating{mine: map[string]bool{}}, held: map[int]*remoteHeld{}, taking: map[int]bool{}, changed: make(chan struct{}),
	}
	if o.Memory != nil {
		d.sights.hosts = o.Memory.recall(d.clock.Running())
	}
	return d
}

// Take is described at Desk.
func (d *Remote) Take(ctx context.Context, want Want) (Held, error) {
	return d.claim(ctx, want, Seen{Issue: want.Issue})
}

// Steal is described at Desk.
func (d *Remote) Steal(ctx context.Context, seen Seen, want Want) (Held, error) {
	if want.Issue != seen.Issue {
		return nil, fmt.Errorf("take over issue %d: issue %d is wanted", seen.Issue, want.Issue)
	}
	if err := d.fresh(ctx, true); err != nil {
		return nil, fmt.Errorf("take over issue %d: %w", seen.Issue, err)
	}
	d.mu.Lock()
	now, there := d.list.seen(seen.Issue)
	d.mu.Unlock()
	if !there && !want.Only {
		return d.Take(ctx, want) // it was released meanwhile
	}
	if now.ID != seen.ID {
		return nil, &TakenError{Seen: now}
	}
	why, err := d.Stale(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("take over issue %d: %w", seen.Issue, err)
	}
	if why == NotStale {
		return nil, &TakenError{Seen: now}
	}
	return d.claim(ctx, want, now)
}

// claim puts a claim of ours in the place of the one that was seen, or of none.
func (d *Remote) claim(ctx context.Context, want Want, over Seen) (Held, error) {
	if err := d.begin(want.Issue); err != nil {
		return nil, err
	}
	defer d.end(want.Issue)
	if want.State == Handover {
		return nil, fmt.Errorf("claim issue %d: bad state %s", want.Issue, want.State)
	}
	c := Claim{
		RepoID: d.o.RepoID, Issue: want.Issue, Session: want.Session, Trigger: want.Trigger, Host: d.o.Host,
		State: want.State, Gen: min(over.Claim.Gen+1, maxGen), At: d.clock.Now(),
	}
	id, err := d.writeOver(ctx, c, over.ID)
	if err != nil {
		return nil, fmt.Errorf("claim issue %d: %w", want.Issue, err)
	}
	at, start, err := d.push(ctx, swap{issue: want.Issue, old: over.ID, new: id, take: !want.Only, beat: d.o.Host.beats()})
	if err != nil {
		return nil, fmt.Errorf("claim issue %d: %w", want.Issue, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if at != id {
		now, _ := d.list.seen(want.Issue)
		return nil, &TakenError{Seen: now}
	}
	h := d.hold(Seen{Issue: want.Issue, ID: id, Claim: c})
	// Without the start of its push, or after a silence since, it is doubted.
	h.good, h.doubted = start, start.until(d.beat.landed) > guardLimit
	return h, nil
}

// begin refuses an issue that this desk holds or is claiming: both calls would take the
// other's commit for their own.
func (d *Remote) begin(issue int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.held[issue]; h != nil {
		return &TakenError{Seen: h.seen}
	}
	if d.taking[issue] {
		return fmt.Errorf("issue %d is being claimed", issue)
	}
	d.taking[issue] = true
	return nil
}

func (d *Remote) end(issue int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.taking, issue)
}

// writeOver is write for a claim that takes the place of another host's. That commit is read
// again: Collect may have removed it since.
func (d *Remote) writeOver(ctx context.Context, c Claim, over string) (string, error) {
	if over != "" {
		leave, err := d.server.enter(ctx)
		if err != nil {
			return "", err
		}
		defer leave()
		if err := d.readNow(ctx, []string{over}); err != nil {
			return "", err
		}
	}
	return d.write(ctx, c, over)
}

// write makes the commit of a claim and remembers it as ours before it is pushed.
func (d *Remote) write(ctx context.Context, c Claim, parent string) (string, error) {
	text, err := c.text()
	if err != nil {
		return "", err
	}
	id, err := remote.WriteRecord(ctx, d.o.Store, text, parent, c.At)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list.remember(c, id)
	return id, nil
}

// Adopt is described at Desk. The claim is doubted until it was renewed: the host was away, and
// another one may be about to take it.
func (d *Remote) Adopt(seen Seen) (Held, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, there := d.list.seen(seen.Issue)
	switch {
	case d.held[seen.Issue] != nil || d.taking[seen.Issue]:
		return nil, fmt.Errorf("adopt the claim of issue %d: it is held already", seen.Issue)
	case !there:
		return nil, &LostError{Issue: seen.Issue}
	case now.Claim.State == Handover:
		return nil, ErrReleased
	case now.ID != seen.ID || now.Claim.Host != d.o.Host:
		return nil, &LostError{Issue: seen.Issue, Host: now.Claim.Host}
	}
	d.list.remember(now.Claim, now.ID)
	return d.hold(now), nil
}

// hold makes a claim held, as one that is doubted. The caller has the lock.
func (d *Remote) hold(seen Seen) *remoteHeld {
	h := &remoteHeld{desk: d, issue: seen.Issue, seen: seen, doubted: true, lost: make(chan struct{})}
	d.held[seen.Issue] = h
	d.wake()
	return h
}

// wake lets Run look at what there is to wait for. The caller has the lock.
func (d *Remote) wake() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// Look is described at Desk.
func (d *Remote) Look(ctx context.Context) ([]Seen, error) {
	if err := d.fresh(ctx, true); err != nil {
		return nil, fmt.Errorf("read claims: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []Seen
	for _, issue := range slices.Sorted(maps.Keys(d.list.claims)) {
		seen, _ := d.list.seen(issue)
		if _, _, isJob := seen.Claim.Host.Job(); !isJob && seen.Problem == nil && seen.Claim.Host != d.o.Host {
			seen.Unproven = !d.sights.hosts[seen.Claim.Host].changed
		}
		all = append(all, seen)
	}
	return all, nil
}

// Leftovers is described at Desk.
func (d *Remote) Leftovers(ctx context.Context) ([]Seen, error) {
	all, err := d.Look(ctx)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(all, func(s Seen) bool {
		return s.Problem != nil || s.Claim.Host != d.o.Host || s.Claim.State == Handover || d.held[s.Issue] != nil || d.taking[s.Issue]
	}), nil
}
