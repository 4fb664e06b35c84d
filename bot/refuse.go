package bot

import (
	"context"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/crash"
)

// refuse records a refusal and carries it out.
func (r *repository) refuse(ctx context.Context, issue int, d gate.Decision) error {
	decided := journal.Decided{
		Issue: issue, Trigger: d.Asked.Trigger, With: d.Asked.With, Row: d.Row, What: d.What, Reason: d.Reason, Remedy: d.Remedy, Details: d.Details,
	}
	fresh, err := r.journal.Append(decided)
	if err != nil || !fresh {
		return err
	}
	crash.Point("decide refusal", "")
	return r.carryOut(ctx, decided)
}

// carryOut takes the labels of a refused request off and tells why, and remembers that. Doing it
// twice is as doing it once.
func (r *repository) carryOut(ctx context.Context, d journal.Decided) error {
	issue, err := r.account.Client.Issue(ctx, r.name(), d.Issue)
	switch {
	case transport.IsNotFound(err):
		return r.told(d, 0)
	case err != nil:
		return err
	}
	var comment int64
	if d.What == gate.Refuse && !issue.Locked {
		if comment, err = r.comment(ctx, d); err != nil {
			return err
		}
	}
	crash.Point("comment on refusal", "")
	if err := r.dropRequest(ctx, ghsync.Record{Issue: issue}); err != nil {
		return err
	}
	crash.Point("drop label", "")
	return r.told(d, comment)
}

func (r *repository) told(d journal.Decided, comment int64) error {
	_, err := r.journal.Append(journal.Told{Issue: d.Issue, Trigger: d.Trigger, Comment: comment})
	return err
}

// comment writes the refusal, unless it is there already. The id is 0 if there are too many.
func (r *repository) comment(ctx context.Context, d journal.Decided) (id int64, err error) {
	if !gate.MayComment(r.journal.RefusalsOf(d.Issue, 24*time.Hour), r.journal.Refusals(time.Hour)) {
		return 0, nil
	}
	marker := gate.RefusalMarker(d.Trigger)
	comments := ghsync.Comments{Client: r.account.Client}
	there, err := comments.Since(ctx, r.name(), d.Issue, r.bot.Now().Add(-24*time.Hour))
	if err != nil {
		return 0, err
	}
	for _, c := range there {
		if m, ok := ghsync.ParseMarker(c.Body); ok && m.Same(marker) && c.Author.ID == r.own.ID {
			return c.ID, nil
		}
	}
	n := markdown.New(r.account.Server, r.bot.Config.GitHub.LinkHosts)
	text := gate.Refusal(gate.Decision{
		Row: d.Row, What: d.What, Reason: d.Reason, Remedy: d.Remedy, Details: d.Details, Asked: gate.Asked{Trigger: d.Trigger, With: d.With},
	}, n, r.bot.Host.Redactor)
	id, _, err = comments.Create(ctx, r.name(), d.Issue, text)
	return id, err
}
