package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/agentmux/agentmux/internal/ratelimit"
	"github.com/agentmux/agentmux/internal/redact"
)

const (
	maxTries      = 5
	callTime      = 2 * time.Minute
	firstPause    = time.Second
	limitPatience = 60 * time.Second
)

// retry repeats what may be repeated and turns everything that is not a success into the
// errors of this package, so that no layer above reads a status. It never repeats a
// creating request.
type retry struct {
	next   http.RoundTripper
	quota  *quota
	tokens TokenSource
	pause  time.Duration // of the first repetition; doubled for each next one
	trust  trust
}

// step is what follows from one answer: done, an error, or another try after wait.
type step struct {
	repeat bool
	wait   time.Duration
	err    error
	once   string // a name: this repetition is allowed a number of times of its own
	most   int
}

func (t *retry) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req)
	ctx, cancel := context.WithTimeout(req.Context(), callTime)
	defer cancel()
	used := map[string]int{}
	for try := 1; ; try++ {
		a := t.send(ctx, req)
		if err := req.Context().Err(); err != nil && a.err != nil {
			return nil, err
		}
		next := t.judge(c, req, a, try)
		if next.err == nil && !next.repeat {
			counted(ctx, len(a.body))
			t.trust.accepted()
			return a.finish(req), nil
		}
		spent := next.once != "" && used[next.once] >= next.most
		if !next.repeat || spent || try == maxTries {
			return nil, next.err
		}
		used[next.once]++
		if !Wait(ctx, next.wait) {
			if err := req.Context().Err(); err != nil {
				return nil, err
			}
			return nil, next.err
		}
	}
}

// finish is the response for the layers above, its body in memory.
func (a answer) finish(req *http.Request) *http.Response {
	a.resp.Body = io.NopCloser(bytes.NewReader(a.body))
	a.resp.Request = req
	return a.resp
}

func (t *retry) send(ctx context.Context, req *http.Request) answer {
	var reach reach
	var token redact.Secret
	r := req.Clone(httptrace.WithClientTrace(noting(ctx, &token), reach.trace()))
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return answer{err: err}
		}
		r.Body = body
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return answer{err: err, sent: reach.sent(err)}
	}
	body, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	t.quota.note(callOf(req), resp)
	return answer{resp: resp, body: body, err: err, sent: true, token: token}
}

// judge decides by the answer alone; waiting and counting are RoundTrip's.
func (t *retry) judge(c call, req *http.Request, a answer, try int) step {
	pause := backoff(t.pause, try)
	if a.err != nil {
		return t.judgeFailure(c, req, a, pause)
	}
	status := a.resp.StatusCode
	switch {
	case ratelimit.Failed(status) && status != http.StatusNotImplemented, status == http.StatusNotModified: // etag turns those it asked for into 200
		a.err = fmt.Errorf("status %d", status)
		return t.judgeFailure(c, req, a, pause)
	case status < 300 && (!a.readable() || req.Method != http.MethodDelete && a.blank()):
		a.err = ErrUnreadable
		return t.judgeFailure(c, req, a, pause)
	case status < 300 && c.resource == graphqlResource:
		return t.judgeGraphQL(c, req, a, pause)
	case status < 300:
		return step{}
	case status < 400:
		if c.kind == reading && req.Method != http.MethodPost {
			return step{}
		}
		return step{err: &Moved{Location: a.resp.Header.Get("Location")}}
	}
	m := parseMessage(a.body)
	if limit, ok := ratelimit.Of(a.resp, m.text(), m.Docs, time.Now()); ok {
		return t.judgeLimit(c, limit, m.text())
	}
	next := t.judgeRefusal(c, a, m, try)
	if a.isForeign(c) {
		next.err = &foreign{next.err}
	}
	return next
}

// judgeLimit waits for a limit where the call may be repeated and the wait is short.
func (t *retry) judgeLimit(c call, l ratelimit.Limit, text string) step {
	wait := t.quota.limited(c, l)
	repeat := c.kind != creating && wait <= limitPatience
	return step{repeat: repeat, wait: wait, err: &RetryAfter{Wait: wait, Scope: l.Scope, Err: errors.New(text)}}
}

// judgeGraphQL is for answers that have status 200 whatever became of the query. What
// passes with time is repeated like any other read; ask types the rest.
func (t *retry) judgeGraphQL(c call, req *http.Request, a answer, pause time.Duration) step {
	first := a.firstError()
	switch {
	case first.limits():
		return t.judgeLimit(c, ratelimit.OfQuery(a.resp.Header, first.Message, time.Now()), first.Message)
	case first.passes():
		a.err = errors.New(clip(first.Message, 300))
		return t.judgeFailure(c, req, a, pause)
	}
	return step{}
}

// judgeFailure is for a call without a usable answer.
func (t *retry) judgeFailure(c call, req *http.Request, a answer, pause time.Duration) step {
	var refused *refusedHost
	switch {
	case errors.As(a.err, &refused):
		return step{err: &Terminal{Code: CodeRefused, Message: a.err.Error()}}
	case errors.Is(a.err, errTooLarge):
		return step{err: &Terminal{Code: CodeRefused, Message: a.err.Error()}}
	case errors.As(a.err, new(*tokenError)):
		return step{err: errors.Unwrap(a.err)}
	case c.kind == creating && !a.sent:
		return step{err: &Unsent{Err: a.err}}
	case c.kind == creating:
		return step{err: &Ambiguous{Method: req.Method, Path: c.path, Err: a.err}}
	}
	return step{repeat: true, wait: pause, err: &RetryAfter{Wait: 5 * t.pause, Scope: "server", Err: a.err}}
}

// judgeRefusal is for a 4xx that is not a limit, and for a 501: another try changes neither.
func (t *retry) judgeRefusal(c call, a answer, m serverMessage, try int) step {
	err := refusal(c, a.resp, m)
	switch a.resp.StatusCode {
	case http.StatusUnauthorized:
		return t.judgeToken(c, a.token, err)
	case http.StatusForbidden:
		if HasCode(err, CodeSuspended) {
			err = &Away{Err: err}
		}
	case http.StatusNotFound:
		if c.kind == reading && c.named {
			return step{repeat: true, wait: 2 * t.pause * time.Duration(try), err: err, once: "missing", most: 2}
		}
	case http.StatusConflict:
		if c.kind != creating {
			return step{repeat: true, wait: backoff(t.pause, try), err: err, once: "conflict", most: 2}
		}
	}
	return step{err: err}
}

// judgeToken is for a refused token. One that comes in its place is tried once.
func (t *retry) judgeToken(c call, token redact.Secret, err error) step {
	second := t.trust.refused(token)
	switch another := t.tokens.Expire(token); {
	case !another || second:
		return step{err: &Away{Err: err}}
	case c.kind == creating:
		return step{err: &RetryAfter{Scope: "token", Err: err}}
	}
	return step{repeat: true, err: &Away{Err: err}, once: "token", most: 1}
}

// backoff doubles from first, with a fifth of spread either way.
func backoff(first time.Duration, try int) time.Duration {
	pause := first << (try - 1)
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
}

// Wait returns false when ctx ended first, or would.
func Wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// reach watches how far a request got.
type reach struct {
	asked, connected atomic.Bool
}

func (r *reach) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { r.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { r.connected.Store(true) },
	}
}

// sent is true unless it is certain that nothing left: no connection, no handshake.
func (r *reach) sent(err error) bool {
	var (
		op      *net.OpError
		dns     *net.DNSError
		record  tls.RecordHeaderError
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		refused *refusedHost
	)
	switch {
	case errors.As(err, &refused), errors.As(err, new(*tokenError)), errors.As(err, new(*crowded)), errors.As(err, &dns),
		errors.As(err, &record), errors.As(err, &cert), errors.As(err, &unknown):
		return false
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"):
		return false
	}
	return r.connected.Load() || !r.asked.Load()
}
