package claim_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
)

func TestSixPushesPassInAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := claim.NewPace(claim.Clock{}, time.Second), time.Now()
		var passed []time.Duration
		for range 15 {
			if err := p.Wait(t.Context(), claim.Claiming); err != nil {
				t.Fatal(err)
			}
			passed = append(passed, time.Since(start))
		}
		for i := range passed[6:] {
			if d := passed[i+6] - passed[i]; d < time.Minute {
				t.Errorf("seven pushes in %v: %v", d, passed)
			}
		}
		if passed[5] != 0 || passed[14] != 2*time.Minute {
			t.Errorf("passed at %v", passed)
		}
	})
}

// The window is sixty times the interval between writes.
func TestThePaceOfClaimsFollowsTheWriteInterval(t *testing.T) {
	for write, want := range map[time.Duration]time.Duration{100 * time.Millisecond: 12 * time.Second, -1: 0} {
		synctest.Test(t, func(t *testing.T) {
			p, start := claim.NewPace(claim.Clock{}, write), time.Now()
			for range 15 {
				if err := p.Wait(t.Context(), claim.Claiming); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(start); took != want {
				t.Errorf("writes every %v: 15 pushes in %v, want %v", write, took, want)
			}
			if spare := p.Spare(); spare != (write < 0) {
				t.Errorf("writes every %v: room to spare: %t", write, spare)
			}
		})
	}
}

func TestTheMostUrgentPassesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := claim.NewPace(claim.Clock{}, time.Second)
		for range 6 {
			if err := p.Wait(t.Context(), claim.Claiming); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		order := make(chan claim.Urgency, 8)
		for _, u := range []claim.Urgency{claim.Low, claim.Claiming, claim.Normal, claim.Low, claim.Urgent, claim.Claiming, claim.Normal, claim.Urgent} {
			go func() {
				if err := p.Wait(t.Context(), u); err != nil {
					t.Error(err)
				}
				order <- u
			}()
		}
		synctest.Wait()
		var got []claim.Urgency
		for range 8 {
			got = append(got, <-order)
		}
		if !slices.IsSorted(got) {
			t.Errorf("passed: %v", got)
		}
	})
}

func TestAPushThatIsGivenUpMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := claim.NewPace(claim.Clock{}, time.Second)
		for range 6 {
			if err := p.Wait(t.Context(), claim.Claiming); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- p.Wait(ctx, claim.Urgent) }()
		go func() { second <- p.Wait(t.Context(), claim.Low) }()
		synctest.Wait()
		cancel(gone)
		if err := <-first; !errors.Is(err, gone) {
			t.Errorf("given up: %v", err)
		}
		start := time.Now()
		if err := <-second; err != nil || time.Since(start) != time.Minute {
			t.Errorf("the other: %v after %v", err, time.Since(start))
		}
	})
}

// The pushes of one desk keep the pace, claims as well as beats.
func TestADeskKeepsThePace(t *testing.T) {
	w := newWorld(t)
	h := w.host()
	start := h.clock.since()
	for issue := 1; issue <= 7; issue++ {
		w.take(h, issue, claim.Running)
	}
	if d := h.clock.since() - start; d < time.Minute {
		t.Errorf("7 pushes in %v", d)
	}
}

// What a later push does as well takes no more than two of a minute's pushes, and waits for none.
func TestCheckpointsLeaveRoomForClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := claim.NewPace(claim.Clock{}, time.Second), time.Now()
		passed := 0
		for range 10 {
			if p.Spare() {
				passed++
			}
		}
		if passed != 2 {
			t.Errorf("%d checkpoints passed", passed)
		}
		for _, u := range []claim.Urgency{claim.Low, claim.Normal, claim.Claiming, claim.Claiming} {
			if err := p.Wait(t.Context(), u); err != nil {
				t.Fatal(err)
			}
		}
		if time.Since(start) != 0 {
			t.Errorf("a beat, a last checkpoint, the end of its claim and the next claim waited %v", time.Since(start))
		}
		time.Sleep(time.Minute)
		if !p.Spare() {
			t.Error("no checkpoint passes a minute later")
		}
	})
}

// However much else wants to be pushed, the end of a session and the claim of the next one do not wait:
// checkpoints and beats have four pushes of a minute.
func TestTheLastPushesOfAMinuteAreForClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := claim.NewPace(claim.Clock{}, time.Second), time.Now()
		others := make(chan time.Duration, 9)
		for range cap(others) {
			go func() {
				if err := p.Wait(t.Context(), claim.Normal); err != nil {
					t.Error(err)
				}
				others <- time.Since(start)
			}()
		}
		synctest.Wait()
		if n := len(others); n != 4 {
			t.Errorf("%d other pushes passed", n)
		}
		for _, want := range []time.Duration{0, 0, time.Minute} {
			if err := p.Wait(t.Context(), claim.Claiming); err != nil || time.Since(start) != want {
				t.Errorf("a claim passed after %v, want %v: %v", time.Since(start), want, err)
			}
		}
		for range cap(others) {
			if at := <-others; at > 3*time.Minute {
				t.Errorf("another push waited %v", at)
			}
		}
	})
}

// A session that ends with its last pushes is followed at once: these, and those of another session, leave
// room for the end of its claim and for the claim of the next round.
func TestTheNextRoundIsClaimedAtOnce(t *testing.T) {
	for name, ends := range map[string]int{"one session ends": 1, "two sessions end": 2} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			h := w.host()
			held := w.take(h, 12, claim.Running)
			shared := held.(interface {
				Pass(ctx context.Context, last bool) (bool, error)
			})
			for range 3 {
				if _, err := shared.Pass(t.Context(), false); err != nil {
					t.Fatal(err)
				}
			}
			for range ends {
				if pass, err := shared.Pass(t.Context(), true); !pass {
					t.Fatal(err)
				}
			}
			start := h.clock.since()
			if err := held.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.take(h, 12, claim.Running)
			if d := h.clock.since() - start; d != 0 {
				t.Errorf("the next round waited %v", d)
			}
		})
	}
}
