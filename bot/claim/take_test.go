package claim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

// claimants are ten hosts, five in short tests: some of one machine, and two that share an id because
// its state directory was copied.
func (w *world) claimants() []*host {
	count := 10
	if testing.Short() {
		count = 5
	}
	var hosts []*host
	for range count - 1 {
		hosts = append(hosts, w.host())
	}
	return append(hosts, w.host(as(hosts[count-2].id)))
}

// race lets all claim one issue at once and returns what they got.
func race(ctx context.Context, hosts []*host, issue int) ([]claim.Held, []error) {
	held, errs := make([]claim.Held, len(hosts)), make([]error, len(hosts))
	var all sync.WaitGroup
	start := make(chan struct{})
	for i, h := range hosts {
		all.Go(func() {
			<-start
			held[i], errs[i] = h.Take(ctx, want(issue, claim.Running))
		})
	}
	close(start)
	all.Wait()
	return held, errs
}

func TestGitHub36OneHostWinsEachRace(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	if n, err := strconv.Atoi(os.Getenv("AGENTMUX_CLAIM_ROUNDS")); err == nil {
		rounds = n
	}
	w := newWorld(t)
	hosts := w.claimants()
	won := map[claim.HostID]int{}
	for issue := 1; issue <= rounds; issue++ {
		held, errs := race(t.Context(), hosts, issue)
		var winner claim.Held
		for i, err := range errs {
			var taken *claim.TakenError
			switch {
			case err == nil && winner != nil:
				t.Fatalf("round %d has two winners: %s and %s", issue, winner.Seen().Claim.Host, hosts[i].id)
			case err == nil:
				winner = held[i]
				won[hosts[i].id]++
			case !errors.As(err, &taken):
				t.Fatalf("round %d, host %d: %v", issue, i, err)
			}
		}
		if winner == nil {
			t.Fatalf("round %d has no winner: %v", issue, errs)
		}
		if at := w.ref(fmt.Sprintf("claims/%d", issue)); at != winner.Seen().ID {
			t.Fatalf("round %d: the server has %s, the winner %s", issue, at, winner.Seen().ID)
		}
		for i, err := range errs {
			var taken *claim.TakenError
			if errors.As(err, &taken) && taken.Seen.Claim.Host != winner.Seen().Claim.Host {
				t.Errorf("round %d: host %d was told %+v", issue, i, taken.Seen)
			}
		}
		if err := winner.Release(t.Context()); err != nil {
			t.Fatalf("round %d: %v", issue, err)
		}
	}
	t.Logf("%d rounds, won by %v", rounds, won)
}

// The claim is one line on an empty tree, with its beat in the same push; a job pushes the claim
// alone.
func TestAClaimIsCreatedWithItsBeat(t *testing.T) {
	for name, id := range map[string]claim.HostID{"a host": claim.NewHostID(), "a job": claim.JobHostID(7, 1)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			h := w.host(as(id))
			held := w.take(h, 12, claim.Queued)
			if w.ref("claims/12") != held.Seen().ID {
				t.Errorf("the claim is at %q", w.ref("claims/12"))
			}
			_, _, job := id.Job()
			if beat := w.ref("hosts/" + id.String()); (beat == "") != job {
				t.Errorf("the beat is at %q", beat)
			}
			if n := w.pushes(); n != 1 {
				t.Errorf("%d pushes", n)
			}
			got := w.find(w.host(), 12)
			if got.Problem != nil || got.ID != held.Seen().ID || got.Claim.Host != id || got.Claim.Session != "s" || got.Claim.Gen != 1 || got.Claim.RepoID != repoID {
				t.Errorf("others see %+v", got)
			}
			if err := held.Check(t.Context()); err != nil {
				t.Errorf("check: %v", err)
			}
		})
	}
}

func TestAClaimedIssueNamesItsHolder(t *testing.T) {
	w := newWorld(t)
	one, two := w.host(), w.host()
	w.take(one, 12, claim.Running)
	for name, h := range map[string]*host{"by another host": two, "by the host itself": one} {
		var taken *claim.TakenError
		if _, err := h.Take(t.Context(), want(12, claim.Running)); !errors.As(err, &taken) || taken.Seen.Claim.Host != one.id || !strings.Contains(err.Error(), one.id.String()) {
			t.Errorf("taken %s: %v", name, err)
		}
	}
	w.take(two, 13, claim.Running)
}

// The first beat of the process meets one that the server has from before.
func TestAClaimMeetsAnOlderBeatOfItsHost(t *testing.T) {
	w := newWorld(t)
	id := claim.NewHostID()
	w.take(w.host(as(id)), 12, claim.Running)
	old := w.ref("hosts/" + id.String())
	w.take(w.host(as(id)), 13, claim.Running)
	if now := w.ref("hosts/" + id.String()); now == old {
		t.Error("the beat did not move")
	}
}

// lost are faults of one push: the answer does not arrive. What breaks off once, git's own
// transport sends again.
var lost = map[string]fakehub.Fault{
	"after it was applied":        {Route: "GIT push", Drop: fakehub.AfterApplying, Times: 1},
	"after it was applied, twice": {Route: "GIT push", Drop: fakehub.AfterApplying, Times: 2},
	"before it was applied":       {Route: "GIT push", Drop: fakehub.BeforeApplying, Times: 2},
	"a bad gateway":               {Route: "GIT push", Status: 502, Times: 1},
}

func TestGitHub37ALostAnswerIsSettled(t *testing.T) {
	for name, fault := range lost {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			one, two := w.host(), w.host()
			step := func(what string, do func() error) {
				t.Helper()
				w.Inject(fault)
				if err := do(); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if w.Hits() != fault.Times {
					t.Errorf("%s: %d requests met the fault", what, w.Hits())
				}
				w.Heal()
			}
			var held claim.Held
			step("take", func() (err error) {
				held, err = one.Take(t.Context(), want(12, claim.Queued))
				return err
			})
			step("mark", func() error { return held.Mark(t.Context(), claim.Running) })
			if got := w.find(two, 12); got.ID != held.Seen().ID || got.Claim.State != claim.Running || got.Claim.Gen != 1 {
				t.Errorf("marked: %+v, held %+v", got, held.Seen())
			}
			step("beat", func() error {
				one.clock.pass(2 * time.Minute)
				return one.Beat(t.Context())
			})
			stale := w.watch(two, 12, 12*time.Minute)
			step("steal", func() (err error) {
				held, err = two.Steal(t.Context(), stale, want(12, claim.Running))
				return err
			})
			if at := w.ref("claims/12"); at != held.Seen().ID || held.Seen().Claim.Gen != 2 {
				t.Errorf("stolen: %s, held %+v", at, held.Seen())
			}
			step("release", func() error { return held.Release(t.Context()) })
			if at := w.ref("claims/12"); at != "" {
				t.Errorf("released: %s", at)
			}
		})
	}
}

// Not even the question after the lost answer is answered. Whether the claim arrived is settled
// by the next try.
func TestGitHub37AnUnknownClaimIsSettledLater(t *testing.T) {
	for name, fault := range map[string]fakehub.Fault{"it arrived": lost["after it was applied, twice"], "it did not": lost["a bad gateway"]} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			h := w.host()
			w.Inject(fault, fakehub.Fault{Route: "GIT fetch-refs", Status: 403})
			var taken *claim.TakenError
			if _, err := h.Take(t.Context(), want(12, claim.Running)); err == nil || errors.As(err, &taken) {
				t.Fatalf("without an answer: %v", err)
			}
			w.Heal()
			held := w.take(h, 12, claim.Running)
			if at := w.ref("claims/12"); at != held.Seen().ID {
				t.Errorf("the server has %s, held is %s", at, held.Seen().ID)
			}
			if err := held.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestGitHub41RefusedRefsNameTheSetting(t *testing.T) {
	for name, rule := range map[string]fakehub.PushRule{
		"hidden":      fakehub.HiddenRule("refs/agentmux/*"),
		"a rule set":  fakehub.RulesetRule("refs/agentmux/*", "Refs must be branches."),
		"a hook":      {Ref: "refs/agentmux/*", Reason: "pre-receive hook declined"},
		"beats alone": fakehub.HiddenRule("refs/agentmux/hosts/*"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Repo(widgets).RefusePush(rule)
			var refused *claim.RefusedError
			if _, err := w.host().Take(t.Context(), want(12, claim.Running)); !errors.As(err, &refused) || !strings.Contains(err.Error(), "bot.single_host: true") {
				t.Errorf("take: %v", err)
			}
			if at := w.ref("claims/12"); at != "" {
				t.Errorf("the claim is at %s", at)
			}
		})
	}
	t.Run("a beat that is refused takes the claim with it", func(t *testing.T) {
		w := newWorld(t)
		hooks := t.TempDir()
		repotest.Write(t, hooks, map[string]string{"update": "#!/bin/sh\ncase $1 in refs/agentmux/hosts/*) exit 1 ;; esac\n"})
		repotest.Git(t, w.Repo(widgets).Dir(), "config", "core.hooksPath", hooks)
		var refused *claim.RefusedError
		if _, err := w.host().Take(t.Context(), want(12, claim.Running)); !errors.As(err, &refused) {
			t.Errorf("take: %v", err)
		}
		if at := repotest.Git(t, w.Repo(widgets).Dir(), "for-each-ref", "refs/agentmux"); at != "" {
			t.Errorf("the server has %s", at)
		}
	})
	t.Run("no permission is something else", func(t *testing.T) {
		w := newWorld(t)
		w.Repo(widgets).SetRole("bot", fakehub.Read)
		var refused *claim.RefusedError
		if _, err := w.host().Take(t.Context(), want(12, claim.Running)); err == nil || errors.As(err, &refused) {
			t.Errorf("take: %v", err)
		}
	})
}

// Two processes that share an id because a state directory was copied make different commits of
// the same claim in the same second: with one commit for both, each would take it for its own.
func TestClaimsOfOneSecondDiffer(t *testing.T) {
	w := newWorld(t)
	first := w.host()
	second := w.host(as(first.id)) // its clock says the same
	held := w.take(first, 12, claim.Running)
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := w.take(second, 12, claim.Running)
	if a, b := held.Seen(), again.Seen(); a.ID == b.ID || !a.Claim.At.Equal(b.Claim.At) {
		t.Errorf("the claims are %+v and %+v", a, b)
	}
}
