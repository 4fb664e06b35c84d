package ear

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator/command"
)

// Options are what an Ear is made of.
type Options struct {
	Client  *ghsync.Client
	Repo    ghsync.Repo
	Bot     config.Bot // who may give commands
	Journal *journal.Journal
	Owner   Owner
	Brief   bool // of a job, which leaves a command to the host of its issue once that host says that it has it
	// Recall has the session here that a command is for and that another machine had last: one that waits for a person,
	// or whose host is gone. It returns what the issue has then. Nil = only sessions of this machine are heard for.
	Recall func(ctx context.Context, s Subject, by gate.Trigger) (Subject, error)
	// Reply tells on the issue why a command was refused, once for each; nil = there is always a session that shows it.
	Reply  func(context.Context, journal.Command) error
	Issues []int            // the only ones that are heard; none = all
	Since  time.Time        // what was written before is not heard; zero = all is
	Now    func() time.Time // by the clock of the server; nil = time.Now
	Local  func() time.Time // by that of this machine, which dates what sessions record; nil = Now
	Log    *slog.Logger     // nil = none
}

const (
	// safetyLook is how long what is owed waits for a wake-up at most.
	safetyLook = 5 * time.Second
	// heldPause is how long a receipt is held back until the guard is asked again.
	heldPause = 10 * time.Second
	// maxPause bounds the pause after failures, which begins at a second.
	maxPause = 2 * time.Minute
	// maxWaiting bounds how many commands of strangers wait for a permission or for another host.
	maxWaiting = 1000
)

// Ear hears the commands of one repository. Its methods may be called from several goroutines; the
// work is done by one at a time.
type Ear struct {
	o    Options
	wake chan struct{}

	mu    sync.Mutex
	repo  ghsync.Repo
	inbox []message

	pass    sync.Mutex          // what follows belongs to who has it
	waiting map[string]*waiting // commands that could not be judged yet, by source
	people  people
	owed    map[string]*debt            // what is owed to commands that were judged, by source
	results map[string]*command.Results // by session directory
	told    map[string]int64            // how far News told of a session's lines, by its directory
}

// waiting is a command that could not be judged yet.
type waiting struct {
	message
	first     time.Time // when it came
	due       time.Time
	failures  int
	elsewhere bool // another host had the issue
	late      bool // for longer than its minute
	taken     bool // and this one has had it since
}

// debt is what this process knows of a command in the journal that is not done.
type debt struct {
	due      time.Time
	failures int
	seen     bool // the receipt that the session has it was given

	looked time.Time // when the issue of a session that does not read it was looked at last
	found  Subject   // what it had then
	wakes  int       // how often the session was run since that changed
	woken  time.Time // and when last
}

// New makes an ear and sends nothing.
func New(o Options) *Ear {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Local == nil {
		o.Local = o.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Ear{o: o, wake: make(chan struct{}, 1), repo: o.Repo, waiting: map[string]*waiting{}, owed: map[string]*debt{}, results: map[string]*command.Results{}, told: map[string]int64{}}
	e.people = people{known: map[string]answer{}, named: o.Bot.AllowedUsers, journal: o.Journal, ask: func(ctx context.Context, login string) (ghsync.Permission, error) {
		return o.Client.CurrentPermission(ctx, e.where(), login)
	}}
	return e
}

// Move says that the repository has another name now.
func (e *Ear) Move(repo ghsync.Repo) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.repo = repo
}

func (e *Ear) where() ghsync.Repo {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.repo
}

// Hear takes comments that are new or changed, in any order. It does not block. What is known, and
// what is not a command, costs nothing. The comments of one reading go in together: of those that
// come one by one the newer may count before the older.
func (e *Ear) Hear(comments ...ghsync.IssueComment) {
	list := make([]message, len(comments))
	for i, c := range comments {
		list[i] = ofComment(c)
	}
	e.put(list)
}

// HearReviews takes reviews of a pull request. One that its author has not submitted yet, which only the author's own token
// is shown, says nothing so far.
func (e *Ear) HearReviews(pull int, reviews ...ghsync.Review) {
	var list []message
	for _, r := range reviews {
		if r.State != "PENDING" {
			list = append(list, ofReview(pull, r))
		}
	}
	e.put(list)
}

// put takes those that may be commands, all at once.
func (e *Ear) put(list []message) {
	list = slices.DeleteFunc(list, func(m message) bool {
		return !ghsync.IsCommand(m.body) || !m.author.IsPerson() || m.written.Before(e.o.Since)
	})
	if len(list) == 0 {
		return
	}
	e.mu.Lock()
	e.inbox = append(e.inbox, list...)
	e.mu.Unlock()
	e.Wake()
}

// Wake says that a session committed something, or that a claim or a permission changed. It does
// not block.
func (e *Ear) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run hears until ctx ends. Failures are waited out and logged.
func (e *Ear) Run(ctx context.Context) {
	for ctx.Err() == nil {
		timer := time.NewTimer(e.Step(ctx))
		select {
		case <-ctx.Done():
		case <-e.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Step makes one pass of the loop of Run, for a caller with a clock of its own, and returns when the
// next one is due at the latest.
func (e *Ear) Step(ctx context.Context) (next time.Duration) {
	e.pass.Lock()
	defer e.pass.Unlock()
	e.judgeAll(ctx)
	e.settleAll(ctx)
	return e.next()
}

// Idle reports whether every command that came was judged, but for what waits for longer than a minute:
// no answer about it is near.
func (e *Ear) Idle() bool {
	if !e.pass.TryLock() {
		return false
	}
	defer e.pass.Unlock()
	e.mu.Lock()
	came := len(e.inbox)
	e.mu.Unlock()
	soon := e.o.Now().Add(time.Minute)
	for _, w := range e.waiting {
		if w.due.Before(soon) {
			return false
		}
	}
	return came == 0
}

// pending are the commands that something is owed to, those that another process judged too.
func (e *Ear) pending() []journal.Command {
	if err := e.o.Journal.Refresh(); err != nil {
		e.o.Log.Warn("journal not read", "err", err)
	}
	return slices.DeleteFunc(e.o.Journal.Pending(), func(c journal.Command) bool { return len(e.o.Issues) > 0 && !slices.Contains(e.o.Issues, c.Issue) })
}

// Settle gives the receipts that are owed on an issue, until all are given or ctx ends; it returns
// whether all are. What was held back is tried at once: the owner calls it while it has the claim.
func (e *Ear) Settle(ctx context.Context, issue int) bool {
	e.pass.Lock()
	for _, d := range e.owed {
		d.due = time.Time{}
	}
	e.pass.Unlock()
	for {
		e.Step(ctx)
		if !slices.ContainsFunc(e.pending(), func(c journal.Command) bool { return c.Issue == issue }) {
			return true
		}
		if !transport.Wait(ctx, 100*time.Millisecond) {
			return false
		}
	}
}

// News reads what was said on an issue, and on its pull request, since a time, and hears it. It
// reports whether the session has something to read, and tells of each line once. The owner calls
// it after the claim of the issue was given back, so that nothing falls between two hosts.
func (e *Ear) News(ctx context.Context, issue int, since time.Time) (bool, error) {
	s, err := e.o.Owner.Find(ctx, issue, false)
	if err != nil {
		return false, err
	}
	if err := e.reread(ctx, s, since.Add(-overlap)); err != nil {
		return false, err
	}
	return e.news(ctx, s)
}

// news judges what came and reports whether the session has something to read: also what was heard
// after its host ended, before the claim was given back.
func (e *Ear) news(ctx context.Context, s Subject) (bool, error) {
	e.pass.Lock()
	defer e.pass.Unlock()
	for _, w := range e.waiting {
		w.taken = w.taken || w.on == s.Issue || w.on == s.Pull
	}
	e.look(s.Issue)
	e.look(s.Pull)
	e.judgeAll(ctx)
	e.settleAll(ctx)
	if s.Dir == "" {
		return false, nil
	}
	end, err := command.Unread(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	fresh := end > e.told[s.Dir]
	if fresh {
		e.told[s.Dir] = end
	}
	return fresh, err
}

// overlap is how much earlier comments are read again, for a clock that is not the server's.
const overlap = 5 * time.Minute

// reread hears all comments of an issue and its pull request since a time, and the reviews.
func (e *Ear) reread(ctx context.Context, s Subject, since time.Time) error {
	all, whole, err := e.newest(ctx, s, since)
	if err == nil && !whole {
		all, err = e.listed(ctx, s, since)
	}
	if err != nil {
		return err
	}
	e.Hear(all...)
	if s.Pull == 0 {
		return nil
	}
	reviews, err := ghsync.Intake{Client: e.o.Client}.Reviews(ctx, e.where(), s.Pull)
	e.HearReviews(s.Pull, reviews...)
	return err
}

// newest returns those comments from the list that is polled: one request for issue and pull request, which does
// not count if nothing was said since the last poll. It is not whole where more was said than fits on a page.
func (e *Ear) newest(ctx context.Context, s Subject, since time.Time) (all []ghsync.IssueComment, whole bool, err error) {
	comments, more, err := ghsync.Intake{Client: e.o.Client}.RecentComments(ctx, e.where(), 1)
	for _, c := range comments {
		if c.EditedAt.Before(since) {
			return all, true, err
		}
		if c.On == s.Issue || c.On == s.Pull {
			all = append(all, c)
		}
	}
	return all, !more, err
}

// listed returns those comments from the lists of the issue and of its pull request.
func (e *Ear) listed(ctx context.Context, s Subject, since time.Time) (all []ghsync.IssueComment, err error) {
	numbers := []int{s.Issue}
	if s.Pull != 0 {
		numbers = append(numbers, s.Pull)
	}
	for _, number := range numbers {
		comments, err := ghsync.Comments{Client: e.o.Client}.Since(ctx, e.where(), number, since)
		if err != nil {
			return nil, err
		}
		for _, c := range comments {
			all = append(all, ghsync.IssueComment{Comment: c, On: number})
		}
	}
	return all, nil
}

// judgeAll judges the commands that came, and those that waited long enough, oldest first. Of one
// person on one issue none overtakes another.
func (e *Ear) judgeAll(ctx context.Context) {
	now := e.o.Now()
	e.mu.Lock()
	came := e.inbox
	e.inbox = nil
	e.mu.Unlock()
	for _, m := range came {
		if e.waiting[m.source] == nil && (len(e.waiting) < maxWaiting || e.people.familiar(m.author, now)) {
			e.waiting[m.source] = &waiting{message: m, first: now}
			e.look(m.on)
		}
	}
	type place struct {
		on     int
		author int64
	}
	behind := map[place]*waiting{} // the last of those before
	for _, w := range slices.SortedFunc(maps.Values(e.waiting), earlier) {
		at := place{w.on, w.author.ID}
		if before := behind[at]; before != nil && before.due.After(w.due) {
			w.due = before.due
			w.elsewhere = w.elsewhere || before.elsewhere // that host may do meanwhile what this one says
		}
		switch {
		case ctx.Err() != nil:
			return
		case w.due.After(now):
			behind[at] = w
			continue
		}
		wait, err := e.judge(ctx, w)
		if err == nil {
			w.failures = 0
		} else {
			w.failures++
			wait = pause(err, w.failures)
			e.o.Log.Warn("a command cannot be judged yet", "issue", w.on, "source", w.source, "attempt", w.failures, "wait", wait.String(), "err", err)
		}
		if wait > 0 && now.Sub(w.first) < maxAge {
			w.due = now.Add(wait)
			behind[at] = w
			continue
		}
		delete(e.waiting, w.source)
	}
}

// look has commands of an issue or a pull request that wait for another host judged now: one that is newer waits for them.
func (e *Ear) look(on int) {
	for _, w := range e.waiting {
		if w.on == on && w.elsewhere && w.failures == 0 {
			w.due = time.Time{}
		}
	}
}

// earlier orders commands as they were written.
func earlier(a, b *waiting) int {
	return cmp.Or(a.written.Compare(b.written), cmp.Compare(a.id, b.id), cmp.Compare(a.source, b.source))
}

// pause is how long to wait after a failure.
func pause(err error, failures int) time.Duration {
	wait, _ := transport.Later(err)
	if errors.Is(err, errHeld) {
		return heldPause
	}
	return max(wait, min(time.Second<<min(failures-1, 10), maxPause))
}

// next is when something is due at the latest.
func (e *Ear) next() time.Duration {
	now, next := e.o.Now(), time.Hour
	for _, w := range e.waiting {
		next = min(next, max(0, w.due.Sub(now)))
	}
	for _, d := range e.owed {
		next = min(next, max(0, d.due.Sub(now)))
	}
	return max(next, 10*time.Millisecond)
}
