package intake_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
)

// pullList answers for the open pull requests of the repository, changed last first, as GitHub does.
type pullList struct {
	http.Handler
	mu   sync.Mutex
	open map[int]time.Time // and when they changed
}

func (l *pullList) set(number int, changed time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[number] = changed
}

func (l *pullList) drop(number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, number)
}

func (l *pullList) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/repos/octo/widgets/pulls") {
		l.Handler.ServeHTTP(w, r)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	type pull struct {
		Number    int       `json:"number"`
		UpdatedAt time.Time `json:"updated_at"`
	}
	all := []pull{}
	for n, at := range l.open {
		all = append(all, pull{n, at.UTC().Truncate(time.Second)})
	}
	slices.SortFunc(all, func(a, b pull) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all[:min(50, len(all))])
}

func (in *inbox) left() []int {
	var all []int
	for _, c := range in.changes() {
		all = append(all, c.Left...)
	}
	return all
}

// A pull request that fifty others push off the list is not closed, as far as is known: its reviews are
// read when it changes again. One that is absent from a list which shows older ones is closed.
func TestAPullRequestBehindTheEndOfTheListIsNotClosed(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		in, list := w.inbox(), &pullList{Handler: w.wire.Handler, open: map[int]time.Time{}}
		w.wire.Handler = list
		list.set(7, time.Now())
		list.set(8, time.Now())
		p := w.poller(in, each(time.Minute))
		p.Set(intake.Mode{Pulls: true})
		wait(2 * time.Minute)
		for n := range 50 { // a robot renews its own
			list.set(100+n, time.Now())
		}
		wait(2 * time.Minute)
		if left := in.left(); len(left) > 0 {
			t.Fatalf("%v are taken for closed", left)
		}
		in.clear()
		list.set(7, time.Now()) // a review
		wait(2 * time.Minute)
		if c := in.changes(); len(c) == 0 || len(c[0].Pulls) != 1 || c[0].Pulls[0].Number != 7 {
			t.Errorf("after a review: %+v", c)
		}
		list.drop(7)
		wait(2 * time.Minute)
		if left := in.left(); !slices.Equal(left, []int{7}) {
			t.Errorf("after it was closed: %v are gone", left)
		}
		for n := range 50 {
			list.drop(100 + n)
		}
		list.drop(8) // while it was behind
		wait(2 * time.Minute)
		if left := in.left(); !slices.Contains(left, 8) {
			t.Errorf("in a short list: %v are gone", left)
		}
	})
}

// Labels have no order: an issue whose labels come in another one is not news.
func TestLabelsInAnotherOrderAreNoNews(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		in, turned, fake := w.inbox(), false, w.wire.Handler
		w.wire.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			fake.ServeHTTP(answer, r)
			var all []map[string]any
			if !strings.HasSuffix(r.URL.Path, "/issues") || json.Unmarshal(answer.Body.Bytes(), &all) != nil {
				maps.Copy(out.Header(), answer.Header())
				out.WriteHeader(answer.Code)
				_, _ = out.Write(answer.Body.Bytes())
				return
			}
			for _, issue := range all {
				if turned {
					slices.Reverse(issue["labels"].([]any))
				}
			}
			turned = !turned
			out.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(out).Encode(all)
		})
		w.issue("t", "bug", label, "help")
		w.poller(in, func(o *intake.Options) {
			o.Pace = func() intake.Pace {
				return intake.Pace{Every: time.Minute, Comments: time.Minute, Sync: 24 * time.Hour}
			}
		})
		wait(3 * time.Minute)
		in.clear()
		wait(10 * time.Minute)
		if c := in.changes(); len(c) > 0 {
			t.Errorf("%d times something new: %+v", len(c), c[0])
		}
	})
}

// The first list of open pull requests says whether it has all of them, even if it is empty: those of sessions that it does
// not have were closed while the bot was down.
func TestTheFirstListSaysWhetherItIsWhole(t *testing.T) {
	for name, c := range map[string]struct {
		open  int
		whole bool
	}{"none": {0, true}, "some": {49, true}, "fifty": {50, false}} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				in, list := w.inbox(), &pullList{Handler: w.wire.Handler, open: map[int]time.Time{}}
				w.wire.Handler = list
				for n := range c.open {
					list.set(100+n, time.Now())
				}
				p := w.poller(in, each(time.Minute))
				p.Set(intake.Mode{Pulls: true})
				wait(2 * time.Minute)
				whole, pulls := false, 0
				for _, of := range in.changes() {
					whole, pulls = whole || of.Whole, pulls+len(of.Pulls)
				}
				if whole != c.whole || pulls != c.open {
					t.Errorf("whole %t, %d pull requests", whole, pulls)
				}
			})
		})
	}
}
