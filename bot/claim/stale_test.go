package claim_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

// stale is what a host thinks of a claim, and steals what it may.
func (w *world) steal(h *host, seen claim.Seen) (claim.Stale, claim.Held, error) {
	w.tb.Helper()
	why, err := h.Stale(w.tb.Context(), seen)
	if err != nil {
		return why, nil, err
	}
	held, err := h.Steal(w.tb.Context(), seen, want(seen.Issue, claim.Running))
	if (err == nil) != (why != claim.NotStale) {
		w.tb.Errorf("a claim that is stale by %q was stolen with %v", why, err)
	}
	return why, held, err
}

func TestGitHub38ASilentHostLosesItsClaim(t *testing.T) {
	w := newWorld(t)
	one, two := w.host(), w.host()
	held := w.take(one, 12, claim.Running)
	first := held.Seen().ID

	early := w.watch(two, 12, 9*time.Minute+59*time.Second)
	var taken *claim.TakenError
	if why, _, err := w.steal(two, early); why != claim.NotStale || !errors.As(err, &taken) || taken.Seen.Claim.Host != one.id {
		t.Fatalf("after less than ten minutes: %q, %v", why, err)
	}
	seen := w.watch(two, 12, 2*time.Second)
	why, stolen, err := w.steal(two, seen)
	if why != claim.Silent || err != nil {
		t.Fatalf("after ten minutes: %q, %v", why, err)
	}
	if got := stolen.Seen(); got.Claim.Gen != 2 || got.Claim.Host != two.id || w.ref("claims/12") != got.ID {
		t.Errorf("stolen: %+v", got)
	}
	if parent := repotest.Git(t, w.Repo(widgets).Dir(), "rev-parse", stolen.Seen().ID+"^"); parent != first {
		t.Errorf("the parent is %s, not the claim that was seen", parent)
	}
	if at := w.ref("hosts/" + two.id.String()); at == "" {
		t.Error("no beat came along")
	}

	one.clock.pass(11 * time.Minute)
	var lost *claim.LostError
	if err := held.Check(t.Context()); !errors.As(err, &lost) || lost.Host != two.id {
		t.Errorf("the old holder: %v", err)
	}
	closed(t, held.Lost())
	pushes := w.pushes()
	if err := held.Mark(t.Context(), claim.Handover); !errors.As(err, &lost) {
		t.Errorf("the old holder marks: %v", err)
	}
	if err := held.Release(t.Context()); !errors.As(err, &lost) {
		t.Errorf("the old holder releases: %v", err)
	}
	if n := w.pushes() - pushes; n != 0 || w.ref("claims/12") != stolen.Seen().ID {
		t.Errorf("the old holder pushed %d times", n)
	}
}

// A host that does not know yet that its claim was taken gives back nothing: its release is a compare-and-swap on the claim
// that was its own.
func TestAReleaseRemovesNoClaimOfAnotherHost(t *testing.T) {
	w := newWorld(t)
	one, two := w.host(), w.host()
	held := w.take(one, 12, claim.Running)
	_, stolen, err := w.steal(two, w.watch(two, 12, 10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var lost *claim.LostError
	if err := held.Release(t.Context()); !errors.As(err, &lost) || lost.Host != two.id {
		t.Errorf("release: %v", err)
	}
	if at := w.ref("claims/12"); at != stolen.Seen().ID {
		t.Errorf("the claim is %q, want that of the other host", at)
	}
}

func TestAHostThatBeatsKeepsItsClaim(t *testing.T) {
	w := newWorld(t)
	one, two := w.host(), w.host()
	held := w.take(one, 12, claim.Running)
	var seen claim.Seen
	w.find(two, 12)
	for range 6 {
		one.clock.pass(2 * time.Minute)
		if err := one.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		two.clock.pass(2 * time.Minute)
		seen = w.find(two, 12)
	}
	if why, _, err := w.steal(two, seen); why != claim.NotStale || err == nil {
		t.Errorf("%q, %v", why, err)
	}
	if err := held.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// What a process did not see itself does not count: a first look judges no host.
func TestGitHub38OnlyWhatWasSeenCounts(t *testing.T) {
	w := newWorld(t)
	w.take(w.host(), 12, claim.Running)
	late := w.host()
	late.clock.pass(time.Hour)
	if why, _, err := w.steal(late, w.find(late, 12)); why != claim.NotStale || err == nil {
		t.Errorf("at the first look: %q, %v", why, err)
	}
	late.clock.pass(time.Hour) // without a look: the host may have beaten a moment ago
	if why, err := late.Stale(t.Context(), w.seenOnce(late)); why != claim.NotStale || err != nil {
		t.Errorf("without a second look: %q, %v", why, err)
	}
	if why, _, err := w.steal(late, w.find(late, 12)); why != claim.Silent || err != nil {
		t.Errorf("at the second look: %q, %v", why, err)
	}
}

// While the server does not answer, its hosts cannot beat.
func TestAnOutageMakesNoHostStale(t *testing.T) {
	w := newWorld(t)
	one, two := w.host(), w.host()
	w.take(one, 12, claim.Running)
	w.find(two, 12)
	w.Inject(fakehub.Fault{Route: "GIT fetch-refs", Status: 403})
	for range 6 {
		two.clock.pass(10 * time.Minute)
		if _, err := two.Look(t.Context()); err == nil {
			t.Fatal("the server answers")
		}
	}
	w.Heal()
	if why, _, err := w.steal(two, w.find(two, 12)); why != claim.NotStale || err == nil {
		t.Errorf("after an hour without answers: %q, %v", why, err)
	}
	if why, _, err := w.steal(two, w.watch(two, 12, 10*time.Minute)); why != claim.Silent || err != nil {
		t.Errorf("ten minutes later: %q, %v", why, err)
	}
}

func TestGitHub38AJobIsJudgedByItsRun(t *testing.T) {
	unread := errors.New("503")
	for name, c := range map[string]struct {
		state claim.RunState
		err   error
		want  claim.Stale
	}{
		"live":         {claim.RunState{Attempt: 2}, nil, claim.NotStale},
		"completed":    {claim.RunState{Attempt: 2, Completed: true}, nil, claim.RunEnded},
		"deleted":      {claim.RunState{Gone: true}, nil, claim.RunEnded},
		"next attempt": {claim.RunState{Attempt: 3}, nil, claim.RunEnded},
		"unreadable":   {claim.RunState{}, unread, claim.NotStale},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			job, other := w.host(as(claim.JobHostID(77, 2))), w.host(runs(c.state, c.err))
			held := w.take(job, 12, claim.Running)
			seen := w.watch(other, 12, 12*time.Minute) // it has no beat, and none is missed
			why, stolen, err := w.steal(other, seen)
			if why != c.want || (err == nil) != (c.want == claim.RunEnded) || c.err != nil && !errors.Is(err, c.err) {
				t.Fatalf("%q, %v", why, err)
			}
			job.clock.pass(5 * time.Minute)
			var lost *claim.LostError
			if err := held.Check(t.Context()); errors.As(err, &lost) != (stolen != nil) {
				t.Errorf("the job: %v", err)
			}
		})
	}
	t.Run("runs are not read", func(t *testing.T) {
		w := newWorld(t)
		w.take(w.host(as(claim.JobHostID(77, 2))), 12, claim.Running)
		other := w.host()
		if why, _, err := w.steal(other, w.watch(other, 12, 12*time.Minute)); why != claim.NotStale || err == nil {
			t.Errorf("%q, %v", why, err)
		}
	})
}

func TestAHandedOverClaimIsFree(t *testing.T) {
	w := newWorld(t)
	one, two := w.host(as(claim.JobHostID(77, 1))), w.host(runs(claim.RunState{Attempt: 1}, nil))
	held := w.take(one, 12, claim.Running)
	if err := held.Mark(t.Context(), claim.Handover); err != nil {
		t.Fatal(err)
	}
	if err := held.Check(t.Context()); !errors.Is(err, claim.ErrReleased) {
		t.Errorf("after the handover: %v", err)
	}
	if why, got, err := w.steal(two, w.find(two, 12)); why != claim.LetGo || err != nil || got.Seen().Claim.Gen != 2 {
		t.Errorf("%q, %v", why, err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Errorf("release of what was handed over: %v", err)
	}
	if w.ref("claims/12") == "" {
		t.Error("the claim of the other host is gone")
	}
}

func TestAWaitingClaimMayBeTakenAfterAMinute(t *testing.T) {
	w := newWorld(t)
	one, two := w.host(), w.host()
	held := w.take(one, 12, claim.Queued)
	w.find(two, 12)
	two.clock.pass(59 * time.Second)
	if why, _, err := w.steal(two, w.find(two, 12)); why != claim.NotStale || err == nil {
		t.Fatalf("before: %q, %v", why, err)
	}
	two.clock.pass(time.Second)
	why, stolen, err := w.steal(two, w.find(two, 12))
	if why != claim.Waiting || err != nil || stolen.Seen().Claim.State != claim.Running {
		t.Fatalf("after: %q, %v", why, err)
	}
	// The old holder beats well, and must not rely on that.
	var lost *claim.LostError
	if err := held.Check(t.Context()); !errors.As(err, &lost) || lost.Host != two.id {
		t.Errorf("the old holder: %v", err)
	}
	if err := held.Mark(t.Context(), claim.Running); !errors.As(err, &lost) {
		t.Errorf("the old holder starts: %v", err)
	}
}

// The holder gets its slot in the same moment.
func TestAClaimThatBeganToRunIsNotTaken(t *testing.T) {
	w := newWorld(t)
	one, two := w.host(), w.host()
	held := w.take(one, 12, claim.Queued)
	seen := w.watch(two, 12, 2*time.Minute)
	if err := held.Mark(t.Context(), claim.Running); err != nil {
		t.Fatal(err)
	}
	var taken *claim.TakenError
	if _, err := two.Steal(t.Context(), seen, want(12, claim.Running)); !errors.As(err, &taken) || taken.Seen.Claim.State != claim.Running {
		t.Errorf("steal: %v", err)
	}
	if err := held.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOneOfManyThievesWins(t *testing.T) {
	w := newWorld(t)
	old := w.host()
	held := w.take(old, 12, claim.Running)
	var hosts []*host
	var seen []claim.Seen
	for range 5 {
		h := w.host()
		hosts, seen = append(hosts, h), append(seen, w.watch(h, 12, 10*time.Minute))
	}
	results := make(chan claim.Held, len(hosts))
	errs := make(chan error, len(hosts))
	for i, h := range hosts {
		go func() {
			got, err := h.Steal(t.Context(), seen[i], want(12, claim.Running))
			results <- got
			errs <- err
		}()
	}
	winners := 0
	for range hosts {
		got, err := <-results, <-errs
		var taken *claim.TakenError
		switch {
		case err == nil:
			winners++
			if got.Seen().ID != w.ref("claims/12") || got.Seen().Claim.Gen != 2 {
				t.Errorf("won with %+v", got.Seen())
			}
		case !errors.As(err, &taken):
			t.Error(err)
		}
	}
	if winners != 1 {
		t.Errorf("%d winners", winners)
	}
	old.clock.pass(5 * time.Minute)
	if err := held.Check(t.Context()); err == nil {
		t.Error("the old holder goes on")
	}
}

func TestGitHub39ClocksAreNotCompared(t *testing.T) {
	for name, wrong := range map[string]time.Duration{"an hour late": -time.Hour, "an hour early": time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			one, two := w.host(), w.host()
			one.clock.jump(wrong)
			held := w.take(one, 12, claim.Running)
			if why, _, err := w.steal(two, w.watch(two, 12, 9*time.Minute)); why != claim.NotStale || err == nil {
				t.Errorf("%q, %v", why, err)
			}
			if err := held.Check(t.Context()); err != nil {
				t.Error(err)
			}
			two.clock.jump(time.Hour) // the observer's own wall clock does not count either
			if why, _, err := w.steal(two, w.find(two, 12)); why != claim.NotStale || err == nil {
				t.Errorf("after a jump: %q, %v", why, err)
			}
		})
	}
}

// Anybody with write permission can put anything there.
func TestAClaimThatCannotBeReadIsLeftAlone(t *testing.T) {
	for name, line := range map[string]string{
		"no claim":         "hello",
		"two lines":        "a\n\nb",
		"another issue":    strings.Replace(good, `"issue":12`, `"issue":13`, 1),
		"other repository": strings.Replace(good, "1001", "1002", 1),
		"a newer version":  strings.Replace(good, `"v":1`, `"v":9`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("claims/12", line)
			w.put("claims/x", line)
			w.put("hosts/h_x", line)
			h := w.host()
			w.take(h, 14, claim.Running)
			seen := w.watch(h, 12, 12*time.Minute)
			if seen.Problem == nil || seen.ID == "" {
				t.Fatalf("seen: %+v", seen)
			}
			var taken *claim.TakenError
			if _, err := h.Take(t.Context(), want(12, claim.Running)); !errors.As(err, &taken) || !strings.Contains(err.Error(), "refs/agentmux/claims/12") {
				t.Errorf("take: %v", err)
			}
			if why, _, err := w.steal(h, seen); why != claim.NotStale || err == nil {
				t.Errorf("%q, %v", why, err)
			}
		})
	}
}

// put makes a ref of ours with a message of somebody else's.
func (w *world) put(ref, message string) {
	w.tb.Helper()
	dir := w.Repo(widgets).Dir()
	id := repotest.Git(w.tb, dir, "commit-tree", "-m", message, gitrepo.EmptyTree)
	repotest.Git(w.tb, dir, "update-ref", "refs/agentmux/"+ref, id)
}

// seenOnce is the claim of issue 12 as a host was told before; it asks nothing.
func (w *world) seenOnce(h *host) claim.Seen {
	w.tb.Helper()
	var taken *claim.TakenError
	if _, err := h.Take(w.tb.Context(), want(12, claim.Running)); !errors.As(err, &taken) {
		w.tb.Fatalf("take: %v", err)
	}
	return taken.Seen
}

func closed(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	default:
		t.Error("the loss was not told")
	}
}
