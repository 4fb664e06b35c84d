package ear

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// errHeld says that the guard does not allow a receipt now.
var errHeld = errors.New("held back")

// errOpen says that it is not known yet what becomes of a command.
var errOpen = errors.New("not known yet")

// wakePause is how long a session that does not run may leave a command unread until its issue is looked at
// again, and its owner told. While nothing changed there, that is doubled up to maxWakePause: another host has
// taken the issue or the session, and each run of it costs a claim.
const wakePause, maxWakePause = 30 * time.Second, 8 * time.Minute

// settleAll does what is owed to the commands that were judged.
func (e *Ear) settleAll(ctx context.Context) {
	now, pending, dirs := e.o.Now(), e.pending(), map[string]bool{}
	open := map[string]bool{}
	for _, c := range pending {
		open[c.Source], dirs[c.Session] = true, true
	}
	maps.DeleteFunc(e.owed, func(source string, _ *debt) bool { return !open[source] })
	maps.DeleteFunc(e.results, func(dir string, _ *command.Results) bool { return !dirs[dir] })
	for _, c := range pending {
		d := e.owed[c.Source]
		if d == nil {
			d = &debt{}
			e.owed[c.Source] = d
		}
		if ctx.Err() != nil {
			return
		}
		if d.failures > 0 && d.due.After(now) {
			continue
		}
		err := e.settle(ctx, c, d)
		switch {
		case err == nil:
			delete(e.owed, c.Source)
		case errors.Is(err, errOpen):
			d.failures, d.due = 0, now.Add(safetyLook)
		default:
			d.failures++
			wait := pause(err, d.failures)
			d.due = now.Add(wait)
			e.o.Log.Warn("a command is not settled", "issue", c.Issue, "source", c.Source, "attempt", d.failures, "wait", wait.String(), "err", err)
		}
	}
}

// settle does what is owed to one command. The error is errOpen if that has to wait.
func (e *Ear) settle(ctx context.Context, c journal.Command, d *debt) error {
	switch {
	case c.State == journal.Judged:
		if err := e.note(ctx, c, c.Session, c.Reason); err != nil {
			return err
		}
		if err := e.reply(ctx, c); err != nil {
			return err
		}
		return e.close(ctx, c, d, c.Reason)
	case c.Session == "":
		return e.handOver(ctx, c, d)
	}
	reason, err := e.became(ctx, c, d)
	if err != nil && !errors.Is(err, errOpen) {
		return err
	}
	if err := e.accept(ctx, c, d); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return e.close(ctx, c, d, reason)
}

// accept gives the receipt that a command was accepted, once for each process.
func (e *Ear) accept(ctx context.Context, c journal.Command, d *debt) error {
	if d.seen {
		return nil
	}
	err := e.receipt(ctx, c, ghsync.ReactionSeen)
	d.seen = err == nil
	return err
}

// close gives the last receipt and ends the command; a reason refuses it. A command that was carried out
// without a session is accepted first: a thumb up alone is of a person, for the hosts of other accounts.
func (e *Ear) close(ctx context.Context, c journal.Command, d *debt, reason string) error {
	reaction, state := ghsync.ReactionDone, journal.Done
	if reason != "" {
		reaction, state = ghsync.ReactionRefused, journal.Refused
	} else if err := e.accept(ctx, c, d); err != nil {
		return err
	}
	if err := e.receipt(ctx, c, reaction); err != nil {
		return err
	}
	c.State, c.Reason = state, reason
	_, err := e.o.Journal.Append(c)
	crash.Point("hear", string(state))
	if err == nil {
		e.o.Log.Info("command", "issue", c.Issue, "source", c.Source, "name", c.Verb, "actor", c.Author, "result", string(state), "reason", reason)
	}
	return err
}

// note tells a session, for the fold of commands, what became of a command without it. A reason
// refused it.
func (e *Ear) note(ctx context.Context, c journal.Command, dir, reason string) error {
	if dir == "" {
		return nil
	}
	p := orchestrator.Payload{Name: c.Verb, Actor: c.Author, Source: "issue", SourceID: c.Source, State: orchestrator.NoteDone, Reason: reason}
	p.Args.Role = c.Agent // whose issue shows it
	if reason != "" {
		p.State = orchestrator.NoteRefused
	}
	_, err := command.Note(dir, p)
	crash.Point("append note", "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the session is gone, and its fold with it
	}
	if err != nil || session.Running(dir) {
		return err
	}
	return e.wakeUp(ctx, c.Issue, dir)
}

// reply tells why a command is refused where no session shows it, before the receipt: a thumb down alone says nothing.
func (e *Ear) reply(ctx context.Context, c journal.Command) error {
	if c.Session != "" || c.Reason == "" || e.o.Reply == nil {
		return nil
	}
	if err := e.o.Owner.Guard(ctx, c.Issue); err != nil {
		return fmt.Errorf("%w: %w", errHeld, err)
	}
	err := e.o.Reply(ctx, c)
	crash.Point("reply", "")
	if _, later := transport.Later(err); err != nil && !later {
		e.o.Log.Warn("a refused command gets no reply", "issue", c.Issue, "source", c.Source, "err", err)
		return nil
	}
	return err
}

// wakeUp has the owner run a session that has something to read, unless another one took its place.
func (e *Ear) wakeUp(ctx context.Context, issue int, dir string) error {
	s, err := e.o.Owner.Find(ctx, issue, false)
	if err != nil || s.Dir != dir || s.Holder != "" {
		return err
	}
	return e.o.Owner.Wake(ctx, s)
}

// became tells what became of a command that a session got: "" if it was done, else why not.
func (e *Ear) became(ctx context.Context, c journal.Command, d *debt) (reason string, err error) {
	const gone = "the session is gone: retry begins another one"
	results := e.results[c.Session]
	if results == nil {
		if results, err = command.ResultsOf(c.Session, 0); errors.Is(err, fs.ErrNotExist) {
			return gone, nil
		} else if err != nil {
			return "", err
		}
		e.results[c.Session] = results
	}
	if err = results.Read(); errors.Is(err, fs.ErrNotExist) {
		return gone, nil
	} else if err != nil {
		return "", err
	}
	is, known := results.Of(c.Source)
	switch {
	case !known:
		return e.unread(ctx, c, d)
	case is.Result == story.CommandRefused:
		return is.Reason, nil
	case is.Result == story.CommandLost:
		return "not delivered: " + is.Reason, nil
	case is.Result == story.CommandQueued:
		return e.undelivered(c.Session)
	}
	return "", nil
}

// undelivered tells whether a message that waits for its agent waits in vain.
func (e *Ear) undelivered(dir string) (reason string, err error) {
	sess, err := session.Open(dir)
	if err != nil {
		return "", err
	}
	state, err := sess.ReadState()
	switch {
	case err != nil:
		return "", err
	case state.Ended():
		return "not delivered: the session ended before: say it with changes", nil
	}
	return "", errOpen
}

// unread has the owner run a session that has a command and no host. A command that its directory has no more, since
// the session came back from another machine, is refused.
func (e *Ear) unread(ctx context.Context, c journal.Command, d *debt) (reason string, err error) {
	now := e.o.Now()
	if session.Running(c.Session) || now.Sub(d.looked) < wakePause {
		return "", errOpen
	}
	s, err := e.o.Owner.Find(ctx, c.Issue, false)
	if err != nil {
		return "", err
	}
	if d.looked = now; s != d.found {
		d.found, d.wakes = s, 0
	}
	line, there, err := command.Known(c.Session, c.Source)
	switch {
	case err != nil:
		return "", err
	case !there:
		return "the session went on elsewhere before it was read: write it once more", nil
	case s.Dir != c.Session || s.Holder != "" || d.wakes > 0 && now.Sub(d.woken) < min(wakePause<<min(d.wakes-1, 10), maxWakePause):
		return "", errOpen
	}
	if d.wakes > 0 { // it was run, and did not read the command
		if s, err = e.follow(ctx, c, s, line); err != nil || s.Holder != "" {
			return "", cmp.Or(err, errOpen)
		}
	}
	if err := e.o.Owner.Wake(ctx, s); err != nil {
		return "", err
	}
	d.woken = now
	d.wakes++
	return "", errOpen
}

// follow brings a session here that may have gone on elsewhere since it got a command, and gives it the command again,
// unless that came along. It returns what the issue has then.
func (e *Ear) follow(ctx context.Context, c journal.Command, s Subject, line orchestrator.Payload) (Subject, error) {
	if e.o.Recall == nil {
		return s, nil
	}
	sess, err := session.Open(s.Dir)
	if err != nil {
		return s, err
	}
	if state, err := sess.ReadState(); err != nil || !state.Ended() { // it is under way
		return s, err
	}
	s, err = e.recall(ctx, s, c.Source)
	if err != nil || s.Holder != "" || s.Dir != c.Session { // it takes the place of the former directory
		return s, err
	}
	_, err = command.Append(s.Dir, line) // not twice
	crash.Point("append command", "")
	return s, err
}

// recall asks for the session of another machine, for a command by its source. What was read of a directory that it takes
// the place of is forgotten.
func (e *Ear) recall(ctx context.Context, s Subject, source string) (Subject, error) {
	by := gate.CommentTrigger(idOf(source))
	if isReview(source) {
		by = gate.ReviewTrigger(by.ID)
	}
	s, err := e.o.Recall(ctx, s, by)
	delete(e.results, s.Dir)
	return s, err
}

// handOver has the owner do what needs no session.
func (e *Ear) handOver(ctx context.Context, c journal.Command, owed *debt) error {
	s, err := e.o.Owner.Find(ctx, c.Issue, false)
	if err != nil {
		return err
	}
	if s.Holder != "" {
		return errOpen
	}
	by := ghsync.Account{Login: c.Author, ID: c.AuthorID, Type: "User"}
	switch {
	case c.Verb == "retry":
		d, err := e.o.Owner.Retry(ctx, s, Retry{Trigger: gate.CommentTrigger(idOf(c.Source)), By: by, At: c.Written})
		if err != nil {
			return err
		}
		if d.What == gate.Later || d.Row == gate.RowClaimed {
			return &transport.RetryAfter{Wait: max(d.After, time.Second), Scope: "gate", Err: fmt.Errorf("judge the request: %s", d)}
		}
		return e.retried(ctx, c, owed, s, d)
	case s.Ticket || s.Lost:
		err = e.o.Owner.Drop(ctx, s, by, c.Written)
	case s.Open:
		if err = e.o.Owner.EndFollowUps(ctx, s, by); err == nil {
			err = e.note(ctx, c, s.Dir, "")
		}
	} // else it is done
	crash.Point("hand over", c.Verb)
	if err != nil {
		return err
	}
	return e.close(ctx, c, owed, "")
}

// retried tells what the gate decided about another try.
func (e *Ear) retried(ctx context.Context, c journal.Command, owed *debt, s Subject, d gate.Decision) error {
	crash.Point("hand over", c.Verb)
	reason := d.String()
	switch {
	case d.Accepted():
		reason = ""
	case d.Row == gate.RowDecided: // by a process that was killed then
		reason = ""
		if before, ok := e.o.Journal.Decision(c.Issue, gate.CommentTrigger(idOf(c.Source))); ok && (before.What == gate.Refuse || before.What == gate.RefuseSilently) {
			reason = cmp.Or(before.Reason, reason)
		}
	}
	if reason != "" {
		if err := e.note(ctx, c, s.Dir, reason); err != nil {
			return err
		}
		if untold := c; s.Dir == "" && !e.o.Journal.Commented(c.Issue, gate.CommentTrigger(idOf(c.Source))) {
			untold.Reason = reason
			if err := e.reply(ctx, untold); err != nil {
				return err
			}
		}
	}
	return e.close(ctx, c, owed, reason)
}

// receipt reacts to the comment, if the guard allows it. What the server refuses for good is left:
// the fold tells.
func (e *Ear) receipt(ctx context.Context, c journal.Command, reaction string) error {
	if err := e.o.Owner.Guard(ctx, c.Issue); err != nil {
		return fmt.Errorf("%w: %w", errHeld, err)
	}
	receipts := ghsync.Receipts{Client: e.o.Client}
	var err error
	if isReview(c.Source) {
		_, err = receipts.ReactToReview(ctx, ghsync.Review{NodeID: c.Node}, reaction)
	} else {
		err = receipts.React(ctx, e.where(), idOf(c.Source), reaction)
	}
	crash.Point("give receipt", reaction)
	if _, later := transport.Later(err); err != nil && !later {
		e.o.Log.Warn("no receipt", "issue", c.Issue, "source", c.Source, "err", err)
		return nil
	}
	return err
}
