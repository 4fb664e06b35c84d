package fakehub

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

// Drop says when the connection is cut without an answer.
type Drop int

const (
	Keep           Drop = iota
	BeforeApplying      // the request had no effect
	AfterApplying       // the request took effect, the client gets no answer
)

// Fault is something that goes wrong with some requests.
type Fault struct {
	// Route selects requests by the name of their route, as Entry.Route writes it:
	// "POST /repos/{owner}/{repo}/pulls", with "..." for "/repos/{owner}/{repo}", a bare
	// method, or for git "GIT push", "GIT fetch", "GIT push-refs", "GIT fetch-refs".
	// "" selects all.
	Route string
	Actor string // login; "" is every account
	// From is the first of the selected requests that is hit, counted from 1 (0 is 1);
	// Times is how many are hit, 0 all.
	From, Times int
	// Probability of a hit, by the server's seed; 0 is certain.
	Probability float64

	Drop Drop
	// Status, when set, is answered with Message, Header and Errors instead of the true
	// answer; with Apply the request takes effect all the same.
	Status  int
	Message string
	Header  map[string]string
	Code    string // of an entry of "errors": custom, already_exists, invalid...
	Body    string // sent as it is, in place of JSON with Message: a page of a proxy, null; not to git
	Apply   bool
	// Stale lets lists show only what is older; Hide lets single things younger than it be 404.
	Stale, Hide time.Duration
	// Slow waits before the second half of the body; CutAfter ends the body after so many bytes.
	Slow     time.Duration
	CutAfter int
	Hold     <-chan struct{} // until it is closed, a request of git waits and has no effect
}

type armedFault struct {
	Fault
	seen, hits int
}

// faultList is what goes wrong from now on.
type faultList struct {
	*hub
	armed []*armedFault
	met   int // requests that met one, since the start
}

// Inject arms faults; of several that select a request the first counts.
func (l *faultList) Inject(faults ...Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range faults {
		l.armed = append(l.armed, &armedFault{Fault: f})
	}
}

// Heal disarms all faults.
func (l *faultList) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = nil
}

// Hits is how many requests faults have met since the last Heal.
func (l *faultList) Hits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, f := range l.armed {
		n += f.hits
	}
	return n
}

// Faulted is how many requests have met a fault since the start.
func (l *faultList) Faulted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.met
}

// faultFor picks the fault that meets a request, and counts.
func (l *faultList) faultFor(c *call) *Fault {
	for _, f := range l.armed {
		if !f.selects(c) {
			continue
		}
		f.seen++
		if f.seen < f.From || (f.Times > 0 && f.hits >= f.Times) {
			continue
		}
		if f.Probability > 0 && l.rand.Float64() >= f.Probability {
			continue
		}
		f.hits++
		l.met++
		c.stale, c.hidden = f.Stale, f.Hide
		return &f.Fault
	}
	return nil
}

func (f *Fault) selects(c *call) bool {
	if f.Actor != "" && key(f.Actor) != key(c.login()) {
		return false
	}
	want := strings.Replace(f.Route, "...", "/repos/{owner}/{repo}", 1)
	if want == "" || want == c.request.Method {
		return c.route == nil || c.route.method != "GIT" || want == "" && f.Body == ""
	}
	return c.route != nil && c.route.name() == want
}

// preempts is true when the request has no effect.
func (f *Fault) preempts() bool {
	return f.Drop == BeforeApplying || (f.Status != 0 && !f.Apply)
}

// answer is what the client gets instead of the true answer.
func (f *Fault) answer(c *call) reply {
	if f.Status == 0 {
		return reply{status: http.StatusBadGateway} // never sent: the connection is cut
	}
	message := cmp.Or(f.Message, http.StatusText(f.Status))
	out := fail(f.Status, message)
	switch {
	case f.Body != "":
		out = reply{status: f.Status, raw: []byte(f.Body)}
		if strings.HasPrefix(f.Body, "<") {
			out.rawType = "text/html; charset=utf-8"
		}
	case f.Code != "":
		out = invalid(fieldError{Resource: "Fault", Code: f.Code, Message: message})
		out.status = f.Status
	}
	for name, value := range f.Header {
		out = out.with(name, value)
	}
	return out
}

// deliver sends a body slowly or in part.
func (f *Fault) deliver(w http.ResponseWriter, r *http.Request, status int, data []byte) {
	half := len(data) / 2
	if f.CutAfter > 0 {
		half = min(f.CutAfter, len(data))
	}
	w.Header().Set("Content-Length", itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data[:half])
	_ = http.NewResponseController(w).Flush()
	if f.CutAfter > 0 && half < len(data) {
		panic(http.ErrAbortHandler)
	}
	timer := time.NewTimer(f.Slow)
	defer timer.Stop()
	select {
	case <-timer.C:
		_, _ = w.Write(data[half:])
	case <-r.Context().Done():
	}
}
