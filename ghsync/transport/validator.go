package transport

import (
	"context"
	"net/http"

	"github.com/agentmux/agentmux/ghsync/transport/answers"
)

// Validator is the entity tag of the answer that its owner has worked through. A read of a list
// with it costs nothing of the quota as long as the list is the same, and is answered by an empty
// list then.
//
// The answers that the Stack stores serve callers that need the whole list each time. A program
// that watches many lists would fill that store, drop from it what it needs next, and decode
// again and again what it knows: a Validator stores a tag alone, and lists of any size have one.
//
// It is for one list, one identity and one goroutine. The zero Validator knows no answer.
type Validator struct {
	known, offered string
	unchanged      bool
}

// Context returns the context to read the list with.
func (v *Validator) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, validatorKey, v)
}

// Unchanged reports whether the last read found the answer that is known.
func (v *Validator) Unchanged() bool { return v.unchanged }

// Keep makes the answer of the last read the one that is known. An answer whose work was not
// finished is not kept, so that the next read brings it again.
func (v *Validator) Keep() { v.known = v.offered }

// Forget lets the next read bring the list whatever it is.
func (v *Validator) Forget() { *v = Validator{} }

// roundTrip sends a request that asks for an answer other than the known one.
func (v *Validator) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	v.offered, v.unchanged = "", false
	if v.known != "" {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", v.known)
	}
	resp, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusOK:
		v.offered = resp.Header.Get("ETag")
	case resp.StatusCode == http.StatusNotModified && v.known != "":
		v.offered, v.unchanged = v.known, true
		empty := answers.Answer{Header: http.Header{"Content-Type": {mediaType}}, Body: []byte("[]")}
		return confirmed(&empty, resp), nil
	}
	return resp, nil
}
