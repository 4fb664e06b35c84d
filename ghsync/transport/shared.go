package transport

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/agentmux/agentmux/ghsync/transport/answers"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/turnstile"
)

// allInFlight is how many requests of all identities of a process are on their way at once.
const allInFlight = 16

// Process is what all identities of a process have in common: its connections, and how many
// requests are on their way at once. A request that waits for a limit of its identity is not
// among them, so that an identity at its limit delays no other.
type Process struct {
	http   http.RoundTripper
	places *turnstile.Turnstile
}

// NewProcess makes a Process above a transport; nil means one of its own.
func NewProcess(next http.RoundTripper) *Process {
	if next == nil {
		next = NewHTTP()
	}
	return &Process{http: next, places: newTurnstile(allInFlight)}
}

// Share makes what the Stacks of one identity have in common.
func (p *Process) Share(l Limits) *Shared {
	return &Shared{process: p, limit: newLimit(newQuota(), l), answers: answers.New()}
}

// pinned is what sends the requests to one origin.
func (p *Process) pinned(own string) http.RoundTripper {
	return &placed{next: &pin{next: p.http, origin: own}, places: p.places}
}

// Shared is what the Stacks of one identity at one server have in common: our limits, the server's
// quota, and the answers that are known by entity tag. An identity is an installation of an App,
// a user, or the job of a repository; each repository may have a token of its own. Two identities
// share no answer.
type Shared struct {
	process *Process
	limit   *limit // above nothing
	answers *answers.Store
}

// Quotas returns the server's limits as last seen, by resource; empty where it has none.
func (s *Shared) Quotas() map[string]Quota { return s.limit.quota.snapshot() }

// Divide leaves this process one of some equal parts of the requests of an hour, and returns how many those are: GitHub
// counts the others of its identity with them. Where Limits.PerHour is not set it returns 0 and changes nothing.
func (s *Shared) Divide(parts int) (each int) {
	s.limit.discoveryPaces.divide(parts)
	return s.limit.paces.divide(parts)
}

// Of returns the limits of a token: GitHub gives the one of a job less.
func (l Limits) Of(mode Mode) Limits {
	if mode == ModeActions {
		l.PerHour = cmp.Or(l.PerHour, 600)
	}
	return l
}

// above returns the same limit above another layer.
func (t *limit) above(next http.RoundTripper) *limit {
	same := *t
	same.next = next
	return &same
}

// placed gives each request a place among those of the process, from before it is sent until its
// answer is closed.
type placed struct {
	next   http.RoundTripper
	places *turnstile.Turnstile
}

// crowded is the error of a request that got no place: it was not sent.
type crowded struct{ err error }

func (e *crowded) Error() string {
	return fmt.Sprintf("wait for a place among %d requests: %v", allInFlight, e.err)
}

func (e *crowded) Unwrap() error { return e.err }

func (t *placed) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.places.Enter(req.Context(), callOf(req).priority.rank()); err != nil {
		return nil, &crowded{err}
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		t.places.Leave()
		return nil, err
	}
	resp.Body = &placedBody{ReadCloser: resp.Body, leave: sync.OnceFunc(t.places.Leave)}
	return resp, nil
}

type placedBody struct {
	io.ReadCloser
	leave func()
}

func (b *placedBody) Close() error {
	defer b.leave()
	return b.ReadCloser.Close()
}

// presence tells after each call whether the server knows the identity.
type presence struct {
	next http.RoundTripper
	tell func(error)
}

func (t *presence) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if away := (*Away)(nil); t.tell != nil && (err == nil || errors.As(err, &away)) {
		t.tell(err)
	}
	return resp, err
}

// trust knows whether the token of before was refused, too.
type trust struct {
	mu   sync.Mutex
	last string // the token that was refused last; empty if one was accepted since
}

// refused reports whether an earlier token was refused, and none accepted since.
func (t *trust) refused(token redact.Secret) (second bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	second = t.last != "" && t.last != token.Reveal()
	t.last = token.Reveal()
	return second
}

func (t *trust) accepted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = ""
}
