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

// The host it was taken from does not have the issue any more, though the claims were read a moment before.
func TestAnIssueThatWasTakenIsOfNoOtherHost(t *testing.T) {
	w := newWorld(t)
	w.take(w.desk("a_7_1"), 12, claim.Running)
	l, _, _, _ := keeping(w, true)
	_, left, err := l.Holder(t.Context(), 12)
	if left == nil || err != nil {
		t.Fatalf("left %+v, %v", left, err)
	}
	was := left.Seen.Claim
	if _, err := l.Take(t.Context(), claim.Want{Issue: 12, Session: was.Session, Trigger: was.Trigger, State: claim.Running}, left); err != nil {
		t.Fatal(err)
	}
	if host, left, err := l.Holder(t.Context(), 12); host != "" || left != nil || err != nil || l.Serves(12) != "" {
		t.Errorf("of %q, left %+v, it serves %q, %v", host, left, l.Serves(12), err)
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

// keeping is a lookout of a host that has lost its tickets, and the issues that it was told of.
func keeping(w *world, saved bool) (l *orphan.Lookout, own *claim.Remote, host claim.HostID, found *[]int) {
	w.t.Helper()
	host = claim.NewHostID()
	own, found = w.desk(host), new([]int)
	return orphan.New(orphan.Options{
		Desk: own, Own: host, Now: w.now, Found: func(issue int) { *found = append(*found, issue) }, Room: func(context.Context) bool { return true },
		Log:   slog.New(slog.NewTextHandler(problems{w.t}, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Saved: func(context.Context, string) (bool, error) { return saved, nil },
	}), own, host, found
}

// mislay has a desk take the claims that an earlier process of its host left, and the lookout keep them.
func mislay(t *testing.T, l *orphan.Lookout, own *claim.Remote) {
	t.Helper()
	left, err := own.Leftovers(t.Context())
	if err != nil || len(left) == 0 {
		t.Fatalf("%v, %v", left, err)
	}
	for _, seen := range left {
		held, err := own.Adopt(seen)
		if err != nil {
			t.Fatal(err)
		}
		if ends, err := l.Mislay(t.Context(), held, func(string) bool { return true }); err != nil || ends != nil {
			t.Fatalf("ends %+v, %v", ends, err)
		}
	}
}

// A request whose ticket is lost keeps its claim until it is a ticket again, so that a process that is killed meanwhile
// finds it once more. One that was taken to be continued from a checkpoint is continued from it.
func TestALostTicketKeepsItsClaim(t *testing.T) {
	for _, saved := range []bool{false, true} {
		w := newWorld(t)
		l, own, host, found := keeping(w, saved)
		w.take(w.desk(host), 12, claim.Queued)
		before := w.Repo(widgets).Refs()["refs/agentmux/claims/12"]
		mislay(t, l, own)
		if now := w.Repo(widgets).Refs()["refs/agentmux/claims/12"]; now != before || !slices.Equal(*found, []int{12}) {
			t.Fatalf("claim %q, before %q; found %v", now, before, *found)
		}
		holder, left, err := l.Holder(t.Context(), 12)
		if holder != "" || left == nil || !left.Mislaid || left.Saved != saved || err != nil {
			t.Fatalf("host %q, left %+v, %v", holder, left, err)
		}
		got := left.Hand(t.TempDir(), ticket.Ticket{Issue: 12, Session: "2026-11-22-090000-12-other", Identity: "fedcba9876543210", Trigger: left.Trigger})
		if got.Session != name || got.Saved != saved {
			t.Errorf("ticket %+v", got)
		}
		held, err := l.Take(t.Context(), claim.Want{Issue: 12, Session: orchestrator.PublicID(got.Session, got.Identity), Trigger: trigger, State: claim.Queued}, left)
		if err != nil || held.Seen().ID != before {
			t.Fatalf("held %+v, %v", held, err)
		}
		if _, left, err := l.Holder(t.Context(), 12); left != nil || err != nil {
			t.Errorf("left %+v, %v", left, err)
		}
	}
}

// The claim of a lost ticket goes where the request becomes another session, or is asked for once more.
func TestTheClaimOfALostTicketIsGivenBack(t *testing.T) {
	w := newWorld(t)
	l, own, host, _ := keeping(w, false)
	w.take(w.desk(host), 12, claim.Queued)
	w.take(w.desk(host), 13, claim.Queued)
	mislay(t, l, own)
	held, err := l.Take(t.Context(), claim.Want{Issue: 12, Session: orchestrator.PublicID("2026-11-22-090000-12-other", "fedcba9876543210"), Trigger: trigger, State: claim.Queued}, nil)
	if err != nil || held.Seen().Claim.Session == orchestrator.PublicID(name, identity) {
		t.Fatalf("held %+v, %v", held, err)
	}
	if err := l.Forget(t.Context(), 13); err != nil {
		t.Fatal(err)
	}
	if _, left, err := l.Holder(t.Context(), 13); left != nil || err != nil || w.Repo(widgets).Refs()["refs/agentmux/claims/13"] != "" {
		t.Errorf("left %+v, %v", left, err)
	}
}

// What another host took of it meanwhile is that host's: it does not begin here when that host is done.
func TestALostTicketThatAnotherHostTookIsThatHosts(t *testing.T) {
	w := newWorld(t)
	l, own, host, _ := keeping(w, false)
	w.take(w.desk(host), 12, claim.Queued)
	mislay(t, l, own)
	w.since += time.Hour
	other := w.desk(claim.NewHostID())
	taker := orphan.New(orphan.Options{
		Desk: other, Own: "h_0000000000000001", Now: w.now, Found: func(int) {}, Room: func(context.Context) bool { return true }, Log: slog.New(slog.DiscardHandler),
	})
	taker.Look(t.Context())
	w.since += time.Hour
	_, left, err := taker.Holder(t.Context(), 12)
	if left == nil || err != nil {
		t.Fatalf("left %+v, %v", left, err)
	}
	stolen, err := taker.Take(t.Context(), claim.Want{Issue: 12, Session: orchestrator.PublicID(name, identity), Trigger: trigger, State: claim.Queued}, left)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.Look(t.Context()); err != nil { // shows that it is lost
		t.Fatal(err)
	}
	if err := stolen.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.since += time.Hour
	if host, left, err := l.Holder(t.Context(), 12); host != "" || left != nil || err != nil {
		t.Errorf("host %q, left %+v, %v", host, left, err)
	}
}
