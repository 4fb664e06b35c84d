package ear

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

const (
	// maxAge is how old a command may be when it is first seen. Who wrote one that is older than
	// answerAge waits for no answer.
	maxAge, answerAge = 24 * time.Hour, 7 * 24 * time.Hour
	// elsewhereTime is how long a command waits for the host that works on its issue.
	elsewhereTime = time.Minute
	// elsewherePause is the time between two looks at that host's claim, leftPause once it has had its minute: it may be
	// gone, which its claim shows ten minutes later. It is longer than the minute of [Ear.Idle].
	elsewherePause, leftPause = 5 * time.Second, 2 * time.Minute

	// touchTime is how much later than it was written the server may say that a comment changed
	// which no person did change: GitHub stores what follows from a new comment a second later.
	touchTime = 2 * time.Second

	issueHour  = 30 // commands on an issue in an hour
	userMinute = 10 // of an account in a minute
)

// judge decides about a command. What was decided is in the journal when it returns. wait > 0: it
// cannot be judged yet.
func (e *Ear) judge(ctx context.Context, w *waiting) (wait time.Duration, err error) {
	defer func() { // what a comment says stops no other command
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if _, known := e.o.Journal.Command(w.source); known {
		return 0, nil
	}
	ours, err := e.o.Client.Ours(ctx, ghsync.Comment{Author: w.author, Body: w.body})
	if err != nil || ours {
		return 0, err
	}
	s, err := e.o.Owner.Find(ctx, w.on, w.pull)
	if err != nil || s.Issue == 0 {
		return 0, err
	}
	j := judgement{Ear: e, w: w, s: s}
	if s.Holder != "" {
		return j.elsewhere(ctx)
	}
	if served, err := j.served(); err != nil || served {
		return 0, err
	}
	if s.Saved && j.waits() {
		return leftPause, nil
	}
	if s.Ticket {
		j.s.Dir = "" // what waits is not that session
	}
	if known, err := j.recorded(); err != nil || known {
		return 0, err
	}
	a, wait, err := j.mayCommand(ctx)
	if err != nil || wait > 0 || !j.isAuthor(a) {
		return wait, err
	}
	if w.reacted || w.elsewhere {
		if done, err := j.receipted(ctx); err != nil || done {
			return 0, err
		}
	}
	if j.recalls(a) {
		if j.s, err = e.recall(ctx, j.s, w.source); err != nil {
			return 0, err
		}
		if j.s.Holder != "" {
			return j.elsewhere(ctx)
		}
		if known, err := j.recorded(); err != nil || known { // the machine that had it heard the command
			return 0, err
		}
	}
	return 0, j.decide(ctx, a)
}

// mayCommand reads what the author may do, and records that somebody without write permission is passed over; isAuthor tells.
// wait > 0: too many were asked about.
func (j *judgement) mayCommand(ctx context.Context) (a gate.Answer, wait time.Duration, err error) {
	a, wait = j.people.permission(ctx, j.w.author, j.o.Now())
	if a.Err != nil || wait > 0 || j.isAuthor(a) {
		return a, wait, a.Err
	}
	return a, 0, j.append(journal.Command{State: journal.Refused})
}

// isAuthor reports whether the answer is about the author of the command, and allows it to give commands.
func (j *judgement) isAuthor(a gate.Answer) bool {
	is := a.Permission.Account.ID
	return a.Permission.Write() && (is == 0 || is == j.w.author.ID)
}

// waits reports whether the command is for the session that a ticket continues, and not for the ticket.
func (j *judgement) waits() bool {
	order, _ := Parse(j.w.body)
	return deeds[order.Verb][live] == line && deeds[order.Verb][ticket] == refuse
}

// elsewhere returns how long a command waits for the host that works on its issue; 0: no longer. After its minute that host
// may be gone, which its claim shows late: a bot, which stays, forgets only a comment with a last receipt. A job forgets all,
// since the sweep begins another one for what is left; a review is read again with its pull request.
func (j *judgement) elsewhere(ctx context.Context) (wait time.Duration, err error) {
	j.w.elsewhere = true
	late := j.o.Now().Sub(j.w.first) >= elsewhereTime
	switch {
	case late && (j.o.Brief || isReview(j.w.source)):
		return 0, nil
	case j.o.Brief && !isReview(j.w.source):
		if has, err := j.hasIt(ctx, j.w); err != nil || has {
			return 0, err
		}
	}
	if !late {
		return elsewherePause, nil
	}
	j.w.late = true
	a, wait, err := j.mayCommand(ctx)
	if err != nil || wait > 0 || !j.isAuthor(a) {
		return wait, err
	}
	done, err := j.receipted(ctx)
	if err != nil || done {
		return 0, err
	}
	return leftPause, nil
}

// served reports whether the host that had its minute for the command gave the issue back. That host
// has read the comments once more then, and what it passed over is not for another one.
func (j *judgement) served() (bool, error) {
	if !j.w.late || j.w.taken || j.s.Left || j.s.Saved {
		return false, nil
	}
	err := j.readState()
	return j.state == nil || j.state.Ended(), err
}

// hasIt reports whether the host that works on the issue says by a receipt that it has the command: one of the
// program's account, of a bot, of the author, as whom a host at their terminal acts, or of a person with write permission.
func (e *Ear) hasIt(ctx context.Context, w *waiting) (bool, error) {
	given, err := ghsync.Receipts{Client: e.o.Client}.Given(ctx, e.where(), w.id)
	if err != nil {
		return false, err
	}
	me, err := e.o.Client.Viewer(ctx)
	if err != nil {
		return false, err
	}
	for _, who := range given[ghsync.ReactionSeen] {
		if who.ID == me.ID || who.ID == w.author.ID || who.Type == "Bot" {
			return true, nil
		}
		if a, wait := e.people.permission(ctx, who, e.o.Now()); a.Err != nil || wait == 0 && a.Permission.Write() {
			return a.Err == nil, a.Err
		}
	}
	return false, nil
}

// judgement is the decision about one command of somebody with write permission.
type judgement struct {
	*Ear
	w     *waiting
	s     Subject
	order Order
	state *orchestrator.State // nil: there is no session
}

// append writes what was decided to the journal.
func (j *judgement) append(c journal.Command) error {
	w := j.w
	c.Source, c.Issue, c.Agent, c.Author, c.AuthorID, c.Node, c.Written = w.source, j.s.Issue, j.s.Agent, w.author.Login, w.author.ID, w.node, w.written
	_, err := j.o.Journal.Append(c)
	crash.Point("hear", string(c.State))
	return err
}

// recorded continues with a command that the session got from a process that was killed then.
func (j *judgement) recorded() (bool, error) {
	if j.s.Dir == "" {
		return false, nil
	}
	p, known, err := command.Known(j.s.Dir, j.w.source)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !known {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c := journal.Command{Verb: p.Name, Session: j.s.Dir, State: journal.Accepted}
	if !p.IsCommand() {
		c.State, c.Reason = journal.Judged, p.Reason
	}
	return true, j.append(c)
}

// receipted reports whether another host did what the command says: it bears a last receipt of the
// program's account, of a bot, or of another person with write permission. A host says first that it
// has seen a command that it carries out; a thumb up alone is of somebody who likes it. One that it refuses
// gets a thumb down alone: that of a person is such a refusal if another host was seen to have the issue, else
// of somebody who dislikes the command.
func (j *judgement) receipted(ctx context.Context) (bool, error) {
	if isReview(j.w.source) {
		return false, nil // its reactions are not told
	}
	given, err := ghsync.Receipts{Client: j.o.Client}.Given(ctx, j.where(), j.w.id)
	if err != nil {
		return false, err
	}
	me, err := j.o.Client.Viewer(ctx)
	if err != nil {
		return false, err
	}
	for _, who := range slices.Concat(given[ghsync.ReactionDone], given[ghsync.ReactionRefused]) {
		if who.ID != me.ID && gave(given[ghsync.ReactionDone], who) && !gave(given[ghsync.ReactionSeen], who) {
			continue
		}
		counts := who.ID == me.ID || who.Type == "Bot"
		if !counts && !j.w.elsewhere && !gave(given[ghsync.ReactionSeen], who) {
			continue
		}
		if !counts && who.ID != j.w.author.ID && who.IsPerson() {
			a, wait := j.people.permission(ctx, who, j.o.Now())
			if a.Err != nil {
				return false, a.Err
			}
			counts = wait == 0 && a.Permission.Write()
		}
		if counts {
			return true, j.append(journal.Command{State: journal.Done})
		}
	}
	return false, nil
}

// gave reports whether an account is among those who gave a reaction.
func gave(all []ghsync.Account, who ghsync.Account) bool {
	return slices.ContainsFunc(all, func(a ghsync.Account) bool { return a.ID == who.ID })
}

// decide decides what the command leads to.
func (j *judgement) decide(ctx context.Context, a gate.Answer) error {
	j.order, _ = Parse(j.w.body)
	if j.o.Now().Sub(j.w.written) > answerAge {
		return j.append(journal.Command{State: journal.Refused})
	}
	if tooMany, quiet := j.tooMany(); tooMany != "" {
		if quiet {
			return j.append(journal.Command{Verb: j.order.Verb, State: journal.Refused, Reason: tooMany})
		}
		return j.refuse(tooMany)
	}
	if fault := j.fault(a); fault != "" {
		return j.refuse(fault)
	}
	if reason := j.beyond(); reason != "" {
		return j.refuse(reason)
	}
	if err := j.readState(); err != nil {
		return err
	}
	at := standingOf(j.s, j.state)
	deed := deeds[j.order.Verb][at]
	if deed == revive {
		var err error
		if deed, err = j.revival(ctx); err != nil {
			return err
		}
	}
	switch deed {
	case line:
		return j.line(ctx, a)
	case tell:
		return j.append(journal.Command{Verb: j.order.Verb, State: journal.Judged, Session: j.s.Dir})
	case drop, forsake:
		return j.append(journal.Command{Verb: j.order.Verb, State: journal.Accepted})
	case again:
		if isReview(j.w.source) {
			return j.refuse("comment it on the issue: a review asks for no other session")
		}
		return j.append(journal.Command{Verb: j.order.Verb, State: journal.Accepted})
	}
	if at == done && j.state.Completion.PRNumber == 0 {
		return j.refuse("the session " + command.Unfit(j.state, false, j.order.Verb))
	}
	return j.refuse(whyNot[at])
}

// fault tells why the command is refused whatever the session does; "" if it need not be.
func (j *judgement) fault(a gate.Answer) string {
	if d, may := gate.MayAsk(j.o.Bot, j.w.author, a); !may {
		return d.Reason
	}
	switch {
	case j.w.edited.Sub(j.w.written) > touchTime:
		return "the comment was edited before it was read: write it once more"
	case j.o.Now().Sub(j.w.written) > maxAge:
		return "it is more than a day old: write it once more"
	case j.w.written.Before(j.s.Since):
		return "it is older than what it would be for: write it once more"
	}
	return j.order.fault()
}

// recalls reports whether the command may be for a session that another machine had last: this one has none that it can be
// for, or has one that does not run.
func (j *judgement) recalls(a gate.Answer) bool {
	if j.o.Recall == nil || j.s.Ticket || j.readState() != nil {
		return false
	}
	j.order, _ = Parse(j.w.body)
	tooMany, _ := j.tooMany()
	if tooMany != "" || j.fault(a) != "" || j.state != nil && !j.state.Ended() {
		return false
	}
	j.s.Retry = deeds[j.order.Verb][parked] == revive
	return (j.s.Retry || deeds[j.order.Verb][parked] == line) && deeds[j.order.Verb][standingOf(j.s, j.state)] != drop
}

// refuse records why the command is refused; receipt and note follow.
func (j *judgement) refuse(reason string) error {
	return j.append(journal.Command{Verb: j.order.Verb, State: journal.Judged, Reason: reason, Session: j.s.Dir})
}

// tooMany tells whether a rate is used up. The first command too many is told so, the others are
// passed over (quiet), since receipts cost writes.
func (j *judgement) tooMany() (reason string, quiet bool) {
	now := j.o.Now()
	onIssue := j.o.Journal.Given(time.Hour, func(c journal.Command) bool {
		return c.Issue == j.s.Issue && now.Sub(c.Written) < time.Hour
	})
	of := j.o.Journal.Given(time.Minute, func(c journal.Command) bool {
		return c.AuthorID == j.w.author.ID && now.Sub(c.Written) < time.Minute
	})
	switch {
	case onIssue >= issueHour:
		return fmt.Sprintf("more than %d commands in an hour on this issue: wait", issueHour), onIssue > issueHour
	case of >= userMinute:
		return fmt.Sprintf("more than %d commands of one account in a minute: wait", userMinute), of > userMinute
	}
	return "", false
}

// readState reads the state of the session, if there is one.
func (j *judgement) readState() error {
	j.state = nil
	if j.s.Dir == "" {
		return nil
	}
	sess, err := session.Open(j.s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		j.state, err = sess.ReadState()
	}
	return err
}

// line gives the command to the session, unless the session would refuse it.
func (j *judgement) line(ctx context.Context, a gate.Answer) error {
	p := orchestrator.Payload{Name: j.order.Verb, Actor: j.w.author.Login, Source: "issue", SourceID: j.w.source, Origin: j.w.url}
	switch j.order.Verb {
	case "say":
		p.Args.Role, p.Args.Text = j.order.to(j.isRole)
	case "answer":
		p.Args.ID, p.Args.Text = j.order.about()
		p.Args.Written = orchestrator.At(j.w.written)
	case "changes":
		p.Args.Text = j.order.Text.String()
	case "approve":
		of, seen, reason, err := j.approval(ctx, a)
		if err != nil {
			return err
		}
		if reason != "" {
			return j.refuse(reason)
		}
		p.Args.Of, p.Args.Seen = of, seen
	}
	if fault := cmp.Or(j.forAgent(&p), command.TextFault(p.Name, p.Args.Text)); fault != "" {
		return j.refuse(fault)
	}
	if j.state.Ended() {
		if unfit := command.Unfit(j.state, true, p.Name); unfit != "" {
			return j.refuse("the session " + unfit)
		}
	}
	var refused *command.RefusedError
	err := j.foreseen(p)
	if err == nil {
		_, err = command.Append(j.s.Dir, p)
		crash.Point("append command", "")
	}
	if errors.As(err, &refused) {
		return j.refuse(refused.Reason)
	}
	if err != nil {
		return err
	}
	return j.append(journal.Command{Verb: p.Name, State: journal.Accepted, Session: j.s.Dir})
}

// foreseen fails if a session that has ended would refuse the command. One that has not decides
// when it reads it.
func (j *judgement) foreseen(p orchestrator.Payload) error {
	if !j.state.Ended() {
		return nil
	}
	return command.Foresee(j.s.Dir, j.state, p, false)
}

// isRole reports whether a word names an agent: a role, or an agent of a role with its task.
func (j *judgement) isRole(word string) bool {
	if slices.Contains(workflows.Roles(), word) {
		return true
	}
	_, known := j.state.Agents[orchestrator.AgentKey(word)]
	return known
}

// approval finds what an approval is given to: what the gate showed when it was written. reason
// says why it is given to nothing, or may not be given. seen: see [judgement.seen].
func (j *judgement) approval(ctx context.Context, a gate.Answer) (of string, seen bool, reason string, err error) {
	if j.state.Gate == nil {
		return "", false, "", nil // the session says so
	}
	of, opened, err := j.shownBefore()
	if err != nil {
		return "", false, "", err
	}
	if of == "" {
		return "", false, "it was written before the gate was shown: look at what waits now, " + orchestrator.ShortDigest(j.state.GateDigest()), nil
	}
	if fault := duty.ShownFault(j.state, of); fault != "" {
		return "", false, fault, nil
	}
	if seen, err = j.seen(ctx, of, opened); err != nil || a.Permission.Level >= ghsync.LevelMaintain {
		return of, seen, "", err
	}
	held, err := j.o.Owner.Held(ctx, j.s)
	if err != nil {
		return "", false, "", err
	}
	if len(held) > 0 {
		return "", false, fmt.Sprintf("the gate shows %s, which takes maintain permission to approve: a person who has it can", held[0]), nil
	}
	return of, seen, "", nil
}
