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
// the request label off before, once a state label was on. A label that was set again beside a claim goes alone: own
// takes it off, and the request is not served. It is asked before the decision is recorded, because this host takes
// the label off after that. The error is that of ctx.
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

// dropped reports whether own took the label of a request off, and no host has put a state label on since it was set.
func dropped(record ghsync.Record, t gate.Trigger, label string, own ghsync.Account) bool {
	alone := false
	for _, e := range record.Labels {
		if e.At.Before(t.At) {
			continue
		}
		if !e.Added && strings.EqualFold(e.Name, t.Name) {
			alone = e.Actor.ID == own.ID
		}
		if e.Added && slices.ContainsFunc(ghsync.StateLabels(label), func(l ghsync.Label) bool { return strings.EqualFold(l.Name, e.Name) }) {
			return false
		}
	}
	return alone
}
