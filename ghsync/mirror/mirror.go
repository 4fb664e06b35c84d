package mirror

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// ErrClaimLost is what a Guard returns when another host owns the issue: the mirror writes
// nothing more.
var ErrClaimLost = errors.New("another host has claimed this issue")

// CommentMode says how much the mirror writes.
type CommentMode string

const (
	// Timeline makes one comment per review round, question and end; all else is in the status.
	Timeline CommentMode = "timeline"
	// Every adds a line per phase.
	Every CommentMode = "every"
	// Quiet makes comments for questions and for an end that is not done; verdicts are folded
	// into the status.
	Quiet CommentMode = "quiet"
)

// Options are what a Mirror is made of.
type Options struct {
	Server Server
	Dir    string // the session directory
	Mode   CommentMode
	Repo   ghsync.Repo
	RepoID int64
	Issue  int

	// Unit shows one agent of a run of an agents file, on the issue that it works for; nil: the
	// session. Snapshot is the text that it works from.
	Unit     *story.Unit
	Snapshot *ghsync.Snapshot

	Label   string // prefix of the labels; empty: agentmux
	Host    string // host id, shown and remembered
	Sandbox string // level, shown
	// Notes gives further lines for the status, of any origin. Nil: none. It is called from
	// the goroutine of Run.
	Notes func() []string
	// Changes lists what the open gate with a digest asks about, of any origin: how much in a
	// few words, then file by file. Nil: not told. It is called as Notes is.
	Changes   func(digest string) []string
	LinkHosts []string

	// Deaf says that commands in comments are not read: the texts then name the commands of
	// the machine the session runs on. With DeafAfter they are read while the session runs, and
	// not once it has ended.
	Deaf, DeafAfter bool
	// Fleeting says that the machine ends with this host: it is that of a job.
	Fleeting bool

	// Guard is asked before each write. ErrClaimLost ends the mirror, an error that says when to
	// try again (see transport.Later) holds the write back. Nil: none.
	Guard    func(ctx context.Context) error
	Redactor *redact.Redactor // nil: patterns only
	Log      *slog.Logger     // nil: none
	Now      func() time.Time // nil: time.Now
	Pace     Pace
}

// Pace is how the mirror spreads its requests. The zero value of a field means its default.
type Pace struct {
	Write    time.Duration // 1 s, the interval between writes; below zero: none
	Debounce time.Duration // 2 intervals from a change to the status that shows it
	Between  time.Duration // 8 intervals between two edits of the status
	Busy     time.Duration // 30 intervals between two after ten within ten minutes
	Look     time.Duration // 10 s from an unclear creation to the first look for it
	Again    time.Duration // 20 s from there to the second
	Labels   time.Duration // 5 min between two looks at the labels
	Backoff  time.Duration // 5 s after the first failure; doubled up to 18 times that
	Scan     time.Duration // 5 s between two looks at the records without a wake-up
	Gone     time.Duration // 3 min between two looks for an issue that is not there
}

func (p Pace) withDefaults() Pace {
	p.Write = cmp.Or(p.Write, time.Second)
	p.Debounce = cmp.Or(p.Debounce, 2*p.Write)
	p.Between = cmp.Or(p.Between, 8*p.Write)
	p.Busy = cmp.Or(p.Busy, 30*p.Write)
	p.Look = cmp.Or(p.Look, 10*time.Second)
	p.Again = cmp.Or(p.Again, 20*time.Second)
	p.Labels = cmp.Or(p.Labels, 5*time.Minute)
	p.Backoff = cmp.Or(p.Backoff, 5*time.Second)
	p.Scan = cmp.Or(p.Scan, 5*time.Second)
	p.Gone = cmp.Or(p.Gone, 3*time.Minute)
	return p
}

// Mirror shows one session on its issue: one status comment that is kept true, comments for
// what people should notice, the state label, and the verdict on the pushed commit. It
// reads the session's committed records and nothing of the engine; the engine does not wait
// for it. There is one mirror per session at a time: its process holds the session's lock.
type Mirror struct {
	*ledger
	wake chan struct{}

	// The goroutine of Run, then that of Finish, owns what follows.
	refused   error // the account was refused in the last pass
	follow    *session.Follower
	noted     orchestrator.Cursor // to which commands.jsonl was read for notes
	places    *locator
	poster    *poster
	labels    *labeler
	rebuild   bool // earlier comments are to be found first
	failures  int
	notBefore time.Time
	dirty     time.Time   // since when the status is behind; zero: it is not
	edits     []time.Time // of the status, newest last, within an hour
	unseen    int         // edits in a row that did not find the status comment
	finishing bool
	ending    func() bool // Run is to end: no further request is begun
}

// New opens the session directory and what an earlier mirror left there. It sends
// nothing.
func New(o Options) (*Mirror, error) {
	s, err := session.Open(o.Dir)
	if err != nil {
		return nil, err
	}
	file := s.Path(session.MirrorFile)
	if o.Unit != nil {
		file = s.Path(session.MirrorsDir, o.Unit.Agent+".json")
	}
	st, found, err := readLedger(file)
	if err != nil {
		return nil, err
	}
	o.Pace = o.Pace.withDefaults()
	o.Label, o.Mode = cmp.Or(o.Label, "agentmux"), cmp.Or(o.Mode, Timeline)
	if o.Redactor == nil {
		o.Redactor = redact.New()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if known, ok := st.remembered(o.RepoID); ok {
		o.Repo = known // it may have been renamed since the session began
	}
	if o.Guard != nil {
		o.Server = o.Server.guarded(o.Guard)
	}
	k := &ledger{o: o, session: s, file: file, st: st, keep: durable.Replace, off: map[string]bool{}, locked: st.Locked}
	n := markdown.New(o.Server.Place.Server(), o.LinkHosts)
	n.Redact = o.Redactor.Redact
	k.view = comment.New(new(story.Progress), comment.Facts{Host: o.Host, Sandbox: o.Sandbox, Deaf: o.Deaf, DeafAfter: o.DeafAfter, Fleeting: o.Fleeting}, n)
	if o.Unit != nil {
		k.view.Agent = o.Unit.Agent
	}
	places := &locator{ledger: k}
	m := &Mirror{
		ledger: k, wake: make(chan struct{}, 1), follow: s.Follow(0), ending: func() bool { return false },
		places: places, poster: &poster{ledger: k, places: places}, labels: &labeler{ledger: k},
		rebuild: (!found || st.Host != o.Host) && !unhosted(s),
	}
	st.Repo, st.RepoID, st.Issue = o.Repo.String(), o.RepoID, o.Issue
	if !m.rebuild {
		st.Host = o.Host
	}
	return m, m.readFacts()
}

// unhosted reports whether no host has committed anything in a session, so that no mirror can
// have shown any of it: it has the two records that it was made with.
func unhosted(s *session.Session) bool {
	state, err := s.ReadState()
	return err == nil && state.Seq <= 2
}

// Wake tells the mirror that there may be new records. It never blocks.
func (m *Mirror) Wake() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// CaughtUp reports whether everything up to record seq is shown, or never can be.
func (m *Mirror) CaughtUp(seq int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settled >= seq
}

// Locked reports whether the issue takes no comments: questions cannot be asked there.
func (m *Mirror) Locked() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.locked
}

// LastError is why the mirror is behind; nil when it is not.
func (m *Mirror) LastError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lastErr
}

// lastWords is how long a request under way may still take when Run is to end: one that is
// cut off has an unclear fate, and finding out takes much longer.
const lastWords = 3 * time.Second

// Run mirrors until ctx ends, and then returns nil. Failures of GitHub are waited out, not
// returned; the only error is ErrClaimLost, ErrIssueGone or one of this machine's disk.
func (m *Mirror) Run(ctx context.Context) error {
	passes, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, cut) })()
	// A flag set when ctx ends could be set late, after Finish has begun, and would end that.
	// So ctx is asked each time.
	m.ending = func() bool { return ctx.Err() != nil }
	defer func() { m.ending = func() bool { return false } }()
	for {
		next, err := m.pass(passes)
		switch {
		case ctx.Err() != nil:
			return m.save()
		case err != nil:
			return errors.Join(err, m.save())
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-m.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Step makes one pass of the loop of Run, for a caller with a clock of its own. It is not
// called while Run is running.
func (m *Mirror) Step(ctx context.Context) error {
	_, err := m.pass(ctx)
	return errors.Join(err, m.save())
}

// Finish shows what is left, without the pauses that save requests, until everything is shown
// or ctx ends; it then returns the error of ctx. Where the server refuses the account it is a
// *transport.Away, at once. Run must have returned.
func (m *Mirror) Finish(ctx context.Context) error {
	m.finishing, m.notBefore = true, time.Time{}
	for {
		next, err := m.pass(ctx)
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err(), m.save())
		}
		if m.CaughtUp(m.view.Seq) {
			return m.save()
		}
		if m.refused != nil { // who waits for an account asks again
			return errors.Join(m.refused, m.save())
		}
		if !transport.Wait(ctx, next) { // ctx ended, or would before there is more to show
			return errors.Join(cmp.Or(ctx.Err(), context.DeadlineExceeded), m.save())
		}
	}
}
