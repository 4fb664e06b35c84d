package bot

import (
	"context"
	"fmt"
	"time"

	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/bot/follow"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/recall"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
)

// followed is what the follow-ups of a repository ask of the bot.
type followed struct{ *repository }

// Pulls returns the open pull requests of sessions that have ended here; none to a job, which ends with its session.
func (f followed) Pulls(ctx context.Context) ([]follow.Pull, error) {
	var all []follow.Pull
	for _, h := range f.sessions.all() {
		s := h.state.Load()
		number := s.Completion.PRNumber
		if f.bot.Issue != 0 || !f.sessions.pulls.IsOpen(number) {
			continue
		}
		c, err := f.configs.At(ctx, s.BaseSHA)
		if err != nil {
			// Those of other sessions are followed all the same.
			f.log().Warn("a pull request is not followed now", "pull_request", number, "err", err)
			continue
		}
		all = append(all, follow.Pull{Number: number, Dir: h.dir, Head: s.Completion.Commit, State: s, Rules: c.Followup})
	}
	return all, nil
}

// of returns the session of a pull request. Of one that went on elsewhere the pull request is read again.
func (f followed) of(ctx context.Context, p follow.Pull) (*hosted, error) {
	h := f.sessions.ofPull(p.Number)
	if h == nil || h.dir != p.Dir {
		return nil, fmt.Errorf("pull request %d is of another session now", p.Number)
	}
	over, err := h.overtaken(ctx)
	if over {
		f.follow.Leave(p.Number)
		f.pulls.Add(p.Number, time.Time{})
		err = fmt.Errorf("the session of pull request %d went on elsewhere", p.Number)
	}
	return h, err
}

// Deliver gives a session the request of a round, and has it run.
func (f followed) Deliver(ctx context.Context, p follow.Pull, c orchestrator.Payload) error {
	h, err := f.of(ctx, p)
	if err != nil {
		return err
	}
	f.log().Info("a round follows", "pull_request", p.Number, "about", c.SourceID)
	return h.command(c)
}

// Tell has the session show that a person has to decide.
func (f followed) Tell(ctx context.Context, p follow.Pull, note orchestrator.Payload, reason string) error {
	h, err := f.of(ctx, p)
	if err != nil {
		return err
	}
	note.State, note.Reason = orchestrator.NoteRefused, reason
	if _, err := command.Note(p.Dir, note); err != nil {
		return err
	}
	h.wake()
	return nil
}

// readPull reads the reviews of an open pull request, if it is of a session, for those who hear
// commands and objections in them, and returns when to try again.
func (r *repository) readPull(ctx context.Context, number int) (again time.Duration) {
	again, err := r.readReviews(ctx, number)
	if err != nil {
		r.log().Warn("the reviews of a pull request are read later", "pull_request", number, "err", err)
		return r.pulls.Failed(number, err, transport.Later)
	}
	return again
}

func (r *repository) readReviews(ctx context.Context, number int) (again time.Duration, err error) {
	defer r.bot.survive(r.log().With("pull_request", number), &err)
	h, over := r.sessions.ofPull(number), false
	if h != nil {
		if over, err = h.overtaken(ctx); err != nil {
			return 0, err
		}
	}
	if h == nil || over { // what they ask for brings the session here that another machine had
		again, err := r.reviews().Hear(ctx, number)
		if r.bot.Once {
			again = 0
		}
		return again, err
	}
	if closed, err := r.follow.Settle(ctx, &r.sessions.pulls, number); closed || err != nil {
		if closed {
			r.left(number)
		}
		return 0, err
	}
	reviews, err := ghsync.Intake{Client: r.account.Client}.Reviews(ctx, r.name(), number)
	if err != nil {
		return 0, err
	}
	r.ear.HearReviews(number, reviews...)
	p, open := r.sessions.pulls.Listed(number)
	if !open {
		return 0, nil
	}
	r.follow.Hear(p, reviews...)
	return r.sessions.pulls.ReadAgain(p, r.account.Client.Now(), r.bot.Once), nil
}

// bring has a session here that another machine had.
func (r *repository) bring(ctx context.Context, of recall.Pull, by gate.Trigger) (dir string, wake func(), err error) {
	s, err := owner{r}.recall(ctx, ear.Subject{Issue: of.Issue, Of: of.Session}, by)
	if h := r.sessions.of(of.Issue); err == nil && h != nil && h.public() == of.Session && s.Holder == "" {
		r.bot.aim()
		return h.dir, h.wake, nil
	}
	return "", nil, err
}

// reviews finds what reviews ask of sessions that other machines had.
func (r *repository) reviews() recall.Reviews {
	return recall.Reviews{
		Pulls: &r.others, Client: r.account.Client, Repo: r.name(), Checks: r.bot.Issue == 0, Bot: r.bot.Config.Bot, Own: r.own,
		Here: func(ctx context.Context, of recall.Pull) (bool, error) {
			h := r.sessions.of(of.Issue)
			if h == nil || h.public() != of.Session {
				return false, nil
			}
			over, err := h.overtaken(ctx)
			return !over, err
		},
		Known:      func(source string) bool { _, known := r.journal.Command(source); return known },
		Permission: r.permission, Claims: r.lookout, Saved: r.saved.Fetch, Ear: r.ear, Follow: r.follow, Bring: r.bring, Log: r.log(),
	}
}

// hearLeft has what a person said to a resting session heard here, for which a host that is gone has claimed the issue. The
// claim stays until that is done, so that a kill loses nothing; it is given back if no session here takes it.
func (r *repository) hearLeft(ctx context.Context, left *orphan.Request) error {
	said, h := left.Said, r.sessions.of(left.Seen.Issue)
	here := h != nil && h.public() == left.Seen.Claim.Session
	_, judged := r.journal.Command(left.Trigger.String())
	if here || judged || said.Comment == nil && left.Trigger.Kind != gate.Review {
		if err := r.recaller().Free(ctx, left); err != nil || !here {
			return err
		}
		h.wake()
	} else if said.Comment != nil {
		r.ear.Hear(*said.Comment)
		return nil
	}
	r.pulls.Add(said.Pull, time.Time{})
	return nil
}
