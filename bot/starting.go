package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// starting makes the session of a ticket that has a slot, and runs it. It reports whether the
// ticket is over: else it waits again.
func (w *waiting) starting(ctx context.Context) (over bool) {
	var err error
	if !w.Saved {
		_, err = w.placard.Show(ctx, comment.Waiting{Slot: true, Reason: "for the repository, which is fetched"})
	}
	switch {
	case errors.Is(err, mirror.ErrIssueGone):
		w.gone(ctx)
		return true
	case mirror.Absent(err):
		w.repo.bot.queue.Again(entry{w}, "for the issue, which was not found")
		return false
	case err != nil:
		w.repo.log().Warn("a ticket is not shown", "issue", w.Issue, "err", err)
	}
	dir, d, err := w.make(ctx)
	switch {
	case ctx.Err() != nil:
		w.repo.bot.queue.Yield(w.Key())
		return true
	case err != nil:
		w.repo.log().Warn("a ticket could not begin", "issue", w.Issue, "err", err)
		w.repo.bot.queue.Again(entry{w}, "for this machine: "+w.repo.bot.Host.Redactor.Line(err))
		return false
	case d.Row == gate.RowMachine:
		w.repo.bot.queue.Again(entry{w}, d.Full())
		return false
	case d.Refused():
		w.refused(ctx, d)
		return true
	}
	h, err := w.repo.made(dir)
	if err == nil {
		w.repo.bot.aim() // it may have a pull request
		h.begin(w.held)
	}
	if err != nil {
		w.repo.log().Error("a session cannot be read", "session", w.Session, "err", err)
		w.repo.bot.queue.Yield(w.Key())
	}
	return true
}

// refused ends a ticket that the base commit keeps from beginning.
func (w *waiting) refused(ctx context.Context, d gate.Decision) {
	d.Asked = gate.Asked{Trigger: w.Trigger, With: w.With}
	w.repo.bot.queue.Yield(w.Key())
	if err := w.repo.refusals.Refuse(ctx, w.Issue, d); err != nil {
		w.repo.log().Warn("a refusal is carried out later", "issue", w.Issue, "err", err)
	}
	w.drop(ctx, d.Reason, w.Stopped)
}

// make makes the session from the tip of the base, and takes the ticket down. A decision says why
// there is none: d.What is not gate.Start then.
func (w *waiting) make(ctx context.Context) (dir string, d gate.Decision, err error) {
	r := w.repo
	if w.Saved {
		dir, refused, err := r.saved.Continue(ctx, w.held.Seen().Claim.Session, w.Issue)
		return dir, gate.Checkpoint(refused, w.Issue), errors.Join(err, w.took(ctx, dir))
	}
	if dir, err := w.made(); err != nil || dir != "" {
		return dir, gate.Decision{What: gate.Start}, errors.Join(err, w.took(ctx, dir))
	}
	base, files, c, problems, err := r.configs.Tip(ctx, r.bot.Config)
	if err != nil {
		return "", d, err
	}
	slot := gate.Slot{Base: problems, Label: r.bot.Config.Bot.Label, Workflow: w.Workflow, Files: files}
	if len(problems.Errors()) == 0 {
		slot.Machine = r.bot.Machine.Lacks(ctx)
	}
	if d = slot.Judge(); d.What != gate.Start {
		return "", d, nil
	}
	ledger, err := w.repo.shelf.Ledger(w.Issue)
	if err != nil {
		return "", d, err
	}
	snapshot := *w.Snapshot
	if unseen, err := r.project.Unseen(ctx, base.SHA); err == nil {
		snapshot.Base = unseen
	}
	sess, err := r.host.Prepare(ctx, host.PrepareSpec{
		Project: r.project, Config: c, Files: files, Source: base.SHA, Base: base, Name: w.Session, Identity: w.Identity, MirrorState: ledger,
		Title: snapshot.Title.String(), Workflow: w.Workflow, Mirror: c.GitHub.Mirror != "off", Trigger: w.Trigger.String(), Snapshot: &snapshot,
		Repo: r.name(), Locked: w.Locked,
	})
	var wrong *document.Error
	var machine *host.PreflightError
	switch {
	case errors.As(err, &wrong):
		return "", gate.Slot{Base: wrong.Problems, Label: slot.Label, Workflow: w.Workflow}.Judge(), nil
	case errors.As(err, &machine):
		return "", gate.Slot{Machine: machine.Problems, Label: slot.Label}.Judge(), nil
	case err != nil:
		return "", d, err
	}
	dir = sess.Dir
	if err := sess.Release(); err != nil {
		return "", d, err
	}
	crash.Point("made from ticket", "")
	return dir, d, w.took(ctx, dir)
}

// made returns the session of the ticket, if an earlier process has made it.
func (w *waiting) made() (string, error) {
	e, err := session.Find(w.repo.dir(), w.Session, nil)
	if errors.As(err, new(*session.NotFoundError)) {
		return "", nil
	}
	if err != nil || e.State == nil {
		return "", err
	}
	if e.State.Identity != w.Identity {
		return "", fmt.Errorf("%s is another session", e.Name)
	}
	return e.Dir, nil
}

// took takes the ticket down once its session is there.
func (w *waiting) took(ctx context.Context, dir string) error {
	if dir == "" {
		return nil
	}
	if _, err := w.repo.journal.Append(journal.Started{Issue: w.Issue, Trigger: w.Trigger, Actor: w.Actor.ID, Session: w.Session}); err != nil {
		return err
	}
	w.repo.bot.queue.Counted(w.Key())
	crash.Point("started from ticket", "")
	if w.held.Seen().Claim.State != claim.Running { // else an earlier process was killed right here
		if err := w.held.Mark(ctx, claim.Running); err != nil && !errors.As(err, new(*claim.LostError)) {
			return err
		}
	}
	crash.Point("mark running", "")
	w.repo.shelving.Lock()
	defer w.repo.shelving.Unlock()
	if t, err := w.repo.shelf.Read(w.Issue); err == nil && t.Dropped != "" {
		if _, err := command.Append(dir, orchestrator.Payload{
			Name: "stop", Actor: "the ticket", Source: "issue", SourceID: "ticket/" + w.Identity, Args: orchestrator.CommandArgs{Text: t.Dropped},
		}); err != nil {
			return err
		}
	}
	return w.repo.shelf.Remove(w.Issue)
}
