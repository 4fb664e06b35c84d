package orphan

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// askPause is between two questions that GitHub did not answer.
const askPause = 5 * time.Second

// Served reports whether another host has served the request of a ticket, or a person has withdrawn it, after its
// issue was read here and before it was claimed here. A claim that was given back leaves no trace, but its host took
// the request label off before, once a state label was on. A label that was set again beside a claim goes alone:
// this host, of the account own, or another one takes it off, and the request is not served. It is asked before the
// decision is recorded, because this host takes the label off after that. The error is that of ctx.
func Served(ctx context.Context, github *ghsync.Client, j *journal.Journal, t ticket.Ticket, label string, own ghsync.Account) (bool, error) {
	if _, decided := j.Decision(t.Issue, t.Trigger); decided || t.Taken || t.Former != nil || t.Trigger.Kind != gate.Label {
		return false, nil
	}
	for {
		record, err := github.Record(ctx, t.Repo, t.Issue)
		if err == nil {
			_, asked := record.Request(label)
			return !asked && !dropped(record, t.Trigger, label, own), nil
		}
		wait, passes := transport.Later(err)
		if !passes {
			return false, nil // who shows the ticket finds out why
		}
		if !transport.Wait(ctx, max(wait, askPause)) {
			return false, ctx.Err()
		}
	}
}

// dropped reports whether a host took the label of a request off because a label was set again beside its claim, and
// no host has put a state label on since: own did, or an App. A host that acts as a person leaves a label alone until the
// one that has claimed the issue shows its state label, so what a person takes off before that was withdrawn. What came
// before the request is told by the order of the events, which are of whole seconds.
func dropped(record ghsync.Record, t gate.Trigger, label string, own ghsync.Account) bool {
	alone, asked := false, 0 // how many labels were set since the request
	for _, e := range record.Labels {
		is := e.Added && gate.LabelTrigger(e) == t
		if !is && asked == 0 {
			continue
		}
		_, asks := ghsync.RequestLabel(e.Name, label)
		switch {
		case e.Added && asks:
			asked++
		case e.Added && slices.ContainsFunc(ghsync.StateLabels(label), func(l ghsync.Label) bool { return strings.EqualFold(l.Name, e.Name) }):
			return false
		case !e.Added && strings.EqualFold(e.Name, t.Name):
			alone = e.Actor.ID == own.ID || asked > 1 && !e.Actor.IsPerson()
		}
	}
	return alone
}
