package bot

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// hosted is a session of an issue. Its goroutine runs it while it is under way; between its end
// and a command that continues it there is none.
type hosted struct {
	repo  *repository
	dir   string
	issue int
	began time.Time
	asked time.Time      // when it was asked for, by the server; zero: not known
	by    ghsync.Account // who asked; the zero Account: not known
	state atomic.Pointer[orchestrator.State]

	mu      sync.Mutex
	held    claim.Held // of the run; nil without one
	running bool
	again   bool // something was said while its goroutine was ending
}

const restartPause = 5 * time.Second // after a session could not be run; doubled up to 5 minutes

func newHosted(r *repository, dir string, s *orchestrator.State) *hosted {
	h := &hosted{repo: r, dir: dir, issue: s.IssueNumber, began: s.CreatedAt.Time}
	h.asked, h.by = request.Asked(dir)
	h.state.Store(s)
	return h
}

// know makes a session the newest of its issue.
func (r *repository) know(dir string, s *orchestrator.State) *hosted {
	return r.sessions.add(newHosted(r, dir, s))
}

// made is know for the session in a directory that was just made.
func (r *repository) made(dir string) (*hosted, error) {
	sess, err := session.Open(dir)
	if err != nil {
		return nil, err
	}
	s, err := sess.ReadState()
	if err != nil {
		return nil, err
	}
	return r.know(dir, s), nil
}

// public is the name of the session on the server.
func (h *hosted) public() string {
	s := h.state.Load()
	return orchestrator.PublicID(s.SessionID, s.Identity)
}

// overtaken reports whether the session went on elsewhere since it was here. One that is under way here did not.
func (h *hosted) overtaken(ctx context.Context) (bool, error) {
	if h.live() {
		return false, nil
	}
	return tenure.Overtaken(ctx, h.dir, host.Elsewhere{Host: h.repo.host}.Newer(h.dir, h.repo.bot.Config))
}

// mayPush reads once more whether who asked for the session may have work done.
func (h *hosted) mayPush(ctx context.Context) (refused string, err error) {
	if h.by.Login == "" {
		return "", errors.New("the session does not say who asked for it")
	}
	p, err := h.repo.account.Client.CurrentPermission(ctx, h.repo.name(), h.by.Login)
	if _, gone := h.repo.account.Locate(ctx, h.repo.name(), false); gone != nil { // who asked has no permission there, which says less
		return gone.Error(), nil
	}
	return gate.MayPush(h.repo.bot.Config.Bot, h.by, gate.Answer{Permission: p, Err: err})
}

// claim is the one that the session runs under; nil if it does not run, or claims nothing.
func (h *hosted) claim() claim.Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held
}

func (h *hosted) hold(held claim.Held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = held
}

// live reports whether the session is under way: it has no outcome, or a goroutine runs it.
func (h *hosted) live() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running || !h.state.Load().Ended()
}

// command gives the session a command, and has it read.
func (h *hosted) command(p orchestrator.Payload) error {
	if _, err := command.Append(h.dir, p); err != nil {
		return err
	}
	h.wake()
	return nil
}

// wake has the session run, if it does not.
func (h *hosted) wake() { h.adopt(nil) }

// adopt is wake with a claim that is held, or nil.
func (h *hosted) adopt(held claim.Held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running {
		h.again = true
		return
	}
	if h.running = true; held == nil {
		held = h.held // of a session that was brought here and did not run yet
	}
	h.repo.bot.spawn(func() { h.run(h.repo.bot.life, held) })
}

// begin runs the session in this goroutine, under a claim that is held.
func (h *hosted) begin(held claim.Held) {
	h.mu.Lock()
	h.running = true
	h.mu.Unlock()
	h.run(h.repo.bot.life, held)
}

// run runs the session until it has an outcome and nothing more was said.
func (h *hosted) run(ctx context.Context, held claim.Held) {
	key := ticket.Key{RepoID: h.repo.id, Issue: h.issue}
	defer h.repo.bot.queue.Yield(key)
	for failures := 0; ctx.Err() == nil; {
		h.repo.bot.queue.Hold(key)
		h.hold(held)
		err := h.once(ctx, held)
		held = nil
		if err != nil && !errors.As(err, new(*session.LockedError)) {
			held = h.claim() // it is kept for the next try
		}
		h.hold(nil)
		switch {
		case err == nil && h.over():
			return
		case err == nil:
			failures = 0
		case errors.As(err, new(*claim.TakenError)), errors.As(err, new(*checkpoint.OtherHostError)):
			h.repo.log().Info("another host has the session", "session", filepath.Base(h.dir), "err", err)
			h.rest()
			return
		case ctx.Err() == nil && errors.Is(err, host.ErrHandOver): // a job's, which serves it alone
			h.repo.bot.fail(err)
		case ctx.Err() == nil && h.repo.lacks(filepath.Base(h.dir)):
			h.repo.log().Error("a session ends: its files are gone", "session", filepath.Base(h.dir), "err", err)
			for held != nil && h.repo.mislay(ctx, held) != nil && transport.Wait(ctx, restartPause) {
			}
			h.repo.sessions.forget([]string{h.dir})
			h.rest()
			return
		case ctx.Err() == nil:
			failures++
			pause := min(restartPause<<min(failures-1, 6), 5*time.Minute)
			h.repo.log().Error("a session is run again", "session", filepath.Base(h.dir), "wait", pause.String(), "err", err)
			transport.Wait(ctx, pause)
		}
	}
	h.rest()
}

// lacks reports whether the files of a session are not on this machine any more.
func (r *repository) lacks(name string) bool {
	return !orphan.Remains(r.dir(), name)
}

// over ends the goroutine unless something was said meanwhile.
func (h *hosted) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.again {
		h.again = false
		return false
	}
	h.running = false
	return true
}

func (h *hosted) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running, h.again = false, false
}

// once runs the session to its next end. A panic is this session's alone.
func (h *hosted) once(ctx context.Context, held claim.Held) (err error) {
	defer h.repo.bot.survive(h.repo.log().With("issue", h.issue), &err)
	sess, err := session.Open(h.dir)
	if err != nil {
		return err
	}
	log, closer, err := h.repo.bot.SessionLog(sess.Path(session.HostLog))
	if err != nil {
		return err
	}
	defer closer.Close()
	s, err := sess.ReadState()
	if err != nil {
		return err
	}
	c, err := h.repo.configs.At(ctx, s.BaseSHA)
	if err != nil {
		return err
	}
	h.repo.log().Info("session taken up", "session", s.SessionID, "issue", h.issue, "phase", s.Phase)
	last, err := tenure.Run(ctx, heard{h.repo.host.WithLog(log), h}, tenure.Spec{
		Desk: h.repo.desk, Host: h.repo.bot.host, Held: held, Log: log, Patient: true, Claimed: h.hold, News: h.news(h.repo.bot.Now()),
		Newer: host.Elsewhere{Host: h.repo.host}.Newer(h.dir, c),
		Run: host.RunSpec{
			Dir: h.dir, Config: c, OnCommit: h.committed, MayPush: h.mayPush,
			Mirror: host.MirrorSpec{On: s.Mirror, HostID: h.repo.bot.host.String(), Listened: true, ListenedAfter: true},
		},
	})
	if last != nil {
		h.state.Store(last)
		h.repo.log().Info("session let go", "session", last.SessionID, "phase", last.Phase, "outcome", string(last.Outcome),
			"reason", string(last.OutcomeReason), "pull_request", last.Completion.PRNumber)
	}
	return err
}

// settleTime is how long the receipts of a session's last commands may take at its end.
const settleTime = 5 * time.Second

// heard runs the session, and gives the receipts that are owed while the claim is held.
type heard struct {
	*host.Host
	of *hosted
}

func (r heard) Run(ctx context.Context, spec host.RunSpec) (*orchestrator.State, error) {
	s, err := r.Host.Run(ctx, spec)
	if s != nil && s.Ended() && err == nil {
		settle, stop := context.WithTimeout(ctx, settleTime)
		defer stop()
		r.of.repo.ear.Settle(settle, r.of.issue)
	}
	return s, err
}

// news reads the comments once more after the claim was given back. since is when the session was
// taken up.
func (h *hosted) news(since time.Time) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		h.hold(nil)
		return h.repo.ear.News(ctx, h.issue, since)
	}
}

// committed keeps the state, and gives the slot to others while every agent of the session waits.
func (h *hosted) committed(s *orchestrator.State) {
	former := h.state.Swap(s)
	if d := s.PhaseEnteredAt.Sub(former.PhaseEnteredAt.Time); s.Visit != former.Visit && d >= 0 {
		h.repo.bot.counts.End(former.Phase, d)
	}
	h.repo.ear.Wake()
	if former.Completion.PRNumber != s.Completion.PRNumber || former.Ended() != s.Ended() {
		h.repo.bot.aim()
		h.repo.follow.Wake()
		if n := s.Completion.PRNumber; n != 0 {
			h.repo.pulls.Add(n, time.Time{})
		}
	}
	key := ticket.Key{RepoID: h.repo.id, Issue: h.issue}
	if s.Ended() || tenure.Idles(s) {
		h.repo.bot.queue.Yield(key)
		return
	}
	h.repo.bot.queue.Hold(key)
}

// log is the one of the bot.
func (r *repository) log() *slog.Logger { return r.bot.Log.With("repo", r.repo.String()) }
