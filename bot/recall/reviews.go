package recall

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/bot/follow"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/feedback"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/sanitize"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

const (
	// Grace is how much longer a machine that does not have a session leaves a review to one that has it.
	Grace = 2 * time.Minute
	// busyPause is the time between two looks at a session that a host works on.
	busyPause = 5 * time.Minute
	// maxAge is how old a command may be, as for the ear. An older one is not worth a look.
	maxAge = 24 * time.Hour
	// maxAuthors is of how many accounts the permission is asked for at once; the newest reviews count.
	maxAuthors = 20
	// clockSlack is how far the clock of another machine may be from the server's.
	clockSlack = 10 * time.Minute
)

// Reviews finds out what reviews of pull requests ask of sessions that other machines had last: commands in them, and
// changes of the head; and whether a check that failed asks for these. A machine that has the session is first; what it took is in the checkpoint and is not asked for
// again. All fields are set.
type Reviews struct {
	Pulls  *Pulls
	Client *ghsync.Client
	Repo   ghsync.Repo
	Checks bool           // a check that failed asks for changes, too: not of a job
	Bot    config.Bot     // who may ask
	Own    ghsync.Account // the program's
	// Here reports whether this machine has the session of a pull request, and no other one went on with it.
	Here func(ctx context.Context, of Pull) (bool, error)
	// Known reports whether a command was judged here, by its source.
	Known func(source string) bool
	// Permission reads what an account may do.
	Permission func(ctx context.Context, login string) (ghsync.Permission, error)
	Claims     Claims
	// Saved fetches the checkpoint of a session, and says how pull requests are followed.
	Saved func(ctx context.Context, of Pull) (*checkpoint.Fetched, config.Followup, error)
	// Ear and Follow hear what is wanted.
	Ear    *ear.Ear
	Follow *follow.Follow
	// Bring has the session here that it is for, and says how it is run: it lets go of its claim if nothing follows. dir is
	// empty if it is not here then.
	Bring func(ctx context.Context, of Pull, by gate.Trigger) (dir string, wake func(), err error)
	Log   *slog.Logger
}

// Wanted is what reviews of a pull request want of its session.
type Wanted struct {
	Pull
	All      []ghsync.Review
	Commands []ghsync.Review // they are to be heard now
	Round    int64           // the newest review that wants a round now; 0: none does
	// First is what the session was asked for by, if checks alone want a round now.
	First gate.Trigger
	Head  string // of Round and First
	// Over is the review of By for which a host that is gone has claimed the issue, and from which no round follows any more:
	// the session is to say so. 0: there is none.
	Over  int64
	By    string
	Again time.Duration // when to look again; 0: when the pull request changes

	red    bool // a check that counts has failed
	checks bool // one is not finished
}

// checksEvery is the time between two looks at checks that are not finished.
const checksEvery = 5 * time.Minute

// sooner has the pull request looked at again after d, unless that is due before.
func (w *Wanted) sooner(d time.Duration) {
	if w.Again == 0 || d < w.Again {
		w.Again = d
	}
}

// Hear reads the reviews of a pull request, if it is of a session that another machine had, brings it here if they want
// something, and returns when to look again; 0: when the pull request changes.
func (r Reviews) Hear(ctx context.Context, number int) (again time.Duration, err error) {
	w, err := r.Read(ctx, number)
	if err != nil {
		return 0, err
	}
	r.Ear.HearReviews(number, w.Commands...)
	by := w.First
	if id := cmp.Or(w.Round, w.Over); id != 0 {
		by = gate.ReviewTrigger(id)
	}
	if by == (gate.Trigger{}) {
		return w.Again, nil
	}
	dir, wake, err := r.Bring(ctx, w.Pull, by)
	if err != nil || dir == "" {
		return w.Again, err
	}
	if w.Over == 0 {
		r.Follow.Hear(ghsync.OpenPull{Number: number, Head: w.Head}, w.All...)
	} else if err := w.Tell(dir); err != nil {
		return 0, err
	}
	wake()
	return w.Again, nil
}

// Read reads the reviews of a pull request, if it is of a session that another machine had.
func (r Reviews) Read(ctx context.Context, number int) (Wanted, error) {
	of, err := r.Pulls.Of(ctx, r.Repo, number)
	if err != nil || of.Issue == 0 {
		return Wanted{}, err
	}
	if here, err := r.Here(ctx, of); err != nil || here {
		return Wanted{}, err
	}
	w := Wanted{Pull: of}
	if w.All, err = (ghsync.Intake{Client: r.Client}).Reviews(ctx, r.Repo, number); err != nil {
		return Wanted{}, err
	}
	if w, err = r.wanted(ctx, number, w); err == nil && len(w.Commands) == 0 && w.Round == 0 && w.Again == 0 {
		err = r.over(ctx, &w)
	}
	if w.checks {
		w.sooner(checksEvery)
	}
	return w, err
}

// readChecks finds out whether checks that count have failed, or are not finished. An account that may not see them follows
// reviews alone.
func (r Reviews) readChecks(ctx context.Context, number int, w *Wanted) error {
	if !r.Checks {
		return nil
	}
	h, err := feedback.Reader{Client: r.Client, Repo: r.Repo}.Head(ctx, number)
	if err != nil || !h.Open {
		if errors.As(err, new(*transport.Terminal)) {
			return nil
		}
		return err
	}
	counts := h.Counts()
	w.checks = len(counts) == 0 && r.Pulls.FirstSight(number, h.SHA)
	for _, c := range counts {
		w.red = w.red || c.Done && c.Failed
		w.checks = w.checks || !c.Done
	}
	return nil
}

// wanted finds out what the reviews want now.
func (r Reviews) wanted(ctx context.Context, number int, w Wanted) (Wanted, error) {
	of := w.Pull
	ask, answers, err := r.asking(ctx, &w)
	if err == nil {
		err = r.readChecks(ctx, number, &w)
	}
	if err != nil || len(ask) == 0 && !w.red {
		return w, err
	}
	holder, _, err := r.Claims.Holder(ctx, of.Issue)
	if err != nil || holder != "" {
		w.Again = busyPause
		return w, err
	}
	saved, rules, err := r.Saved(ctx, of)
	if errors.Is(err, checkpoint.ErrNone) || errors.As(err, new(*checkpoint.RefusedError)) {
		r.Log.Warn("reviews of a pull request are not read for its session", "pull_request", number, "session", of.Session, "err", err)
		if r.Pulls.lacks(number) {
			w.sooner(busyPause)
		}
		return w, nil
	}
	if err != nil {
		return w, err
	}
	f := follow.Facts{
		Now: r.Client.Now().Add(-Grace), Rules: rules, Bot: r.Bot, Own: r.Own, Past: follow.PastIn(saved.Session[session.Commands]),
		Reviews: w.All, Answers: answers,
	}
	reviewed := len(ask) > 0
	ask = slices.DeleteFunc(ask, func(v ghsync.Review) bool { return f.Past.Said[follow.ReviewSource(v.ID)] })
	if reviewed && len(ask) == 0 {
		r.Log.Info("the reviews of a pull request were taken on another machine", "pull_request", number, "session", of.Session)
	}
	for _, v := range ask {
		if isCommand(v) {
			w.Commands = append(w.Commands, v)
		}
	}
	if len(w.Commands) == len(ask) && (!w.red || len(ask) > 0) {
		return w, nil
	}
	if f.State, err = orchestrator.Decode(saved.Session[session.StateFile]); err != nil {
		return w, err
	}
	err = r.decide(ctx, number, f, saved.At, &w)
	return w, err
}

// asking returns the reviews by those who may ask for something, if a machine that has the session had time for them.
func (r Reviews) asking(ctx context.Context, w *Wanted) (ask []ghsync.Review, answers map[string]gate.Answer, err error) {
	now := r.Client.Now()
	answers = map[string]gate.Answer{}
	for _, v := range slices.Backward(w.All) {
		if len(answers) == maxAuthors {
			break
		}
		if !r.asks(v, now) {
			continue
		}
		if wait := v.SubmittedAt.Add(Grace).Sub(now); wait > 0 {
			w.sooner(wait)
			continue
		}
		a, known := answers[v.Author.Login]
		if !known {
			a.Permission, a.Err = r.Permission(ctx, v.Author.Login)
			answers[v.Author.Login] = a
		}
		switch d, may := gate.MayAsk(r.Bot, v.Author, a); {
		case d.What == gate.Later && a.Err != nil:
			return nil, nil, a.Err
		case may:
			ask = append(ask, v)
		}
	}
	return ask, answers, nil
}

// asks reports whether a review by a person has a command that was not judged here, or wants changes.
func (r Reviews) asks(v ghsync.Review, now time.Time) bool {
	switch {
	case v.State == "PENDING" || !v.Author.IsPerson() || v.Author.ID == r.Own.ID && !isCommand(v):
		return false
	case isCommand(v):
		return now.Sub(v.SubmittedAt) < maxAge && !r.Known(follow.ReviewSource(v.ID))
	}
	return v.State == "CHANGES_REQUESTED"
}

func isCommand(v ghsync.Review) bool { return ghsync.IsCommand(sanitize.Raw(v.Body)) }

// decide decides as a machine that has the session does, but later. saved is when the checkpoint was
// made.
func (r Reviews) decide(ctx context.Context, number int, f follow.Facts, saved time.Time, w *Wanted) (err error) {
	if f.Head, err = (feedback.Reader{Client: r.Client, Repo: r.Repo}).Head(ctx, number); err != nil {
		return err
	}
	if !r.Checks {
		f.Head.Checks = nil
	}
	d := follow.Decide(f)
	r.Log.Debug("reviews of a pull request of another machine are looked at", "pull_request", number, "decision", string(d.What), "reason", d.Reason)
	alone := len(follow.Authors(d.Objections)) == 0 // checks are
	switch {
	case alone && (d.What == follow.Tell || d.What == follow.Wait && d.Until.IsZero()):
		// A person has to decide. The machine that had the session said so; it is not brought here to say it once more.
	case d.What == follow.Round, d.What == follow.Tell:
		if over, err := r.stopped(ctx, saved.Add(-clockSlack), w.All, w.Issue, number); err != nil {
			return err
		} else if over {
			r.Log.Info("the follow-ups of a pull request were stopped", "pull_request", number, "session", w.Session)
			return nil
		}
		w.Again = busyPause // another host may be first
		if len(w.Commands) == 0 {
			w.Head = f.Head.SHA
			for _, o := range d.Objections {
				if o.Review != nil {
					w.Round = o.Review.ID
				}
			}
			if w.Round == 0 {
				w.First, err = gate.ParseTrigger(string(f.State.Trigger))
			}
		}
	case d.What == follow.Wait:
		wait := busyPause
		if !d.Until.IsZero() {
			wait = d.Until.Sub(f.Now)
		}
		w.sooner(wait)
	}
	return err
}

// stopped reports whether a person has ended the follow-ups since the checkpoint was made: a machine that has the session
// writes that down and makes no checkpoint for it.
func (r Reviews) stopped(ctx context.Context, since time.Time, reviews []ghsync.Review, places ...int) (bool, error) {
	said := []ghsync.Comment{}
	for _, v := range reviews {
		if v.SubmittedAt.After(since) {
			said = append(said, ghsync.Comment{Author: v.Author, Body: sanitize.Raw(v.Body)})
		}
	}
	for _, on := range places {
		more, err := ghsync.Comments{Client: r.Client}.Since(ctx, r.Repo, on, since)
		if err != nil && !transport.IsNotFound(err) {
			return false, err
		}
		said = append(said, more...)
	}
	for _, c := range said {
		if order, ok := ear.Parse(c.Body); !ok || order.Verb != "stop" || !c.Author.IsPerson() {
			continue
		}
		p, err := r.Permission(ctx, c.Author.Login)
		if err != nil || p.Write() && p.Account.ID == c.Author.ID {
			return err == nil, err
		}
	}
	return false, nil
}

// Believes returns what reports whether a comment is of the program: of its own account, or of one that may push.
func Believes(own ghsync.Account, permission func(ctx context.Context, login string) (ghsync.Permission, error)) func(context.Context, ghsync.Comment) (bool, error) {
	return func(ctx context.Context, c ghsync.Comment) (bool, error) {
		if c.Author.ID == own.ID || !c.Author.IsPerson() {
			return c.Author.ID == own.ID, nil
		}
		p, err := permission(ctx, c.Author.Login)
		return p.Write() && p.Account.ID == c.Author.ID, err
	}
}
