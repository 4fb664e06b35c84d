// Package tenure runs a session for as long as its host may: it claims the issue, runs the
// session under the guard of the claim, and gives the claim back when the session has ended or
// waits for a person. The bot, a command at a terminal and a job of GitHub Actions run every
// session of an issue through it.
//
// Promises: nothing is written to the outside for a session whose issue another host has claimed.
// What was said on GitHub while the claim was given back is heard: after the release the comments
// are read once more, and news leads to another tenure. claim.json names the host before the first
// claim is pushed, so that a kill at any line leaves a claim that the next start of the session
// finds and continues with. A host that is told to let go of a session keeps its claim, unless it hands
// the session over: the claim is marked so, and any host may take it at once.
//
// It writes claim.json of the session, and through package claim the refs on the server.
package tenure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Spec says which session to run, and how its issue is claimed.
type Spec struct {
	Run   host.RunSpec
	Desk  claim.Desk   // nil = nothing is claimed
	Host  claim.HostID // of the desk
	Held  claim.Held   // the claim, if it is held already; nil = it is taken
	Steal bool         // a person wants the claim of a host that is gone
	// Machine is the id of the bot of this machine. What it has claimed it takes up again by
	// itself. Empty = that is the host itself.
	Machine claim.HostID
	// News is asked after the claim was given back: whether something was said that the session
	// has to hear. It has written the commands by then. Nil = nobody listens.
	News func(ctx context.Context) (bool, error)
	// Newer is asked under the claim, with what the last host of the session noted: a *checkpoint.OtherHostError
	// says that the session went on elsewhere, and this directory was overtaken. May be nil.
	Newer func(ctx context.Context, last claim.Note) error
	// Patient gives the claim back however long that takes, as pushes wait for each other, until the
	// context ends; else some seconds have to be enough.
	Patient bool
	// Claimed is called with each claim before the session runs under it. May be nil.
	Claimed func(claim.Held)
	Log     *slog.Logger
}

// Runner runs a session; see [host.Host.Run].
type Runner interface {
	Run(ctx context.Context, spec host.RunSpec) (*orchestrator.State, error)
}

// Run claims the issue and runs the session until it has an outcome and nothing more was said, and
// returns its last state. If another host has the issue, a session that is under way ends with
// that, so that its agents stop; the error is *claim.TakenError for one that is not. Other errors
// are those of Runner.
func Run(ctx context.Context, r Runner, spec Spec) (*orchestrator.State, error) {
	if spec.Desk == nil {
		return r.Run(ctx, spec.Run)
	}
	t := &tenure{Spec: spec}
	for {
		var taken *claim.TakenError
		var other *checkpoint.OtherHostError
		switch err := t.begin(ctx); {
		case errors.As(err, &taken):
			return t.yield(ctx, r, taken)
		case errors.As(err, &other):
			return t.overtaken(ctx, r, other)
		case err != nil:
			t.unbegun(ctx)
			return nil, err
		}
		s, err := r.Run(ctx, t.Run)
		if (host.IsHandOver(ctx) || errors.Is(err, host.ErrHandOver)) && s != nil && (err != nil || !s.Ended()) {
			t.handOver(ctx)
			return s, err
		}
		if !t.over(s, err) {
			t.unbegun(ctx)
			return s, err
		}
		t.end(ctx)
		if err != nil {
			return s, err
		}
		more, newsErr := t.news(ctx)
		if newsErr != nil {
			t.Log.Warn("the comments were not read once more", "session", s.SessionID, "err", newsErr)
		}
		if !more {
			return s, err
		}
		// The command is in the session's own file: a host that begins anew reads it.
		t.Run = host.RunSpec{Dir: spec.Run.Dir, Config: spec.Run.Config, OnCommit: spec.Run.OnCommit, Mirror: spec.Run.Mirror, MayPush: spec.Run.MayPush}
		t.Held, t.Steal = nil, false
	}
}

// rests reports whether a session has ended and a host without the claim has nothing left to do for it. One that lost
// its claim may have been killed before its agents were stopped and what they had not submitted was kept.
func rests(s *orchestrator.State) bool {
	return s.Ended() && (s.OutcomeReason != orchestrator.ReasonClaimLost || len(s.Pending) == 0)
}

// yield ends a session that is under way because another host has its issue.
func (t *tenure) yield(ctx context.Context, r Runner, taken *claim.TakenError) (*orchestrator.State, error) {
	s, err := t.state()
	if err != nil || rests(s) || taken.Seen.Problem != nil || taken.Seen.Claim.Host == t.Machine {
		return nil, errors.Join(taken, err)
	}
	return r.Run(ctx, host.RunSpec{Dir: t.Run.Dir, Config: t.Run.Config, OnCommit: t.Run.OnCommit, Guard: lost(taken.Seen.Claim.Host)})
}

// overtaken gives the claim back and ends a session that went on elsewhere, unless a person is to decide.
func (t *tenure) overtaken(ctx context.Context, r Runner, other *checkpoint.OtherHostError) (*orchestrator.State, error) {
	t.end(ctx)
	s, err := t.state()
	if err != nil || rests(s) || t.Run.Resume {
		return nil, errors.Join(other, err)
	}
	return r.Run(ctx, host.RunSpec{Dir: t.Run.Dir, Config: t.Run.Config, OnCommit: t.Run.OnCommit, Guard: lost(other.Host)})
}

// lost is the guard of a claim that another host holds.
type lost claim.HostID

func (l lost) Check(context.Context) error { return &claim.LostError{Host: claim.HostID(l)} }

func (l lost) Lost() <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

func (l lost) Holder() string { return string(l) }

type tenure struct {
	Spec
	note  claim.Note
	asked bool // for the claim, which the server may have made whatever came back
}

// begin claims the issue and notes it in the session.
func (t *tenure) begin(ctx context.Context) error {
	var err error
	if t.note, err = claim.ReadNote(t.Run.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	last := t.note
	if t.note.Host != t.Host {
		t.note.Host, t.note.Claims = t.Host, nil
		if err := t.note.Write(t.Run.Dir); err != nil {
			return fmt.Errorf("note the claim: %w", err)
		}
	}
	crash.Point("note host", "")
	if t.Held == nil {
		if t.Held, err = t.acquire(ctx); err != nil {
			return err
		}
	}
	crash.Point("claimed", "")
	if t.Newer != nil && t.away() != nil {
		if err := t.Newer(ctx, last); err != nil {
			return err
		}
	}
	if err := t.remember(); err != nil {
		return err
	}
	if t.Claimed != nil {
		t.Claimed(t.Held)
	}
	t.Run.Guard, t.Run.Away = t.Held, t.away()
	return nil
}

// away has checkpoints pushed under a claim that others see; nil where it is a lock of this machine,
// whose server takes no refs of ours.
func (t *tenure) away() *checkpoint.Away {
	shared, ok := t.Held.(claim.Shared)
	if !ok {
		return nil
	}
	return &checkpoint.Away{Host: t.Host.String(), Last: t.note.Checkpoint, Pass: shared.Pass, Reread: shared.Reread, Note: func(commit string) error {
		t.note.Checkpoint = commit
		return t.note.Write(t.Run.Dir)
	}}
}

// remember notes the claim. It is only a shorter way: what is on the server decides.
func (t *tenure) remember() error {
	now := claim.NoteOf(t.Held.Seen())
	if len(t.note.Claims) == 1 && t.note.Claims[0] == now {
		return nil
	}
	t.note.Claims = []claim.NoteClaim{now}
	if err := t.note.Write(t.Run.Dir); err != nil {
		return fmt.Errorf("note the claim: %w", err)
	}
	return nil
}

// acquire finds the claim that an earlier process of this host left, or takes one.
func (t *tenure) acquire(ctx context.Context) (claim.Held, error) {
	s, err := t.state()
	if err != nil {
		return nil, err
	}
	if held, err := t.left(ctx, s); held != nil || err != nil {
		return held, err
	}
	want := claim.Want{
		Issue: s.IssueNumber, Session: orchestrator.PublicID(s.SessionID, s.Identity), Trigger: string(s.Trigger), State: claim.Running,
	}
	t.asked = true
	held, err := t.Desk.Take(ctx, want)
	var taken *claim.TakenError
	if !errors.As(err, &taken) {
		return held, err
	}
	why, staleErr := t.Desk.Stale(ctx, taken.Seen)
	if staleErr != nil {
		return nil, errors.Join(err, staleErr)
	}
	if why == claim.LetGo || t.Steal && (why == claim.Silent || why == claim.RunEnded) {
		return t.Desk.Steal(ctx, taken.Seen, want)
	}
	return nil, err
}

// left is the claim of the session that this host has on the server; nil without one.
func (t *tenure) left(ctx context.Context, s *orchestrator.State) (claim.Held, error) {
	left, err := t.Desk.Leftovers(ctx)
	if err != nil {
		return nil, err
	}
	for _, seen := range left {
		if seen.Issue == s.IssueNumber && seen.Claim.Session == orchestrator.PublicID(s.SessionID, s.Identity) {
			return t.Desk.Adopt(seen)
		}
	}
	return nil, nil
}

func (t *tenure) state() (*orchestrator.State, error) {
	sess, err := session.Open(t.Run.Dir)
	if err != nil {
		return nil, err
	}
	if t.Run.Backup {
		return sess.ReadBackup()
	}
	return sess.ReadState()
}

// over reports whether the session needs this claim no longer. One that could not be brought to an
// end keeps it: its agents may be at work.
func (t *tenure) over(s *orchestrator.State, err error) bool {
	select {
	case <-t.Held.Lost():
		return false
	default:
	}
	if errors.As(err, new(*session.LockedError)) {
		return true
	}
	return s != nil && s.Ended() && err == nil
}

// unbegun gives the claim back where a command was stopped before anything of its session was begun: nothing of
// that runs, and the issue is free for the next who asks. A bot keeps it, for the bot after it.
func (t *tenure) unbegun(ctx context.Context) {
	if ctx.Err() == nil || t.Held == nil && !t.asked || t.Patient {
		return
	}
	s, err := t.state()
	if err != nil || s.Ended() || len(s.Agents) > 0 || len(s.Pending) > 0 || len(s.Workspaces) > 0 {
		return
	}
	if t.Held == nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		if t.Held, err = t.left(last, s); t.Held == nil || err != nil {
			return // a claim that cannot be found is stale after some minutes
		}
	}
	t.end(ctx)
}

// releaseTime bounds how long a claim is given back where it cannot be waited for: by a command, and by a bot
// that ends. One that stays is stale after some minutes.
const releaseTime = 20 * time.Second

// end gives the claim back, also if ctx has ended.
func (t *tenure) end(ctx context.Context) {
	var err error
	if t.Patient {
		err = Release(ctx, t.Held)
	}
	if err != nil || !t.Patient {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		err = Release(last, t.Held)
	}
	if err != nil {
		t.Log.Warn("the claim of the issue was not given back; the next start does it", "err", err)
		return
	}
	crash.Point("released", "")
	t.note.Claims = nil
	if err := t.note.Write(t.Run.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Log.Warn("claim.json not written", "err", err)
	}
}

// handOver marks the claim for another host. One that cannot be marked is stale once this host is gone.
func (t *tenure) handOver(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	for {
		err := t.Held.Mark(ctx, claim.Handover)
		if err == nil || errors.As(err, new(*claim.LostError)) {
			return
		}
		select {
		case <-ctx.Done():
			t.Log.Warn("the claim is not marked for another host", "err", err)
			return
		case <-time.After(time.Second):
		}
	}
}

func (t *tenure) news(ctx context.Context) (bool, error) {
	if t.News == nil || ctx.Err() != nil {
		return false, nil
	}
	return t.News(ctx)
}

// Idles reports whether nobody of a session can do anything before something outside happens.
func Idles(s *orchestrator.State) bool {
	if s.Paused {
		return false // its slot is kept
	}
	if s.Gate != nil {
		return true
	}
	waits := 0
	for key, a := range s.Agents {
		switch {
		case duty.Idles(s, key): // for a person, another agent or the service of its model
			waits++
		case a.Launch != "":
			return false
		}
	}
	return waits > 0
}

// Does says what a session that is under way does.
func Does(s *orchestrator.State) string {
	switch {
	case s.Paused:
		return "paused"
	case Idles(s):
		return "waiting"
	}
	return "working"
}
