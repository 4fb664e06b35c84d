package intake_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// Without hooks a request is seen within the interval.
func TestGitHub28RequestsAreSeenWithinTheInterval(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		in := w.inbox()
		w.poller(in)
		for range 20 {
			wait(7 * time.Second)
			n := w.issue("t", label)
			if took := w.until(in, time.Minute, in.has(fmt.Sprintf("octo/widgets#%d", n))); took > 17*time.Second {
				t.Errorf("issue %d was seen after %s", n, took)
			}
		}
	})
}

// A list that did not change is read a hundred times for nothing.
func TestGitHub11IdlePollsCostNothing(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		for i := range 5 {
			w.Repo(widgets).Comment(w.issue("t"), fmt.Sprint(i), "dev")
			wait(time.Minute)
		}
		in := w.inbox()
		p := w.poller(in)
		wait(time.Minute)
		w.ResetLog()
		wait(26 * time.Minute)
		issues, comments := w.lists()
		if n := w.Requests(robot); n != 0 || issues < 100 || comments < 100 {
			t.Errorf("%d counted requests, %d and %d readings\n%s", n, issues, comments, w.counted())
		}
		more, readings := 100*time.Minute, 500
		if testing.Short() { // two full syncs
			more, readings = 40*time.Minute, 250
		}
		wait(more)
		if n := w.Requests(robot); n > 1 { // the full sync moves once to an address of its own
			t.Errorf("%d counted requests later\n%s", n, w.counted())
		}
		if f := p.Facts(); f.Err != nil || f.Polled.IsZero() || f.Synced.IsZero() || f.Readings < readings {
			t.Errorf("facts %+v", f)
		}
	})
}

// What was read counts as seen only when it was taken in.
func TestWhatIsNotTakenInComesAgain(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		in := w.inbox()
		p := w.poller(in, func(o *intake.Options) { // no full sync finds it meanwhile
			o.Pace = func() intake.Pace {
				return intake.Pace{Every: time.Minute, Comments: time.Minute, Sync: 24 * time.Hour}
			}
		})
		wait(time.Minute)
		in.mu.Lock()
		in.fail = errors.New("the disk is full")
		in.mu.Unlock()
		n := w.issue("t", label)
		w.Repo(widgets).Comment(n, "/agentmux status", "dev")
		wait(time.Hour)
		if f := p.Facts(); f.Err == nil || f.Failing.IsZero() {
			t.Errorf("facts %+v", f)
		}
		in.mu.Lock()
		in.fail = nil
		in.mu.Unlock()
		w.until(in, 2*time.Minute, func() bool { return in.has(fmt.Sprintf("octo/widgets#%d", n))() && len(in.heard()) == 1 })
		wait(time.Minute)
		if f := p.Facts(); f.Err != nil || !f.Failing.IsZero() {
			t.Errorf("facts %+v", f)
		}
	})
}

// Two changes of one second are told apart, and a state that lags is not news.
func TestChangesOfOneSecondAreSeen(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		in := w.inbox()
		p := w.poller(in, each(time.Hour))
		n := w.issue("t")
		wait(time.Minute)
		p.Wake()
		wait(20 * time.Second)
		in.clear()
		w.Repo(widgets).Label(n, "bug", "dev")
		wait(100 * time.Millisecond)
		p.Wake()
		wait(200 * time.Millisecond)
		w.Repo(widgets).Label(n, label, "dev")
		p.Wake()
		w.until(in, 2*time.Second, in.has(fmt.Sprintf("octo/widgets#%d", n)))
	})
}

// A page of nothing that was seen leads to the next one, and a page that fails brings all of them
// again. The first reading is one page; what is behind it comes by the full sync.
func TestPagesAreReadUpToWhatIsKnown(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		old := w.issue("old", label)
		wait(time.Second)
		for range 120 {
			w.issue("t")
		}
		in := w.inbox()
		p := w.poller(in, each(time.Hour), func(o *intake.Options) { o.Turn = nil })
		w.until(in, time.Minute, in.has(fmt.Sprintf("octo/widgets#%d", old)))
		if issues, _ := w.lists(); issues != 1 {
			t.Errorf("the first reading took %d pages", issues)
		}
		wait(time.Minute)
		for _, fault := range []bool{false, true} {
			in.clear()
			w.ResetLog()
			if fault {
				w.Inject(fakehub.Fault{Route: "GET .../issues", From: 3, Times: 5, Status: 500})
			}
			var want []string
			for range 350 {
				want = append(want, fmt.Sprintf("octo/widgets#%d", w.issue("t", label)))
			}
			slices.Sort(want)
			p.Wake()
			w.until(in, 5*time.Minute, func() bool { return slices.Equal(in.requests(), want) })
			wait(time.Minute)
			issues, _ := w.lists()
			if most := map[bool]int{false: 4 + 2, true: 2 + 5 + 4 + 2}[fault]; issues > most {
				t.Errorf("%d pages of issues\n%s", issues, w.counted())
			}
			w.Heal()
		}
	})
}

// With a session the comments are read each fifteen seconds, whatever the interval, and with a
// pull request of one the list of those.
func TestSessionsAreReadMoreOften(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		in := w.inbox()
		p := w.poller(in, each(20*time.Minute))
		n := w.issue("t")
		wait(time.Minute)
		p.Set(intake.Mode{Live: true})
		wait(time.Minute)
		w.ResetLog()
		wait(10 * time.Minute)
		if issues, comments := w.lists(); issues > 1 || comments < 36 || comments > 44 {
			t.Errorf("%d and %d readings in ten minutes", issues, comments)
		}
		w.Repo(widgets).Comment(n, "/agentmux say hello", "dev")
		if took := w.until(in, time.Minute, func() bool { return len(in.heard()) == 1 }); took > 17*time.Second {
			t.Errorf("a comment was heard after %s", took)
		}
		if w.Requests(robot) > 3 {
			t.Errorf("a live repository costs\n%s", w.counted())
		}
	})
}

// A list that is not of interest any more is not a problem any more.
func TestAnErrorEndsWithTheInterestInItsList(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		w.Inject(fakehub.Fault{Route: "GET .../pulls", Status: 403, Message: "Resource not accessible by integration"})
		p := w.poller(w.inbox())
		p.Set(intake.Mode{Pulls: true})
		wait(10 * time.Minute)
		if p.Facts().Err == nil {
			t.Fatalf("facts %+v", p.Facts())
		}
		p.Set(intake.Mode{})
		wait(time.Minute)
		if f := p.Facts(); f.Err != nil || !f.Failing.IsZero() {
			t.Errorf("facts %+v", f)
		}
	})
}

// A clock that is set back a little now and then leads to no reading that is not due.
func TestAClockThatIsSetBackReadsNothingEarly(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		var looks atomic.Int64
		in := w.inbox()
		p := w.poller(in, each(time.Minute), func(o *intake.Options) {
			o.Clock.Now = func() time.Time { return time.Now().Add(-time.Duration(looks.Add(1)/7) * time.Millisecond) }
		})
		wait(time.Minute)
		w.ResetLog()
		for range 100 {
			wait(10 * time.Second)
			p.Wake()
		}
		synced := 0
		for _, r := range w.Calls() {
			if strings.Contains(r.Path, "/labels") {
				synced++
			}
		}
		if issues, _ := w.lists(); synced > 0 || issues < 150 {
			t.Errorf("%d full syncs in 17 minutes, %d readings", synced, issues)
		}
	})
}

// More changes than a reading follows are left to a full sync, at once.
func TestMoreThanAReadingFollowsIsSynced(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		w.issue("t")
		in := w.inbox()
		p := w.poller(in, func(o *intake.Options) {
			o.Pace = func() intake.Pace {
				return intake.Pace{Every: 24 * time.Hour, Comments: 24 * time.Hour, Sync: 24 * time.Hour}
			}
		})
		wait(time.Minute)
		for range 1001 {
			w.issue("t", label)
		}
		p.Wake()
		w.until(in, 5*time.Minute, func() bool { return len(in.requests()) == 1001 })
	})
}

// GitHub away for an hour, in each way: what happened meanwhile is seen two minutes after.
func TestOutagesLoseNothing(t *testing.T) {
	for name, fault := range map[string]fakehub.Fault{
		"500":             {Status: 500},
		"503":             {Status: 503, Body: "<html>unavailable</html>"},
		"nothing":         {Drop: fakehub.BeforeApplying},
		"half an answer":  {CutAfter: 10},
		"secondary limit": {Status: 429, Message: "secondary rate limit"},
		"bad credentials": {Status: 401, Message: "Bad credentials"},
		"null":            {Status: 200, Body: "null"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				in := w.inbox()
				p := w.poller(in)
				wait(time.Minute)
				w.Inject(fault)
				w.ResetLog()
				wait(10 * time.Minute)
				n := w.issue("t", label)
				id := w.Repo(widgets).Comment(n, "/agentmux status", "dev")
				p.Wake()
				wait(50 * time.Minute)
				if p.Facts().Err == nil || len(in.requests()) > 0 {
					t.Fatalf("facts %+v, found %q", p.Facts(), in.requests())
				}
				// Each failure is tried five times by the transport.
				if sent := len(w.Calls()); sent > 5*2*80 {
					t.Errorf("%d requests to a server that is away", sent)
				}
				w.Heal()
				most := 2 * time.Minute
				if name == "secondary limit" {
					most = 16 * time.Minute // as long as the limit was to last
				}
				w.until(in, most, func() bool { return len(in.requests()) == 1 && len(in.heard()) == 1 })
				_ = id
			})
		})
	}
}

// What one list refuses holds up no other one.
func TestARefusedListHoldsUpNoOther(t *testing.T) {
	hours := 3
	if testing.Short() {
		hours = 1
	}
	for _, route := range []string{"GET .../pulls", "GET .../issues/comments", "GET .../labels"} {
		t.Run(route, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				w.Inject(fakehub.Fault{Route: route, Status: 403, Message: "Resource not accessible by integration"})
				in := w.inbox()
				p := w.poller(in)
				p.Set(intake.Mode{Pulls: true})
				wait(time.Duration(hours) * time.Hour)
				n := w.issue("t", label)
				if took := w.until(in, time.Minute, in.has(fmt.Sprintf("octo/widgets#%d", n))); took > 17*time.Second {
					t.Errorf("seen after %s", took)
				}
				refused := 0
				for _, r := range w.Calls() {
					if r.Status == 403 {
						refused++
					}
				}
				if refused < 5 || refused > 15+10*hours || p.Facts().Err == nil {
					t.Errorf("%d refusals in %d hours, facts %+v", refused, hours, p.Facts())
				}
			})
		})
	}
}
