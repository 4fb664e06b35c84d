package orphan

import (
	"context"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// askPause is between two questions that GitHub did not answer.
const askPause = 5 * time.Second

// Served reports whether another host has served the request of a ticket after its issue was read here and before
// it was claimed here. A claim that was given back leaves no trace, but its host took the request label off before,
// and no other host does so while this one has the claim. It is asked before the decision is recorded, because this
// host takes the label off after that. The error is that of ctx.
func Served(ctx context.Context, github *ghsync.Client, j *journal.Journal, t ticket.Ticket, label string) (bool, error) {
	if _, decided := j.Decision(t.Issue, t.Trigger); decided || t.Taken || t.Former != nil || t.Trigger.Kind != gate.Label {
		return false, nil
	}
	for {
		record, err := github.Record(ctx, t.Repo, t.Issue)
		if err == nil {
			_, asked := record.Request(label)
			return !asked, nil
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
