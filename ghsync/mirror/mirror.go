package mirror

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// ErrClaimLost is what a Fence returns when another host owns the issue: the mirror writes
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
	Client *ghsync.Client
	Dir    string // the session directory
	Mode   CommentMode
	Repo   ghsync.Repo
	RepoID int64
	Issue  int

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

	// Deaf says that nobody reads commands in comments: what is written then names the
	// commands of the machine the session runs on.
	Deaf bool

	// Sink takes the writes. Nil: GitHub.
	Sink ghsync.Sink
	// Fence is asked before a new comment and a terminal label. ErrClaimLost ends the mirror,
	// another error holds the write back. Nil: no fence.
	Fence    func(ctx context.Context) error
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
	Scan     time.Duration // 5 s between two looks at the records if nobody wakes the mirror
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
// for it. One mirror per session at a time: whoever runs it holds the session's lock.
type Mirror struct {
	o       Options
	sink    ghsync.Sink
	n       markdown.Neutralizer
	session *session.Session
	wake    chan struct{}
	keep    func(path string, data []byte) error // how mirror_state.json is written

	// The goroutine of Run, then that of Finish, owns what follows.
	follow    *session.Follower
	st        *mirrorState
	view      *view
	snapshot  *ghsync.Snapshot // nil: there is none
	stored    []byte           // mirror_state.json as last written
	queue     []post           // comments owed, in order
	rebuild   bool             // ids are to be found among our comments first
	off       map[string]bool  // steps that would fail again
	author    int64            // the account that writes; 0: not known yet
	failures  int
	notBefore time.Time
	dirty     time.Time   // since when the status is behind; zero: it is not
	edits     []time.Time // of the status, newest last, within an hour
	labelled  time.Time   // last look at the labels
	finishing bool
	ending    func() bool // Run is to end: no further request is begun

	mu      sync.Mutex
	settled int // everything up to this record is shown
	locked  bool
	lastErr error
}

// New opens the session directory and what an earlier mirror left there. It sends
// nothing.
func New(o Options) (*Mirror, error) {
	s, err := session.Open(o.Dir)
	if err != nil {
		return nil, err
	}
	st, found, err := readMirrorState(o.Dir)
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
		o.Repo = known // it may have another name by now than when the session began
	}
	m := &Mirror{
		o: o, sink: o.Sink, session: s, st: st, view: newView(), wake: make(chan struct{}, 1), keep: durable.Replace,
		off: map[string]bool{}, ending: func() bool { return false },
		follow: s.Follow(0), locked: st.Locked,
	}
	server := ""
	if o.Client != nil {
		server = o.Client.Server()
		if m.sink == nil {
			m.sink = o.Client.Sink(o.Repo)
		}
	}
	if m.sink == nil {
		return nil, errors.New("a mirror needs a client or a sink")
	}
	m.n = markdown.New(server, o.LinkHosts)
	m.n.Redact = o.Redactor.Redact
	m.rebuild = (!found || st.Host != o.Host) && !unhosted(s)
	st.Repo, st.RepoID, st.Issue, st.Host = o.Repo.String(), o.RepoID, o.Issue, o.Host
	m.view.host, m.view.sandbox, m.view.deaf = o.Host, o.Sandbox, o.Deaf
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

// Locked reports whether the issue takes no comments: nobody can be asked there.
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
	// Asked, not told: what is called when ctx ends may still be under way when Finish has
	// begun, and would end that.
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

// Step does once what Run does again and again, for a caller with a clock of its own. It
// is not called beside Run.
func (m *Mirror) Step(ctx context.Context) error {
	_, err := m.pass(ctx)
	return errors.Join(err, m.save())
}

// Finish shows what is left, without pauses for the sake of fewer requests, until all is
// shown or ctx ends; the latter is the error then. Run must have returned.
func (m *Mirror) Finish(ctx context.Context) error {
	m.finishing, m.notBefore = true, time.Time{}
	for {
		next, err := m.pass(ctx)
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err(), m.save())
		}
		if m.CaughtUp(m.view.seq) {
			return m.save()
		}
		if !transport.Wait(ctx, next) { // ctx ended, or would before there is more to show
			return errors.Join(cmp.Or(ctx.Err(), context.DeadlineExceeded), m.save())
		}
	}
}
