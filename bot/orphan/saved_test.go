package orphan_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/orchestrator"
)

// A bot takes a session that has begun from a host that is gone if it has a checkpoint on the server, and from no
// other. Its ticket is that session.
func TestABotTakesASessionThatHasACheckpoint(t *testing.T) {
	w := newWorld(t)
	w.take(w.desk("a_7_1"), 12, claim.Running)
	w.take(w.desk(claim.NewHostID()), 13, claim.Running) // alive, as far as is known
	asked, found, saved := []string{}, []int{}, false
	own := claim.NewHostID()
	l := orphan.New(orphan.Options{
		Desk: w.desk(own), Own: own, Now: w.now, Found: func(issue int) { found = append(found, issue) },
		Room: func(context.Context) bool { return true }, Log: slog.New(slog.NewTextHandler(problems{t}, nil)),
		Saved: func(_ context.Context, name string) (bool, error) {
			asked = append(asked, name)
			return saved, nil
		},
	})
	l.Look(t.Context())
	if _, left, err := l.Holder(t.Context(), 12); len(found) > 0 || left != nil || err != nil || !slices.Contains(asked, orchestrator.PublicID(name, identity)) {
		t.Fatalf("found %v, left %+v, asked for %v, %v", found, left, asked, err)
	}
	saved = true
	w.since += time.Hour // the readings are old
	l.Look(t.Context())
	_, left, err := l.Holder(t.Context(), 12)
	if !slices.Contains(found, 12) || left == nil || !left.Begun || !left.Saved || err != nil {
		t.Fatalf("found %v, left %+v, %v", found, left, err)
	}
	got := left.Hand(t.TempDir(), ticket.Ticket{Issue: 12, Session: "2026-11-22-090000-12-other", Identity: "fedcba9876543210", Trigger: gate.CommentTrigger(7)})
	if got.Session != name || got.Identity != identity || !got.Taken || !got.Saved || got.Former != nil {
		t.Errorf("ticket %+v", got)
	}
}

// A session that a host took from another, and that waits in its queue, stays that session when it is taken once more:
// it is continued from its checkpoint, and its comment is looked for from when that host claimed it.
func TestASavedSessionInTheQueueOfAHostStaysThatSession(t *testing.T) {
	w := newWorld(t)
	w.take(w.desk("a_7_1"), 12, claim.Queued)
	w.take(w.desk(claim.NewHostID()), 13, claim.Queued) // alive
	own := claim.NewHostID()
	l := orphan.New(orphan.Options{
		Desk: w.desk(own), Own: own, Now: w.now, Found: func(int) {}, Room: func(context.Context) bool { return true },
		Log:   slog.New(slog.NewTextHandler(problems{t}, nil)),
		Saved: func(context.Context, string) (bool, error) { return true, nil },
	})
	l.Look(t.Context())
	w.since += 2 * time.Minute
	l.Look(t.Context())
	for issue, live := range map[int]bool{12: false, 13: true} {
		_, left, err := l.Holder(t.Context(), issue)
		if left == nil || !left.Saved || left.Live != live || left.Begun == live || err != nil {
			t.Fatalf("of issue %d is left %+v, %v", issue, left, err)
		}
		at := left.Seen.Claim.At
		got := left.Hand(t.TempDir(), ticket.Ticket{Issue: issue, Session: "other", Identity: "fedcba9876543210", Made: at.Add(time.Hour)})
		if got.Session != name || !got.Saved || !got.Began().Equal(at) {
			t.Errorf("ticket %+v", got)
		}
	}
}
