// Package queue gives the slots of a machine to the tickets of all repositories, in their order. It is
// used by the bot. It knows no session: who has a slot says when it is not needed.
//
// Promises: at most as many entries begin as there are slots, each once for a slot; none begins whose
// repository, person or machine is at a limit, or while a person has paused the bot; those that wait
// are told their place and the reason when it changes. A session that goes on after it gave its slot
// back is not kept waiting, so more than Slots can be at work for a while; none begins meanwhile.
//
// It stores nothing: tickets are on disk, and who got a turn last is forgotten with the process.
package queue

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
)

const (
	admissionPause = 10 * time.Second // between two looks at what this machine has
	machinePause   = time.Minute      // until a ticket that lacked something is tried again
	pullsTime      = time.Minute      // for which the number of open pull requests counts
)

// Entry is a ticket that waits.
type Entry interface {
	Ticket() ticket.Ticket
	// Begin is called when the ticket has a slot. It must not block.
	Begin()
	// Tell is called with what the ticket waits for. It must not block.
	Tell(comment.Waiting)
}

// A Machine says what this machine lacks for another session.
type Machine interface {
	// Lacks names what is missing now; empty if a session can begin.
	Lacks(ctx context.Context) []string
	// Paused reports whether a person keeps new sessions from beginning.
	Paused() bool
}

// Options are what a Queue needs; all are required.
type Options struct {
	Slots   int
	Machine Machine
	Gate    config.Gate // rates and limits
	Now     func() time.Time
	// History is what was started in a repository, and OpenPulls counts the open pull requests of
	// the account there.
	History   func(repo int64) gate.History
	OpenPulls func(ctx context.Context, repo int64) gate.Count
}

// Queue is safe for concurrent use.
type Queue struct {
	o    Options
	wake chan struct{}

	mu      sync.Mutex
	waiting map[ticket.Key]*place
	taken   map[ticket.Key]bool  // sessions that are starting or at work
	begun   map[ticket.Key]int64 // who asked for those that History does not count yet
	turns   ticket.Turns
	pulls   map[int64]pullCount // by repository
	lacks   []string            // what the machine lacked last
}

// place is an entry that waits.
type place struct {
	entry Entry
	ticket.Ticket
	lacked    string // what kept it from beginning
	reason    string // why it waits, as it was told last
	notBefore time.Time
}

// pullCount is how many open pull requests of the account a repository had at a time.
type pullCount struct {
	gate.Count
	at time.Time
}

// New returns an empty queue, which gives no slot before Run runs.
func New(o Options) *Queue {
	return &Queue{o: o, wake: make(chan struct{}, 1), waiting: map[ticket.Key]*place{}, taken: map[ticket.Key]bool{}, begun: map[ticket.Key]int64{}, pulls: map[int64]pullCount{}}
}

// Add puts an entry into the queue.
func (q *Queue) Add(e Entry) { q.put(&place{entry: e, Ticket: e.Ticket()}) }

// Again puts an entry back that has a slot and could not begin. It gets no other slot for a minute,
// and is told what it lacked meanwhile.
func (q *Queue) Again(e Entry, lacked string) {
	q.put(&place{entry: e, Ticket: e.Ticket(), lacked: lacked, notBefore: q.o.Now().Add(machinePause)})
}

func (q *Queue) put(p *place) {
	q.mu.Lock()
	q.waiting[p.Key()] = p
	delete(q.taken, p.Key())
	delete(q.begun, p.Key())
	q.mu.Unlock()
	q.Rouse()
}

// Counted notes that History counts the session of a ticket that has begun.
func (q *Queue) Counted(key ticket.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.begun, key)
}

// Remove takes the entry of a ticket out of the queue; nil if it has begun or there is none.
func (q *Queue) Remove(key ticket.Key) Entry {
	q.mu.Lock()
	p := q.waiting[key]
	delete(q.waiting, key)
	q.mu.Unlock()
	if p == nil {
		return nil
	}
	q.Rouse()
	return p.entry
}

// Rouse has the order judged anew.
func (q *Queue) Rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Hold notes that the session of an issue is at work, which takes a slot.
func (q *Queue) Hold(key ticket.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken[key] = true
}

// Yield gives the slot of a session back.
func (q *Queue) Yield(key ticket.Key) {
	q.mu.Lock()
	_, had := q.taken[key]
	delete(q.taken, key)
	delete(q.begun, key)
	q.mu.Unlock()
	if had {
		q.Rouse()
	}
}

// Free is how many slots are free.
func (q *Queue) Free() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(0, q.o.Slots-len(q.taken))
}

// Load is what the gate judges of this machine for a repository.
func (q *Queue) Load(repo int64) gate.Load {
	q.mu.Lock()
	defer q.mu.Unlock()
	return gate.Load{Running: q.runningIn(repo), FreeSlot: len(q.taken) < q.o.Slots && len(q.waiting) == 0, Paused: q.o.Machine.Paused()}
}

// Room reports whether a ticket that is added now would find a slot and a machine that lacks nothing.
func (q *Queue) Room(ctx context.Context) bool {
	load := q.Load(0)
	return load.FreeSlot && !load.Paused && len(q.o.Machine.Lacks(ctx)) == 0
}

// Waits reports whether a repository has a ticket.
func (q *Queue) Waits(repo int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key := range q.waiting {
		if key.RepoID == repo {
			return true
		}
	}
	return false
}

// Facts are how a Queue does.
type Facts struct {
	Tickets int
	Oldest  time.Duration // for which the oldest ticket has waited
	Waits   string        // why it does
	Taken   int           // slots
	Lacks   []string      // of this machine
}

// Facts returns how the queue does.
func (q *Queue) Facts() Facts {
	now := q.o.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	f := Facts{Tickets: len(q.waiting), Taken: len(q.taken), Lacks: q.lacks}
	for _, p := range q.waiting {
		if waited := max(0, now.Sub(p.Made)); waited >= f.Oldest {
			f.Oldest, f.Waits = waited, p.reason
		}
	}
	return f
}

func (q *Queue) runningIn(repo int64) int {
	n := 0
	for key := range q.taken {
		if key.RepoID == repo {
			n++
		}
	}
	return n
}

// begunBy counts the tickets of a person in a repository that have begun and are not in the history
// yet: several begin in one turn, and each counts for the next.
func (q *Queue) begunBy(t ticket.Ticket) int {
	n := 0
	for key, actor := range q.begun {
		if key.RepoID == t.RepoID && actor == t.Actor.ID {
			n++
		}
	}
	return n
}

// history is that of a repository, with what has begun since.
type history struct {
	gate.History
	begun int
}

func (h history) StartsBy(actor int64, within time.Duration) int {
	n := h.begun
	if h.History != nil {
		n += h.History.StartsBy(actor, within)
	}
	return n
}

// Run gives slots until ctx ends.
func (q *Queue) Run(ctx context.Context) {
	tick := time.NewTicker(admissionPause)
	defer tick.Stop()
	for ctx.Err() == nil {
		q.Turn(ctx)
		select {
		case <-ctx.Done():
		case <-q.wake:
		case <-tick.C:
		}
	}
}

// Turn gives the free slots to the first tickets that may have one, and tells the others why they
// wait. Run does that; it is for a caller with a clock of its own.
func (q *Queue) Turn(ctx context.Context) {
	q.mu.Lock()
	order := q.order()
	q.mu.Unlock()
	if len(order) == 0 {
		return
	}
	lacks, paused, now := q.o.Machine.Lacks(ctx), q.o.Machine.Paused(), q.o.Now()
	q.mu.Lock()
	q.lacks = lacks
	q.mu.Unlock()
	var rest []*place
	var reasons []string
	for _, p := range order {
		reason := q.reason(ctx, p, lacks, paused, now)
		if reason == "" && q.start(p) {
			continue
		}
		rest, reasons = append(rest, p), append(reasons, reason)
	}
	slot := q.slotReason()
	for i, p := range rest {
		reason := cmp.Or(reasons[i], slot)
		q.mu.Lock()
		p.reason = reason
		q.mu.Unlock()
		p.entry.Tell(comment.Waiting{Place: i + 1, Of: len(rest), Reason: reason})
	}
}

// order lists the tickets that have not begun. The caller has the lock.
func (q *Queue) order() []*place {
	tickets := make([]ticket.Ticket, 0, len(q.waiting))
	for _, p := range q.waiting {
		tickets = append(tickets, p.Ticket)
	}
	list := make([]*place, 0, len(tickets))
	for _, t := range ticket.Order(tickets, q.turns) {
		list = append(list, q.waiting[t.Key()])
	}
	return list
}

func (q *Queue) slotReason() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.o.Slots == 1 {
		return "for the slot, which is taken"
	}
	return fmt.Sprintf("for a slot, %d of %d are taken", min(len(q.taken), q.o.Slots), q.o.Slots)
}

// reason says why a ticket has to wait although its turn has come; "" if it has not.
func (q *Queue) reason(ctx context.Context, p *place, lacks []string, paused bool, now time.Time) string {
	if p.lacked != "" && now.Before(p.notBefore) {
		return p.lacked
	}
	q.mu.Lock()
	running, begun := q.runningIn(p.RepoID), q.begunBy(p.Ticket)
	q.mu.Unlock()
	turn := gate.Turn{
		Actor: p.Actor.ID, Gate: q.o.Gate, History: history{q.o.History(p.RepoID), begun},
		Load: gate.Load{Running: running, FreeSlot: true, Paused: paused}, // start looks for a slot
	}
	for {
		d, need := turn.Judge()
		switch {
		case need.OpenPulls:
			turn.Load.OpenPulls = q.openPulls(ctx, p.RepoID, now)
			continue
		case d.What != gate.Start:
			return d.Reason
		case len(lacks) > 0:
			return lacks[0]
		}
		return ""
	}
}

// openPulls counts the open pull requests of a repository, not too often.
func (q *Queue) openPulls(ctx context.Context, repo int64, now time.Time) *gate.Count {
	q.mu.Lock()
	known, ok := q.pulls[repo]
	q.mu.Unlock()
	if !ok || now.Sub(known.at) >= pullsTime {
		known = pullCount{q.o.OpenPulls(ctx, repo), now}
		q.mu.Lock()
		q.pulls[repo] = known
		q.mu.Unlock()
	}
	return &known.Count
}

// start gives a ticket a slot, and reports whether one was free and the ticket is still waiting.
func (q *Queue) start(p *place) bool {
	q.mu.Lock()
	key := p.Key()
	ok := len(q.taken) < q.o.Slots && q.waiting[key] == p
	if ok {
		delete(q.waiting, key)
		q.taken[key], q.begun[key] = true, p.Actor.ID
		q.turns.Took(p.Ticket)
	}
	q.mu.Unlock()
	if ok {
		p.entry.Begin()
	}
	return ok
}
