package claim_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

// asked is how many listings of the server a call cost.
func (w *world) asked(do func()) int {
	before := w.count("GIT fetch-refs")
	do()
	return w.count("GIT fetch-refs") - before
}

// TestSecurity30TheGuardTrustsABeatForFourMinutes counts the questions: none while the beat is
// young by both clocks.
func TestSecurity30TheGuardTrustsABeatForFourMinutes(t *testing.T) {
	w, issue := newWorld(t), 0
	for name, c := range map[string]struct {
		pass func(*clock)
		asks bool
	}{
		"four minutes":                      {func(c *clock) { c.pass(4 * time.Minute) }, false},
		"a moment more":                     {func(c *clock) { c.pass(4*time.Minute + time.Second) }, true},
		"the wall clock alone: suspended":   {func(c *clock) { c.jump(30 * time.Minute) }, true},
		"the monotonic clock alone: set":    {func(c *clock) { c.pass(30 * time.Minute); c.jump(-30 * time.Minute) }, true},
		"the wall clock was set back":       {func(c *clock) { c.jump(-time.Hour) }, false},
		"set back, and then four minutes":   {func(c *clock) { c.jump(-time.Hour); c.pass(4 * time.Minute) }, false},
		"set back, and then a while longer": {func(c *clock) { c.jump(-time.Hour); c.pass(5 * time.Minute) }, true},
	} {
		for kind, id := range map[string]claim.HostID{"host": claim.NewHostID(), "job": claim.JobHostID(int64(7+issue), 1)} {
			t.Run(name+", "+kind, func(t *testing.T) {
				issue++
				h := w.host(as(id))
				held := w.take(h, issue, claim.Running)
				c.pass(h.clock)
				n := w.asked(func() {
					if err := held.Check(t.Context()); err != nil {
						t.Error(err)
					}
				})
				if (n > 0) != c.asks {
					t.Errorf("the server was asked %d times", n)
				}
				// An answer of the server is as good as a beat only for a job, which has none.
				again := w.asked(func() { _ = held.Check(t.Context()) })
				if (again > 0) != (c.asks && kind == "host") {
					t.Errorf("the server was asked %d times at the second check", again)
				}
			})
		}
	}
}

func TestGitHub40ASuspendedHolderIsFenced(t *testing.T) {
	w := newWorld(t)
	one, two := w.host(), w.host()
	held := w.take(one, 12, claim.Running)
	_, _, err := w.steal(two, w.watch(two, 12, 30*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	one.clock.jump(30 * time.Minute) // its monotonic clock did not run
	var lost *claim.LostError
	if err := held.Check(t.Context()); !errors.As(err, &lost) || lost.Host != two.id || lost.Issue != 12 {
		t.Errorf("check: %v", err)
	}
	closed(t, held.Lost())
	if held.Holder() != two.id.String() {
		t.Errorf("the holder is %q", held.Holder())
	}
}

// The beat comes before the first check, and must not be taken for a sign that nothing happened.
func TestGitHub40ABeatAfterASuspensionSavesNothing(t *testing.T) {
	w := newWorld(t)
	one, two := w.host(), w.host()
	held := w.take(one, 12, claim.Running)
	if _, _, err := w.steal(two, w.watch(two, 12, 30*time.Minute)); err != nil {
		t.Fatal(err)
	}
	one.clock.jump(30 * time.Minute)
	if err := one.Beat(t.Context()); err != nil {
		t.Error(err)
	}
	closed(t, held.Lost())
	var lost *claim.LostError
	if err := held.Check(t.Context()); !errors.As(err, &lost) || lost.Host != two.id {
		t.Errorf("check: %v", err)
	}
}

// A thief saw the holder silent; then the holder beats, and only then the thief pushes.
func TestSecurity30AThiefThatSawTheSilenceComesTooLate(t *testing.T) {
	w := newWorld(t)
	one := w.host()
	held := w.take(one, 12, claim.Running)
	before := held.Seen()
	slow := w.thief(before.ID)
	one.clock.jump(30 * time.Minute)
	if err := one.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := w.asked(func() {
		if err := held.Check(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("after the beat the server was asked %d times", n)
	}
	if err := slow(); err == nil {
		t.Fatal("the claim was taken after its holder relied on it")
	}
	if now := held.Seen(); now.ID != w.ref("claims/12") || now.Claim.Gen != before.Claim.Gen || now.Claim.Session != before.Claim.Session {
		t.Errorf("held %+v, was %+v, the server has %s", now, before, w.ref("claims/12"))
	}
}

// thief returns a push that takes the claim at a commit for another host.
func (w *world) thief(at string) (push func() error) {
	w.tb.Helper()
	store, ctx := w.store(), w.tb.Context()
	id, err := remote.WriteRecord(ctx, store, good, at, time.Unix(1, 0))
	if err != nil {
		w.tb.Fatal(err)
	}
	return func() error {
		_, err := w.remote().Push(ctx, store, remote.PushSpec{Updates: []remote.RefUpdate{{Ref: "refs/agentmux/claims/12", New: id, Old: at}}})
		return err
	}
}

func TestSecurity30AnUnansweredGuardHoldsBack(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	held := w.take(h, 12, claim.Running)
	h.clock.pass(5 * time.Minute)
	w.Inject(fakehub.Fault{Route: "GIT fetch-refs", Status: 403})
	var lost *claim.LostError
	if err := held.Check(t.Context()); err == nil || errors.As(err, &lost) {
		t.Errorf("without an answer: %v", err)
	}
	w.Heal()
	if err := held.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A claim that waits may be taken by others after a minute, however well its holder beats.
func TestSecurity30TheGuardOfAWaitingClaimAlwaysAsks(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	held := w.take(h, 12, claim.Queued)
	if n := w.asked(func() {
		if err := held.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}); n == 0 {
		t.Error("the server was not asked")
	}
	if err := held.Mark(t.Context(), claim.Running); err != nil {
		t.Fatal(err)
	}
	if n := w.asked(func() {
		if err := held.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("the server was asked %d times about one that runs", n)
	}
}

func TestAClaimThatAPersonRemovedIsLost(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	held := w.take(h, 12, claim.Running)
	if _, err := w.remote().Push(t.Context(), w.store(), remote.PushSpec{
		Updates: []remote.RefUpdate{{Ref: "refs/agentmux/claims/12", Old: held.Seen().ID}},
	}); err != nil {
		t.Fatal(err)
	}
	h.clock.pass(5 * time.Minute)
	var lost *claim.LostError
	if err := held.Check(t.Context()); !errors.As(err, &lost) || lost.Host != "" {
		t.Errorf("check: %v", err)
	}
	closed(t, held.Lost())
	w.take(h, 12, claim.Running)
}

func TestManyGuardsShareOneQuestion(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	var all []claim.Held
	for issue := 1; issue <= 3; issue++ {
		all = append(all, w.take(h, issue, claim.Running))
	}
	h.clock.pass(5 * time.Minute)
	n := w.asked(func() {
		var checks sync.WaitGroup
		for range 20 {
			for _, held := range all {
				checks.Go(func() {
					if err := held.Check(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
		}
		checks.Wait()
	})
	// One is under way when the others come, a second one answers them all. Those who come last
	// begin a few more.
	if n == 0 || n > 12 {
		t.Errorf("60 checks asked the server %d times", n)
	}
}

func TestAReleasedClaimIsNotWrittenUnder(t *testing.T) {
	w := newWorld(t)
	h := w.host(func(o *claim.Options) { o.OneSession = true })
	first, second := w.take(h, 12, claim.Running), w.take(h, 13, claim.Running)
	for _, held := range []claim.Held{first, second, first} {
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := held.Check(t.Context()); !errors.Is(err, claim.ErrReleased) {
			t.Errorf("check: %v", err)
		}
	}
	if left := w.ref("claims/12") + w.ref("claims/13") + w.ref("hosts/"+h.id.String()); left != "" {
		t.Errorf("left: %s", left)
	}
	select {
	case <-first.Lost():
		t.Error("a released claim counts as lost")
	default:
	}
	// From the first try on: the server may carry out a release long after it did not answer.
	third := w.take(h, 14, claim.Running)
	w.Inject(fakehub.Fault{Route: "GIT push", Status: 403})
	if err := third.Release(t.Context()); err == nil {
		t.Fatal("released without an answer")
	}
	if err := third.Check(t.Context()); !errors.Is(err, claim.ErrReleased) {
		t.Errorf("check after a release that failed: %v", err)
	}
	w.Heal()
	if err := third.Release(t.Context()); err != nil || w.ref("claims/14") != "" {
		t.Errorf("release again: %v", err)
	}
}

func TestStatesChangeInOneDirection(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	held := w.take(h, 12, claim.Queued)
	for _, step := range []struct {
		to claim.State
		ok bool
	}{{claim.Queued, false}, {claim.Running, true}, {claim.Running, false}, {claim.Queued, false}, {"done", false}} {
		if err := held.Mark(t.Context(), step.to); (err == nil) != step.ok {
			t.Errorf("mark %s: %v", step.to, err)
		}
	}
	if _, err := h.Take(t.Context(), want(13, claim.Handover)); err == nil {
		t.Error("a claim was taken to hand it over")
	}
	if got := w.find(w.host(), 12); got.Claim.State != claim.Running || got.ID != held.Seen().ID {
		t.Errorf("the server has %+v", got)
	}
}

func TestGitHub40ARefusedBranchSinksNoBeat(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	held := w.take(h, 12, claim.Running)
	w.Repo(widgets).RefusePush(fakehub.ProtectedRule("refs/heads/*"))
	branch := func() error {
		store := w.store()
		id, err := store.Commit(t.Context(), gitrepo.CommitSpec{Tree: gitrepo.EmptyTree, Message: "x\n", Author: gitrepo.Signature{Name: "x", Mail: "x@example.test"}})
		if err != nil {
			return err
		}
		_, err = w.remote().Push(t.Context(), store, remote.PushSpec{Updates: []remote.RefUpdate{{Ref: "refs/heads/agentmux/x", New: id}}})
		return err
	}
	for range 3 {
		h.clock.pass(2 * time.Minute)
		before := w.ref("hosts/" + h.id.String())
		refused := make(chan error, 1)
		go func() { refused <- branch() }()
		if err := h.Beat(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-refused; err == nil {
			t.Error("the branch was taken")
		}
		if now := w.ref("hosts/" + h.id.String()); now == before {
			t.Error("the beat did not arrive")
		}
	}
	if err := held.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A claim that the server does not let the host renew sinks no beat and no other claim.
func TestGitHub40ARefusedClaimSinksNothingElse(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	var all []claim.Held
	for issue := 1; issue <= 3; issue++ {
		all = append(all, w.take(h, issue, claim.Running))
	}
	refused, others := w.ref("claims/2"), w.ref("claims/1")+w.ref("claims/3")
	hooks := t.TempDir()
	repotest.Write(t, hooks, map[string]string{"update": "#!/bin/sh\ncase $1 in refs/agentmux/claims/2) exit 1 ;; esac\n"})
	repotest.Git(t, w.Repo(widgets).Dir(), "config", "core.hooksPath", hooks)
	h.clock.pass(5 * time.Minute) // a silence after which all of them are renewed
	for range 2 {
		beat := w.ref("hosts/" + h.id.String())
		if err := h.Beat(t.Context()); err == nil {
			t.Error("the refusal is not told")
		}
		if w.ref("hosts/"+h.id.String()) == beat {
			t.Error("the beat did not arrive")
		}
		h.clock.pass(2 * time.Minute)
	}
	if w.ref("claims/2") != refused || w.ref("claims/1")+w.ref("claims/3") == others {
		t.Error("the wrong claims were renewed")
	}
	for i, held := range all {
		if err := held.Check(t.Context()); err != nil {
			t.Errorf("issue %d: %v", i+1, err)
		}
	}
}

// What an earlier process of the host left is found, and nothing else.
func TestLeftoversAreAdoptedOrReleased(t *testing.T) {
	w := newWorld(t)
	id := claim.NewHostID()
	before, other := w.host(as(id)), w.host()
	w.take(before, 12, claim.Running)
	w.take(before, 13, claim.Queued)
	w.take(other, 14, claim.Running)

	next := w.host(as(id))
	left, err := next.Leftovers(t.Context())
	if err != nil || len(left) != 2 || left[0].Issue != 12 || left[1].Issue != 13 {
		t.Fatalf("left: %+v, %v", left, err)
	}
	w.take(next, 15, claim.Running) // its beat says nothing of what was before
	held, err := next.Adopt(left[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.Adopt(left[0]); err == nil {
		t.Error("a claim was adopted twice")
	}
	// Nothing is known of the time between: the server is asked until a beat has landed.
	if n := w.asked(func() {
		if err := held.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}); n == 0 {
		t.Error("the server was not asked")
	}
	pushes := w.pushes()
	if err := next.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.pushes() - pushes; n != 1 {
		t.Errorf("%d pushes, want a renewal", n)
	}
	if n := w.asked(func() { _ = held.Check(t.Context()) }); n != 0 {
		t.Errorf("after a beat the server was asked %d times", n)
	}
	drop, err := next.Adopt(left[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := drop.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := next.Leftovers(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("left at the end: %+v, %v", left, err)
	}
	if w.ref("claims/13") != "" || w.ref("claims/14") == "" || w.ref("claims/12") != held.Seen().ID {
		t.Error("the wrong claims are there")
	}
}

// A host was away for so long that others took its claims.
func TestWhatOthersTookIsNotAdopted(t *testing.T) {
	w := newWorld(t)
	id := claim.NewHostID()
	w.take(w.host(as(id)), 12, claim.Running)
	next, other := w.host(as(id)), w.host()
	left, err := next.Leftovers(t.Context())
	if err != nil || len(left) != 1 {
		t.Fatalf("left: %+v, %v", left, err)
	}
	if _, _, err := w.steal(other, w.watch(other, 12, 10*time.Minute)); err != nil {
		t.Fatal(err)
	}
	// It was adopted from a look that was too old.
	held, err := next.Adopt(left[0])
	if err != nil {
		t.Fatal(err)
	}
	var lost *claim.LostError
	if err := held.Check(t.Context()); !errors.As(err, &lost) || lost.Host != other.id {
		t.Errorf("check: %v", err)
	}
	if _, err := next.Adopt(left[0]); !errors.As(err, &lost) || lost.Host != other.id {
		t.Errorf("adopt: %v", err)
	}
	if left, err := next.Leftovers(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
}

func TestOnlyCommitsAreKeptInTheStore(t *testing.T) {
	w := newWorld(t)
	w.take(w.host(), 12, claim.Running)
	w.find(w.host(), 12)
	found, err := filepath.Glob(filepath.Join(w.home, "claims.git", "refs", "*", "*"))
	if err != nil || len(found) != 0 {
		t.Errorf("refs: %q, %v", found, err)
	}
	if err := os.RemoveAll(filepath.Join(w.home, "claims.git")); err != nil {
		t.Fatal(err)
	}
	held := w.take(w.host(), 13, claim.Running)
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
