// Package refusal tells people why their request is not carried out: it takes the request labels off
// the issue and writes one comment, once for each trigger, however often it is killed on the way. It
// is used by the bot. A refused command that no session shows gets one comment, too. The journal remembers what was decided
// and what was told.
package refusal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/redact"
)

// Options are what a Teller needs; all are required.
type Options struct {
	Client    *ghsync.Client
	Repo      func() ghsync.Repo // as it is called now
	Own       ghsync.Account     // of the program
	Journal   *journal.Journal
	Label     string // bot.label
	LinkHosts []string
	Redactor  *redact.Redactor
	Now       func() time.Time
}

// Teller tells refusals on the issues of one repository.
type Teller struct{ o Options }

// New makes a Teller and sends nothing.
func New(o Options) *Teller { return &Teller{o} }

// Refuse records a refusal and carries it out.
func (t *Teller) Refuse(ctx context.Context, issue int, d gate.Decision) error {
	decided := journal.Decided{
		Issue: issue, Trigger: d.Asked.Trigger, With: d.Asked.With, Row: d.Row, What: d.What, Reason: d.Reason, Remedy: d.Remedy, Details: d.Details,
	}
	fresh, err := t.o.Journal.Append(decided)
	if err != nil || !fresh {
		return err
	}
	crash.Point("decide refusal", "")
	return t.carryOut(ctx, decided, t.DropRequest)
}

// CarryOut takes the labels of a refused request off and tells why, and remembers that. Doing it
// twice is as doing it once: a label that was set since the first time is another request.
func (t *Teller) CarryOut(ctx context.Context, d journal.Decided) error {
	return t.carryOut(ctx, d, func(ctx context.Context, issue ghsync.Issue) error { return t.dropRefused(ctx, issue, d) })
}

func (t *Teller) carryOut(ctx context.Context, d journal.Decided, drop func(context.Context, ghsync.Issue) error) error {
	issue, err := t.o.Client.Issue(ctx, t.o.Repo(), d.Issue)
	if transport.IsNotFound(err) {
		return t.told(d, 0)
	}
	moved := false
	if err == nil {
		moved, err = t.transferred(ctx, issue, d.Issue)
	}
	if err != nil {
		return err
	}
	if moved {
		return t.told(d, 0)
	}
	var comment int64
	if d.What == gate.Refuse && !issue.Locked {
		if comment, err = t.comment(ctx, d); err != nil {
			return err
		}
	}
	crash.Point("comment on refusal", "")
	if err := drop(ctx, issue); err != nil {
		return err
	}
	crash.Point("drop label", "")
	return t.told(d, comment)
}

// transferred reports whether what was read as an issue of the repository is one of another, where it may have
// the same number. A repository that was renamed a moment ago is none.
func (t *Teller) transferred(ctx context.Context, read ghsync.Issue, issue int) (bool, error) {
	repo := t.o.Repo()
	if read.Number != issue || strings.EqualFold(read.Repo.String(), repo.String()) {
		return read.Number != issue, nil // its number here may be another issue's
	}
	now, err := t.o.Client.Repository(ctx, repo.Owner, repo.Name)
	return !strings.EqualFold(read.Repo.String(), now.String()), err
}

func (t *Teller) told(d journal.Decided, comment int64) error {
	_, err := t.o.Journal.Append(journal.Told{Issue: d.Issue, Trigger: d.Trigger, Comment: comment})
	return err
}

// lookBack is how far back a refusal that may be there is looked for: a day, by a clock that may be one ahead.
const lookBack = 49 * time.Hour

// comment writes the refusal, unless it is there already. The id is 0 if there are too many.
func (t *Teller) comment(ctx context.Context, d journal.Decided) (id int64, err error) {
	if !gate.MayComment(t.o.Journal.RefusalsOf(d.Issue, 24*time.Hour), t.o.Journal.Refusals(time.Hour)) {
		return 0, t.answer(ctx, d)
	}
	if id, err = t.there(ctx, d.Issue, gate.RefusalMarker(d.Trigger)); err != nil || id != 0 {
		return id, err
	}
	n := markdown.New(t.o.Client.Server(), t.o.LinkHosts)
	text := gate.Refusal(gate.Decision{
		Row: d.Row, What: d.What, Reason: d.Reason, Remedy: d.Remedy, Details: d.Details, Asked: gate.Asked{Trigger: d.Trigger, With: d.With},
	}, n, t.o.Redactor)
	id, _, err = ghsync.Comments{Client: t.o.Client}.Create(ctx, t.o.Repo(), d.Issue, text)
	return id, err
}

// answer replies to the comment that asked for what is refused, where the comment of the refusal would be one too many: its
// receipt says that the request was accepted, and who wrote it sees nothing else. Commands have limits of their own.
func (t *Teller) answer(ctx context.Context, d journal.Decided) error {
	if d.Trigger.Kind != gate.Comment {
		return nil
	}
	if id, err := t.there(ctx, d.Issue, gate.RefusalMarker(d.Trigger)); err != nil || id != 0 {
		return err
	}
	c, _ := t.o.Journal.Command(d.Trigger.String()) // one that another host heard is not in it
	c.Issue, c.Source, c.Reason = d.Issue, d.Trigger.String(), gate.Decision{Reason: d.Reason, Remedy: d.Remedy}.String()
	return t.Reply(ctx, c)
}

// there returns our comment with a marker on an issue; 0 before it is written.
func (t *Teller) there(ctx context.Context, issue int, marker ghsync.Marker) (id int64, err error) {
	all, err := ghsync.Comments{Client: t.o.Client}.Since(ctx, t.o.Repo(), issue, t.o.Now().Add(-lookBack))
	for _, c := range all {
		if m, ok := ghsync.ParseMarker(c.Body); ok && m.Same(marker) && c.Author.ID == t.o.Own.ID {
			return c.ID, err
		}
	}
	return 0, err
}

// maxReason bounds what a reply quotes, in UTF-16 units.
const maxReason = 500

// Reply tells on its issue why a command was refused that no session shows, once for each command.
func (t *Teller) Reply(ctx context.Context, c journal.Command) error {
	sum := sha256.Sum256([]byte(c.Source))
	marker := ghsync.Marker{Session: "reply-" + hex.EncodeToString(sum[:])[:12], Kind: ghsync.KindFinal}
	id, err := t.there(ctx, c.Issue, marker)
	if err != nil || id != 0 {
		return err
	}
	n := markdown.New(t.o.Client.Server(), t.o.LinkHosts)
	to := ""
	if c.Author != "" {
		to = n.Name(c.Author) + ": "
	}
	text := "### agentmux: command refused\n\n" + to + n.Inline(markdown.Shorten(markdown.Raw(c.Reason), maxReason)) + ".\n\n" + marker.String()
	_, _, err = ghsync.Comments{Client: t.o.Client}.Create(ctx, t.o.Repo(), c.Issue, markdown.Finish(t.o.Redactor, text))
	return err
}

// DropRequest takes the request labels off an issue.
func (t *Teller) DropRequest(ctx context.Context, issue ghsync.Issue) error {
	for _, name := range issue.Labels {
		if _, asks := ghsync.RequestLabel(name, t.o.Label); !asks {
			continue
		}
		if err := t.o.Client.RemoveLabel(ctx, t.o.Repo(), issue.Number, name); err != nil {
			return err
		}
	}
	return nil
}

// Withdraw returns say, which tells that the request of an issue has ended, with what belongs to that if a person has
// stopped it: the request labels that were set before go, too. One that was set since asks for something new. The zero at: a
// person has not stopped it, and each label stays.
func (t *Teller) Withdraw(say func(context.Context, string) (time.Duration, error), issue int, at time.Time) func(context.Context, string) (time.Duration, error) {
	return func(ctx context.Context, why string) (time.Duration, error) {
		if next, err := say(ctx, why); err != nil || next > 0 || at.IsZero() {
			return next, err
		}
		return 0, t.drop(ctx, issue, func(set time.Time) bool { return set.Before(at) })
	}
}

// Off returns what takes the request labels off an issue that were set by the time it was asked for.
func (t *Teller) Off(issue int, asked time.Time) func(context.Context) error {
	return func(ctx context.Context) error {
		return t.drop(ctx, issue, func(set time.Time) bool { return !set.After(asked) })
	}
}

// drop takes the request labels off by the time they were set.
func (t *Teller) drop(ctx context.Context, issue int, goes func(set time.Time) bool) error {
	record, err := t.o.Client.Record(ctx, t.o.Repo(), issue)
	if err != nil {
		return err
	}
	request, _ := record.Request(t.o.Label)
	for _, e := range request.Events {
		if !goes(e.At) {
			continue
		}
		if err := t.o.Client.RemoveLabel(ctx, t.o.Repo(), issue, e.Name); err != nil {
			return err
		}
	}
	return nil
}

// dropRefused takes off the request labels that a refusal is about. One of which GitHub does not say who set it goes, too.
func (t *Teller) dropRefused(ctx context.Context, issue ghsync.Issue, d journal.Decided) error {
	asks := func(name string) bool {
		_, is := ghsync.RequestLabel(name, t.o.Label)
		return is
	}
	if !slices.ContainsFunc(issue.Labels, asks) {
		return nil
	}
	record, err := t.o.Client.Record(ctx, t.o.Repo(), issue.Number)
	if err != nil {
		return err
	}
	refused := append(slices.Clone(d.With), d.Trigger)
	request, _ := record.Request(t.o.Label)
	for _, e := range request.Events {
		if !slices.Contains(refused, gate.LabelTrigger(e)) {
			issue.Labels = slices.DeleteFunc(slices.Clone(issue.Labels), func(name string) bool { return strings.EqualFold(name, e.Name) })
		}
	}
	return t.DropRequest(ctx, issue)
}
