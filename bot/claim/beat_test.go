package claim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

// A beat is a commit without a parent and with one line; it goes alone, whatever is held.
func TestABeatIsOnePushOfOneRef(t *testing.T) {
	w := newWorld(t)
	h := w.host(func(o *claim.Options) { o.Free = func() int { return 3 } })
	for issue := 1; issue <= 3; issue++ {
		w.take(h, issue, claim.Running)
	}
	claims := w.ref("claims/1") + w.ref("claims/2") + w.ref("claims/3")
	h.clock.pass(2 * time.Minute)
	w.ResetLog()
	if err := h.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	var moved []string
	for _, e := range w.Log() {
		moved = append(moved, strings.Split(e.Body, "\n")...)
	}
	if len(moved) != 1 || !strings.HasSuffix(moved[0], "refs/agentmux/hosts/"+h.id.String()) {
		t.Errorf("moved: %q", moved)
	}
	if now := w.ref("claims/1") + w.ref("claims/2") + w.ref("claims/3"); now != claims {
		t.Error("a claim moved")
	}
	dir := w.Repo(widgets).Dir()
	commit := repotest.Git(t, dir, "cat-file", "commit", "refs/agentmux/hosts/"+h.id.String())
	_, message, _ := strings.Cut(commit, "\n\n")
	var beat struct {
		V, Beat, Free int
		Host          claim.HostID
		Sessions      []string
	}
	if err := json.Unmarshal([]byte(message), &beat); err != nil || strings.Contains(commit, "\nparent ") {
		t.Fatalf("%v in %q", err, commit)
	}
	if got := fmt.Sprint(beat.V, beat.Beat, beat.Free, beat.Host, beat.Sessions); got != fmt.Sprint(1, 4, 3, h.id, "[s s s]") {
		t.Errorf("the beat says %s", got)
	}
}

func TestABeatHoldsAsManySessionsAsFit(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	const held = 20 // of the longest names: 2 KiB
	for issue := 1; issue <= held; issue++ {
		wanted := want(issue, claim.Running)
		wanted.Session = strings.Repeat("s", 100)
		if _, err := h.Take(t.Context(), wanted); err != nil {
			t.Fatalf("claim %d: %v", issue, err)
		}
	}
	h.clock.pass(2 * time.Minute)
	if err := h.Beat(t.Context()); err != nil {
		t.Error(err)
	}
	beat := repotest.Git(t, w.Repo(widgets).Dir(), "cat-file", "commit", "refs/agentmux/hosts/"+h.id.String())
	if n := strings.Count(beat, strings.Repeat("s", 100)); n != held/2 {
		t.Errorf("the beat names %d sessions of %d, want half of them", n, held)
	}
}

// A claim brings its beat along, so the next beat has only to read back.
func TestAFreshClaimSavesABeat(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	w.take(h, 12, claim.Running)
	pushes := w.pushes()
	if err := h.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.pushes() - pushes; n != 0 {
		t.Errorf("%d pushes", n)
	}
	h.clock.pass(2 * time.Minute)
	if err := h.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.pushes() - pushes; n != 1 {
		t.Errorf("%d pushes after two minutes", n)
	}
}

// Beats that arrive are counted, alone or with a claim, and those that fail.
func TestBeatsAreCounted(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	counted := func(arrived, missed int) {
		t.Helper()
		if a, m := h.Beats(); a != arrived || m != missed {
			t.Errorf("%d beats arrived and %d failed, want %d and %d", a, m, arrived, missed)
		}
	}
	w.take(h, 12, claim.Running)
	counted(1, 0)
	h.clock.pass(2 * time.Minute)
	if err := h.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	counted(2, 0)
	h.clock.pass(2 * time.Minute)
	w.Inject(fakehub.Fault{Route: "GIT push-refs", Status: 403})
	if err := h.Beat(t.Context()); err == nil {
		t.Fatal("the beat arrived")
	}
	counted(2, 1)
}

// After a silence all claims are renewed, in one push.
func TestManyClaimsAreRenewedAtOnce(t *testing.T) {
	w := newWorld(t)
	h, other := w.host(), w.host()
	var all []claim.Held
	for issue := 1; issue <= 5; issue++ {
		all = append(all, w.take(h, issue, claim.Running))
	}
	waiting := w.take(h, 6, claim.Queued)
	if _, _, err := w.steal(other, w.watch(other, 3, 10*time.Minute)); err != nil {
		t.Fatal(err)
	}
	old := waiting.Seen().ID
	h.clock.pass(5 * time.Minute)
	pushes := w.pushes()
	if err := h.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.pushes() - pushes; n != 2 {
		t.Errorf("%d pushes, want a beat and the renewals", n)
	}
	for i, held := range all {
		err := held.Check(t.Context())
		if lost := errors.As(err, new(*claim.LostError)); lost != (i == 2) || !lost && (err != nil || held.Seen().ID != w.ref(fmt.Sprintf("claims/%d", i+1))) {
			t.Errorf("issue %d: %v", i+1, err)
		}
	}
	if waiting.Seen().ID != old {
		t.Error("a claim that waits was renewed, as if it were new")
	}
}

func TestABeatSeesAnotherProcessOfItsID(t *testing.T) {
	w := newWorld(t)
	id := claim.NewHostID()
	one, two := w.host(as(id)), w.host(as(id))
	held := w.take(one, 12, claim.Running)
	w.take(two, 13, claim.Running)
	one.clock.pass(2 * time.Minute)
	if err := one.Beat(t.Context()); !errors.Is(err, claim.ErrTwin) {
		t.Errorf("beat: %v", err)
	}
	if err := held.Check(t.Context()); err != nil {
		t.Errorf("the claim: %v", err)
	}
}

// A person removed the ref of the host.
func TestABeatThatWasRemovedIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	w.take(h, 12, claim.Running)
	repotest.Git(t, w.Repo(widgets).Dir(), "update-ref", "-d", "refs/agentmux/hosts/"+h.id.String())
	h.clock.pass(2 * time.Minute)
	if err := h.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.ref("hosts/"+h.id.String()) == "" {
		t.Error("there is no beat")
	}
}

// running starts Run on a clock that is moved by hand; step lets time pass and waits until Run
// waits again.
func running(t *testing.T, h *host) (step func(d time.Duration)) {
	t.Helper()
	h.clock.mu.Lock()
	h.clock.manual, h.clock.asked = true, make(chan struct{}, 100)
	h.clock.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	<-h.clock.asked
	return func(d time.Duration) {
		h.clock.pass(d)
		<-h.clock.asked
	}
}

func TestRunBeatsEveryTwoMinutes(t *testing.T) {
	w := newWorld(t)
	var log strings.Builder
	h := w.host(func(o *claim.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	held := w.take(h, 12, claim.Running)
	step := running(t, h)
	for range 3 {
		before := w.ref("hosts/" + h.id.String())
		step(2 * time.Minute)
		if now := w.ref("hosts/" + h.id.String()); now == before {
			t.Error("no beat after two minutes")
		}
	}
	// A beat that fails is made again soon.
	w.Inject(fakehub.Fault{Route: "GIT push-refs", Status: 403})
	step(2 * time.Minute)
	for range 3 {
		step(20 * time.Second)
	}
	w.Heal()
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("the log has %d lines:\n%s", n, log.String())
	}
	before := w.ref("hosts/" + h.id.String())
	step(20 * time.Second)
	if now := w.ref("hosts/" + h.id.String()); now == before {
		t.Error("no beat soon after one that failed")
	}
	// The claim is taken away, and Run finds it out by itself.
	repotest.Git(t, w.Repo(widgets).Dir(), "update-ref", "-d", "refs/agentmux/claims/12")
	h.clock.pass(2 * time.Minute)
	<-held.Lost()
}

// A host without a claim does not beat: an idle repository is left alone.
func TestRunRestsWithoutClaims(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	h.clock.manual, h.clock.asked = true, make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	for issue := 1; issue <= 3; issue++ {
		calls := len(w.Calls())
		h.clock.pass(time.Hour)
		if n := len(w.Calls()) - calls; n != 0 {
			t.Errorf("%d requests", n)
		}
		held := w.take(h, issue, claim.Running)
		<-h.clock.asked // the claim woke Run, which waits for its beat
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestBeatsOfHostsThatAreGoneAreSwept(t *testing.T) {
	w := newWorld(t)
	gone, holder, idle, h := w.host(), w.host(), w.host(), w.host()
	for issue, one := range map[int]*host{1: gone, 2: idle} {
		if err := w.take(one, issue, claim.Running).Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.take(holder, 3, claim.Running)
	sweep := func(want int) {
		t.Helper()
		if n, err := h.Sweep(t.Context()); err != nil || n != want {
			t.Errorf("swept %d, %v; want %d", n, err, want)
		}
	}
	sweep(0)
	h.clock.pass(23 * time.Hour)
	sweep(0)
	w.take(idle, 4, claim.Running)
	h.clock.pass(time.Hour)
	sweep(1)
	for name, c := range map[string]struct {
		host  *host
		there bool
	}{"gone": {gone, false}, "with a claim": {holder, true}, "back": {idle, true}} {
		if at := w.ref("hosts/" + c.host.id.String()); (at != "") != c.there {
			t.Errorf("the host that is %s has its beat at %q", name, at)
		}
	}
	w.take(gone, 5, claim.Running) // it was only idle
}
