package intake_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
)

// lateComment answers as a replica that has newer comments, but not yet one.
type lateComment struct {
	http.Handler
	mu sync.Mutex
	id int64 // 0: it has all
}

func (l *lateComment) hide(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id = id
}

func (l *lateComment) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	id := l.id
	l.mu.Unlock()
	if id == 0 || !strings.HasSuffix(r.URL.Path, "/issues/comments") {
		l.Handler.ServeHTTP(w, r)
		return
	}
	r.Header.Del("If-None-Match") // that of the server is of the whole list
	whole := httptest.NewRecorder()
	l.Handler.ServeHTTP(whole, r)
	var list []map[string]any
	if err := json.Unmarshal(whole.Body.Bytes(), &list); err != nil {
		panic(err)
	}
	list = slices.DeleteFunc(list, func(c map[string]any) bool { return c["id"] == float64(id) })
	for name, values := range whole.Header() {
		if name != "Etag" && name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(whole.Code)
	_ = json.NewEncoder(w).Encode(list)
}

// A comment that the lists show after newer ones is found as soon as they show it, and by the next full
// sync where the newer ones have moved it off the first page.
func TestACommentThatIsListedLateIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		newer               int
		every, hidden, most time.Duration
	}{
		"on the first page":            {1, time.Minute, time.Minute, 2 * time.Minute},
		"behind it, after a full sync": {101, 5 * time.Minute, 40 * time.Minute, 40 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				in, list := w.inbox(), &lateComment{Handler: w.wire.Handler}
				w.wire.Handler = list
				n := w.issue("t")
				w.poller(in, func(o *intake.Options) {
					o.Pace = func() intake.Pace {
						return intake.Pace{Every: c.every, Comments: c.every, Sync: 30 * time.Minute}
					}
				})
				wait(3 * time.Minute) // the first full sync is over
				list.hide(w.Repo(widgets).Comment(n, "late", "dev"))
				wait(2 * time.Second)
				for i := range c.newer {
					w.Repo(widgets).Comment(n, fmt.Sprintf("newer %d", i), "dev")
				}
				w.until(in, c.every+time.Minute, func() bool { return len(in.heard()) == c.newer })
				if wait(c.hidden); slices.Contains(in.heard(), "late") {
					t.Fatal("it is not hidden")
				}
				list.hide(0)
				w.until(in, c.most, func() bool { return slices.Contains(in.heard(), "late") })
			})
		})
	}
}
