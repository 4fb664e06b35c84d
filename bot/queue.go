package bot

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
)

const (
	admissionPause = 10 * time.Second // between two looks at what this machine has
	machinePause   = time.Minute      // until a ticket that lacked something is tried again
	pullsTime      = time.Minute      // for which the number of open pull requests counts
)

// queue gives the slots of the bot to tickets in their order.
type queue struct {
	bot  *Bot
	wake chan struct{}

	mu      sync.Mutex
	waiting map[ticket.Key]*waiting
	taken   map[ticket.Key]bool // slots: sessions that are starting or at work
	turns   ticket.Turns
	pulls   map[int64]pullCount // by repository
}

// pullCount is how many open pull requests of the program a repository has.
type pullCount struct {
	gate.Count
	at time.Time
}

func newQueue(b *Bot) *queue {
	return &queue{
		bot: b, wake: make(chan struct{}, 1), waiting: map[ticket.Key]*waiting{}, taken: map[ticket.Key]bool{}, pulls: map[int64]pullCount{},
	}
}

// add puts a ticket into the queue.
func (q *queue) add(r *repository, t ticket.Ticket, held claim.Held) error {
	w, err := newWaiting(r, t, held)
	if err != nil {
		return err
	}
	q.mu.Lock()
	q.waiting[t.Key()] = w
	q.mu.Unlock()
	q.bot.spawn(func() { w.run(q.bot.life) })
	q.rouse()
	return nil
}

// drop takes the ticket of an issue out of the queue, and reports whether there was one that had
// not begun.
func (q *queue) drop(r *repository, issue int, why string) bool {
	key := ticket.Key{RepoID: r.id, Issue: issue}
	q.mu.Lock()
	w := q.waiting[key]
	delete(q.waiting, key)
	q.mu.Unlock()
	if w != nil {
		w.end <- why
		q.rouse()
	}
	return w != nil
}

// forget takes a ticket out of the queue that is not this host's any more.
func (q *queue) forget(w *waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[w.Key()] == w {
		delete(q.waiting, w.Key())
	}
}

// rouse has the order judged anew.
func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// hold notes that the session of an issue is at work, which takes a slot; one that is taken up or
// continues is not kept waiting.
func (q *queue) hold(key ticket.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken[key] = true
}

// yield gives the slot of a session back.
func (q *queue) yield(key ticket.Key) {
	q.mu.Lock()
	_, had := q.taken[key]
	delete(q.taken, key)
	q.mu.Unlock()
	if had {
		q.rouse()
	}
}

// free is how many slots are free.
func (q *queue) free() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(0, q.bot.Slots-len(q.taken))
}

// load is what the gate judges of this machine for a repository.
func (q *queue) load(r *repository) gate.Load {
	q.mu.Lock()
	defer q.mu.Unlock()
	return gate.Load{Running: q.runningIn(r.id), FreeSlot: len(q.taken) < q.bot.Slots && len(q.waiting) == 0, Paused: q.bot.Machine.Paused()}
}

func (q *queue) runningIn(repo int64) int {
	n := 0
	for key := range q.taken {
		if key.RepoID == repo {
			n++
		}
	}
	return n
}

// run gives slots until ctx ends.
func (q *queue) run(ctx context.Context) {
	tick := time.NewTicker(admissionPause)
	defer tick.Stop()
	for ctx.Err() == nil {
		q.judge(ctx)
		select {
		case <-ctx.Done():
		case <-q.wake:
		case <-tick.C:
		}
	}
}

// judge gives the free slots to the first tickets that may have one, and tells the others why
// they wait.
func (q *queue) judge(ctx context.Context) {
	q.mu.Lock()
	order := q.order()
	q.mu.Unlock()
	if len(order) == 0 {
		return
	}
	lacks, paused, now := q.bot.Machine.Lacks(ctx), q.bot.Machine.Paused(), q.bot.Now()
	q.bot.mu.Lock()
	q.bot.lacks = lacks
	q.bot.mu.Unlock()
	for i, w := range order {
		reason := q.reason(ctx, w, lacks, paused, now)
		if reason == "" && q.start(w) {
			continue
		}
		w.tell(comment.Waiting{Place: i + 1, Of: len(order), Reason: cmp.Or(reason, q.slotReason())})
	}
}

// order lists the tickets that have not begun. The caller has the lock.
func (q *queue) order() []*waiting {
	var tickets []ticket.Ticket
	for _, w := range q.waiting {
		tickets = append(tickets, w.Ticket)
	}
	var list []*waiting
	for _, t := range ticket.Order(tickets, q.turns) {
		list = append(list, q.waiting[t.Key()])
	}
	return list
}

func (q *queue) slotReason() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return fmt.Sprintf("for a slot, %d of %d are taken", min(len(q.taken), q.bot.Slots), q.bot.Slots)
}

// reason says why a ticket has to wait although its turn has come; "" if it has not.
func (q *queue) reason(ctx context.Context, w *waiting, lacks []string, paused bool, now time.Time) string {
	q.mu.Lock()
	lacked, notBefore, running := w.lacked, w.notBefore, q.runningIn(w.RepoID)
	q.mu.Unlock()
	if lacked != "" && now.Before(notBefore) {
		return lacked
	}
	turn := gate.Turn{Actor: w.Actor.ID, Gate: q.bot.Config.Gate, History: w.repo.journal, Load: gate.Load{Running: running, FreeSlot: true, Paused: paused}} // start looks for a slot
	for {
		d, need := turn.Judge()
		switch {
		case need.OpenPulls:
			turn.Load.OpenPulls = q.openPulls(ctx, w.repo, now)
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
func (q *queue) openPulls(ctx context.Context, r *repository, now time.Time) *gate.Count {
	q.mu.Lock()
	known, ok := q.pulls[r.id]
	q.mu.Unlock()
	if !ok || now.Sub(known.at) >= pullsTime {
		n, err := gateServer{r}.OpenPulls(ctx, r.name())
		known = pullCount{gate.Count{N: n, Err: err}, now}
		q.mu.Lock()
		q.pulls[r.id] = known
		q.mu.Unlock()
	}
	return &known.Count
}

// start gives a ticket a slot, and reports whether one was free and the ticket is still waiting.
func (q *queue) start(w *waiting) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := w.Key()
	if len(q.taken) >= q.bot.Slots || q.waiting[key] != w {
		return false
	}
	delete(q.waiting, key)
	q.taken[key] = true
	q.turns.Took(w.Ticket)
	close(w.begin)
	return true
}

// again puts a ticket back that could not begin.
func (q *queue) again(w *waiting, lacked string) {
	q.mu.Lock()
	w.begin, w.lacked, w.notBefore = make(chan struct{}), lacked, q.bot.Now().Add(machinePause)
	q.waiting[w.Key()] = w
	delete(q.taken, w.Key())
	q.mu.Unlock()
	q.rouse()
}

// waits reports whether a repository has a ticket.
func (q *queue) waits(repo int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key := range q.waiting {
		if key.RepoID == repo {
			return true
		}
	}
	return false
}

// facts are how many tickets wait and slots are taken, and for how long the oldest ticket has waited.
func (q *queue) facts(now time.Time) (tickets, taken int, oldest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.waiting {
		oldest = max(oldest, now.Sub(w.Made))
	}
	return len(q.waiting), len(q.taken), oldest
}
