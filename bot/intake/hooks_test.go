package intake_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/redact"
)

// hooks lets the server send deliveries to a receiver that wakes a poller.
func (w *world) hooks(p *intake.Poller, spec fakehub.HookSpec) *intake.Receiver {
	w.t.Helper()
	r := intake.NewReceiver(intake.ReceiverOptions{
		Secrets: []redact.Secret{redact.NewSecret(secret)},
		Wake: func(h intake.Hook) bool {
			if h.RepoID != p.Facts().RepoID {
				return false
			}
			p.Wake()
			return true
		},
	})
	spec.URL, spec.Secret = "http://127.0.0.1"+intake.WebhookPath, cmp.Or(spec.Secret, secret)
	spec.HTTP = &direct{Handler: r}
	w.SendHooks(spec)
	return r
}

// With hooks a request is seen within ten seconds, also where the lists lag behind.
func TestGitHub28HooksAreServedWithinTenSeconds(t *testing.T) {
	for name, lag := range map[string]time.Duration{"at once": 0, "lists lag": time.Second, "lists lag more": 8 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				in := w.inbox()
				var aged told[time.Duration]
				p := w.poller(in, each(time.Hour), func(o *intake.Options) { o.Aged = aged.add })
				w.hooks(p, fakehub.HookSpec{})
				w.Inject(fakehub.StaleLists("GET .../issues", lag))
				for range 5 {
					wait(5 * time.Minute)
					n := w.issue("t", label)
					if took := w.until(in, time.Hour, in.has(fmt.Sprintf("octo/widgets#%d", n))); took > 10*time.Second || lag == 0 && took > time.Second {
						t.Errorf("issue %d was seen after %s", n, took)
					}
				}
				if got := aged.all(); len(got) < 5 || slices.Max(got) > time.Second {
					t.Errorf("hooks waited %v", got)
				}
			})
		})
	}
}

// All hooks are lost, or none is right: the interval finds everything.
func TestGitHub28LostHooksCostTheInterval(t *testing.T) {
	for name, spec := range map[string]fakehub.HookSpec{
		"lost": {Drop: 1}, "forged": {BadSignature: 1}, "an old signature": {SHA1Only: true}, "another secret": {Secret: strings.ToLower(secret)},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				in := w.inbox()
				p := w.poller(in)
				w.hooks(p, spec)
				for range 5 {
					wait(time.Minute)
					n := w.issue("t", label)
					if took := w.until(in, time.Minute, in.has(fmt.Sprintf("octo/widgets#%d", n))); took > 15*time.Second+10*time.Second {
						t.Errorf("issue %d was seen after %s", n, took)
					}
				}
				if f := p.Facts(); f.Hooks != 0 {
					t.Errorf("%d hooks woke the poller", f.Hooks)
				}
			})
		})
	}
}

// A thousand hooks, lost, doubled, shuffled and forged, end as without any: what was handed on
// last of each issue is what the issue is.
func TestGitHub27HooksChangeNothing(t *testing.T) {
	churn := 48
	if testing.Short() {
		churn = 8
	}
	end := func(spec *fakehub.HookSpec) (labels map[int]string, heard, requests []string) {
		inTime(t, func(t *testing.T, w *world) {
			in := w.inbox()
			p := w.poller(in, each(2*time.Minute))
			if spec != nil {
				w.hooks(p, *spec)
			}
			r := w.Repo(widgets)
			for i := range 10 {
				n := w.issue(fmt.Sprint("t", i))
				for range churn {
					r.Label(n, label, "dev")
					wait(20 * time.Millisecond)
					r.Unlabel(n, label, "dev")
				}
				for j := range 4 {
					r.Comment(n, fmt.Sprintf("comment %d of %d", j, i), "dev")
				}
				if i%2 == 0 {
					r.Label(n, label, "dev")
				}
				if i%3 == 0 {
					r.CloseIssue(n, "dev")
				}
			}
			if spec != nil {
				if got, err := w.FlushHooks(t.Context()); err != nil || spec.Drop == 0 && len(got) < 10*(2*churn+4) {
					t.Errorf("%d deliveries, %v", len(got), err)
				}
			}
			wait(3 * time.Minute)
			labels = map[int]string{}
			for _, c := range in.changes() {
				for _, i := range c.Issues {
					labels[i.Number] = fmt.Sprint(i.Labels, i.Closed)
				}
			}
			heard = in.heard()
			in.clear()
			wait(40 * time.Minute) // a full sync: all that asks for work now
			requests = in.requests()
		}, func(o *fakehub.Options) { o.Seed = 7 })
		return labels, heard, requests
	}
	labels, heard, requests := end(nil)
	if len(labels) != 10 || len(heard) != 40 || len(requests) != 3 {
		t.Fatalf("without hooks: %v, %q, %q", labels, heard, requests)
	}
	for name, spec := range map[string]fakehub.HookSpec{
		"a storm": {Drop: 0.3, Double: 0.3, Window: 50, BadSignature: 0.1},
		"slow":    {Delay: 50 * time.Millisecond, Window: 8, Double: 0.5},
	} {
		l, h, r := end(&spec)
		if !maps.Equal(l, labels) || !slices.Equal(h, heard) || !slices.Equal(r, requests) {
			t.Errorf("%s: %v, %q, %q", name, l, h, r)
		}
	}
}

// A hook that comes hours late leads to a reading of what is there now.
func TestGitHub29ALateHookShowsWhatIsThere(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		r := w.Repo(widgets)
		late := w.inbox()
		p := w.poller(late, each(24*time.Hour))
		w.hooks(p, fakehub.HookSpec{Delay: 4*time.Hour + 30*time.Minute})
		wait(time.Minute)
		n := w.issue("t", label)
		wait(time.Second)
		r.CloseIssue(n, "dev")
		wait(4 * time.Hour)
		late.clear()
		wait(5 * time.Hour)
		if f := p.Facts(); f.Hooks == 0 || len(late.requests()) > 0 {
			t.Errorf("facts %+v, found %q", f, late.requests())
		}
	})
}

// A process that ends right after its 202 leaves the request to the next one's first reading.
func TestGitHub32TheNextStartFindsIt(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		r := w.Repo(widgets)
		dead := intake.NewPoller(intake.Options{Client: w.client(), RepoID: r.ID(), Label: label, Found: w.take(w.inbox())})
		receiver := w.hooks(dead, fakehub.HookSpec{}) // its poller never reads
		n := w.issue("t", label)
		if got, err := w.FlushHooks(t.Context()); err != nil || !slices.Equal(got, []int{202, 202}) {
			t.Fatalf("answers %v, %v", got, err)
		}
		if f := receiver.Facts(); f.Accepted != 2 || f.Woke != 2 {
			t.Errorf("facts %+v", f)
		}
		in := w.inbox()
		w.poller(in)
		w.until(in, 10*time.Second, in.has(fmt.Sprintf("octo/widgets#%d", n)))
	})
}

// flying counts how many readings of one repository are on their way.
type flying struct {
	mu        sync.Mutex
	now, most map[string]int
}

func (f *flying) watch(d *direct) {
	f.now, f.most = map[string]int{}, map[string]int{}
	change := func(req *http.Request, n int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		parts := strings.Split(req.URL.Path, "/")
		if len(parts) > 3 {
			repo := parts[2] + "/" + parts[3]
			f.now[repo] += n
			f.most[repo] = max(f.most[repo], f.now[repo])
		}
	}
	d.before = func(req *http.Request) {
		change(req, 1)
		<-time.After(300 * time.Millisecond) // as long as an answer takes
	}
	d.after = func(req *http.Request) { change(req, -1) }
}

// Ten thousand hooks in ten seconds lead to a reading a second, one at a time, and the last one
// to a reading after it.
func TestGitHub33ManyHooksAreOnePollAtATime(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		var f flying
		f.watch(w.wire)
		in := w.inbox()
		p := w.poller(in, each(time.Hour))
		wait(time.Minute)
		w.ResetLog()
		before := p.Facts().Readings
		var senders sync.WaitGroup
		for range 10 {
			senders.Go(func() {
				for range 1000 {
					p.Wake()
					<-time.After(10 * time.Millisecond)
				}
			})
		}
		senders.Wait()
		n := w.issue("t", label)
		p.Wake()
		if took := w.until(in, time.Minute, in.has(fmt.Sprintf("octo/widgets#%d", n))); took > 3*time.Second {
			t.Errorf("the last one was served after %s", took)
		}
		wait(time.Minute)
		facts := p.Facts()
		if got := facts.Readings - before; got > 11+3 || f.most[widgets] != 1 {
			t.Errorf("%d readings, up to %d at a time", got, f.most[widgets])
		}
		if facts.Hooks != 10_001 {
			t.Errorf("facts %+v", facts)
		}
	})
}

// A hook that comes while a list is read leads to another reading: what it tells of may have
// happened after the server made its answer.
func TestGitHub33AHookDuringAReadingIsNotLost(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		in, n := w.inbox(), w.issue("t")
		var p *intake.Poller
		var armed atomic.Bool
		w.wire.after = func(req *http.Request) {
			if strings.HasSuffix(req.URL.Path, "/comments") && armed.CompareAndSwap(true, false) {
				w.Repo(widgets).Label(n, label, "dev")
				p.Wake()
				<-time.After(100 * time.Millisecond)
			}
		}
		p = w.poller(in, each(24*time.Hour))
		wait(time.Minute)
		w.Repo(widgets).Comment(w.issue("other"), "hello", "dev") // both lists have something new
		armed.Store(true)
		p.Wake()
		w.until(in, 5*time.Second, in.has(fmt.Sprintf("octo/widgets#%d", n))) // not by the reading ten seconds after the first hook
	})
}

// With hooks alone, whenever they come while lists are read, of answers that take their time and lag,
// the last state of each issue is seen, and each comment.
func TestGitHub33HooksAloneShowEachChange(t *testing.T) {
	seeds := uint64(2)
	if testing.Short() {
		seeds = 1
	}
	if n, err := strconv.ParseUint(os.Getenv("AGENTMUX_WALKS"), 10, 64); err == nil {
		seeds = max(seeds, n/20)
	}
	for seed := range seeds {
		inTime(t, func(t *testing.T, w *world) {
			random := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			up := func(most time.Duration) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(random.Int64N(int64(most)))
			}
			w.wire.before = func(*http.Request) { <-time.After(up(300 * time.Millisecond)) }
			w.wire.after = func(*http.Request) { <-time.After(up(700 * time.Millisecond)) }
			in, r := w.inbox(), w.Repo(widgets)
			var p *intake.Poller
			never := func(o *intake.Options) {
				o.Pace = func() intake.Pace {
					return intake.Pace{Every: 24 * time.Hour, Comments: 24 * time.Hour, Sync: 24 * time.Hour}
				}
			}
			p = w.poller(in, never)
			wait(time.Minute)
			w.Inject(fakehub.StaleLists("", 4*time.Second))
			var hooks sync.WaitGroup
			heard := 0
			state := map[int][2]bool{} // with a label, closed
			check := func() {          // ten seconds after a hook, and what two readings take, all is seen
				hooks.Wait()
				wait(16 * time.Second)
				got := map[int][2]bool{}
				for _, c := range in.changes() {
					for _, i := range c.Issues {
						got[i.Number] = [2]bool{slices.Contains(i.Labels, label), i.Closed}
					}
				}
				if !maps.Equal(got, state) || len(in.heard()) != heard {
					t.Fatalf("seed %d: saw %v and %d comments, want %v and %d", seed, got, len(in.heard()), state, heard)
				}
			}
			for range 120 {
				if wait(up(700 * time.Millisecond)); up(4) == 0 {
					check()
				}
				n := 1 + int(up(5))
				if n > len(state) {
					n = w.issue("t")
					state[n] = [2]bool{}
				}
				s := state[n]
				switch k := up(4); {
				case k == 0 && !s[0]:
					r.Label(n, label, "dev")
					s[0] = true
				case k == 1 && s[0]:
					r.Unlabel(n, label, "dev")
					s[0] = false
				case k == 2 && !s[1]:
					r.CloseIssue(n, "dev")
					s[1] = true
				default:
					heard++
					r.Comment(n, fmt.Sprint("comment ", heard), "dev")
				}
				state[n] = s
				late := up(time.Second)
				hooks.Go(func() { <-time.After(late); p.Wake() })
			}
			check()
		})
	}
}

// What no poll has shown, the full sync finds: at the start what is behind the first page, and
// each half hour whatever asks for work then, and the comments since.
func TestGitHub33TheFullSyncFindsWhatPollsMissed(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		r := w.Repo(widgets)
		w.Inject(fakehub.StaleLists("GET .../issues", 0))
		var want []string
		for i := range 102 { // more than a page
			if n := w.issue("old", label); i%2 == 0 {
				r.Label(n, label+":quick", "dev")
			}
		}
		closed := w.issue("closed", label)
		r.CloseIssue(closed, "dev")
		for i := range 102 {
			want = append(want, fmt.Sprintf("octo/widgets#%d", i+1))
		}
		only := w.issue("by its selector", label+":quick")
		want = append(want, fmt.Sprintf("octo/widgets#%d", only))
		slices.Sort(want)
		wait(time.Second)
		for range 101 {
			w.issue("newer")
		}
		in := w.inbox()
		p := w.poller(in, each(24*time.Hour))
		for range 2 {
			w.until(in, 40*time.Minute, func() bool { return slices.Equal(in.requests(), want) })
			wait(time.Minute)
			in.clear()
		}
		// Comments that came while the poller was looking elsewhere, more than a page of a second.
		for i := range 105 {
			r.Comment(1, fmt.Sprintf("at once %03d", i), "dev")
		}
		wait(time.Second)
		for i := range 20 {
			r.Comment(2, fmt.Sprintf("later %03d", i), "dev")
			wait(100 * time.Millisecond)
		}
		w.until(in, 40*time.Minute, func() bool { return len(in.heard()) == 125 })
		if f := p.Facts(); f.Err != nil {
			t.Errorf("facts %+v", f)
		}
		// Without anything new, the next ones cost nothing.
		hours := 3
		if testing.Short() {
			hours = 1
		}
		wait(time.Hour)
		w.ResetLog()
		wait(time.Duration(hours) * time.Hour)
		if n := w.Requests(robot); n > hours*2*3 { // two labels have two pages
			t.Errorf("%d counted requests\n%s", n, w.counted())
		}
	})
}

// An issue that loses its label while the full sync reads moves others to a page that was read.
func TestLabelsTakenOffDuringAFullSyncHideNoIssue(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		for range 250 {
			w.issue("old", label)
		}
		wait(time.Second)
		for range 110 {
			w.issue("newer")
		}
		next := 1
		w.wire.after = func(req *http.Request) {
			if req.URL.Query().Get("labels") == label {
				for range 20 { // as claims do
					w.Repo(widgets).Unlabel(next, label, "dev")
					next++
				}
			}
		}
		in := w.inbox()
		w.poller(in, each(24*time.Hour))
		w.until(in, time.Minute, func() bool { return len(in.requests()) == 250 })
	})
}

// A comment that is edited while the full sync reads moves another one to the page before.
func TestEditsDuringAFullSyncLoseNoComment(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		r := w.Repo(widgets)
		n := w.issue("t")
		var ids []int64
		for i := range 350 {
			ids = append(ids, r.Comment(n, fmt.Sprintf("comment %03d", i), "dev"))
			wait(2 * time.Second)
		}
		w.wire.after = func(req *http.Request) {
			if req.URL.Query().Has("since") {
				r.EditComment(ids[0], fmt.Sprint("edited at ", time.Since(w.began)), "dev")
				ids = ids[1:]
			}
		}
		in := w.inbox()
		w.poller(in, each(24*time.Hour))
		w.until(in, time.Minute, func() bool {
			return len(slices.DeleteFunc(in.heard(), func(s string) bool { return !strings.HasPrefix(s, "comment") })) == 350
		})
	})
}
