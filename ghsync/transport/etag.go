package transport

import (
	"bytes"
	"io"
	"net/http"

	"github.com/agentmux/agentmux/ghsync/transport/answers"
)

const maxCachedBody = 1 << 20

// cachedHeader marks an answer that cost nothing of the quota.
const cachedHeader = "X-From-Cache"

// etag asks conditionally for what it has seen and returns the stored answer for a 304. It sits inside auth: GitHub binds a validator to the token, and a layer
// outside would compare answers of different tokens. It always revalidates, so it never
// serves anything stale.
type etag struct {
	next  http.RoundTripper
	known *answers.Store // of the identity: each of its tokens has an etag above it
}

// keyOf names what a request asks for, also before auth.
func keyOf(req *http.Request) string { return req.URL.String() + "\n" + accepted(req) }

// Discard forgets the answer to a request, which is of another shape than what was asked for. The server would confirm
// it again and again.
func (s *Stack) Discard(req *http.Request) { s.Options.Shared.answers.Drop(keyOf(req)) }

func (t *etag) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return t.next.RoundTrip(req)
	}
	if v, ok := req.Context().Value(validatorKey).(*Validator); ok {
		return v.roundTrip(t.next, req)
	}
	key := keyOf(req)
	have := t.known.Find(key)
	if have != nil {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", have.Tag)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusNotModified && have != nil:
		return confirmed(have, resp), nil
	case resp.StatusCode == http.StatusOK && resp.Header.Get("ETag") != "":
		t.keep(key, resp)
	}
	return resp, nil
}

// confirmed is the stored answer with the rate numbers of the 304 that confirmed it.
func confirmed(c *answers.Answer, fresh *http.Response) *http.Response {
	fresh.Body.Close()
	header := c.Header.Clone()
	for name, values := range fresh.Header {
		if name != "Content-Length" && name != "Content-Type" {
			header[name] = values
		}
	}
	header.Set(cachedHeader, "1")
	resp := *fresh
	resp.Status, resp.StatusCode = "200 OK", http.StatusOK
	resp.Header = header
	resp.ContentLength = int64(len(c.Body))
	resp.Body = io.NopCloser(bytes.NewReader(c.Body))
	return &resp
}

// keep stores the answer once its body has been read to the end. One that cannot be used
// would be confirmed again and again.
func (t *etag) keep(key string, resp *http.Response) {
	a := answer{resp: &http.Response{StatusCode: resp.StatusCode, Header: resp.Header.Clone()}}
	resp.Body = &keptBody{ReadCloser: resp.Body, done: func(body []byte) {
		if a.body = body; a.readable() && !a.blank() {
			t.known.Put(&answers.Answer{Key: key, Tag: a.resp.Header.Get("ETag"), Header: a.resp.Header, Body: body})
		}
	}}
}

// keptBody remembers what is read through it and hands it over at io.EOF, unless it is too
// large to be worth keeping.
type keptBody struct {
	io.ReadCloser
	seen bytes.Buffer
	over bool
	done func([]byte)
}

func (b *keptBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.over {
		b.seen.Write(p[:n])
		b.over = b.seen.Len() > maxCachedBody
	}
	if err == io.EOF && !b.over && b.done != nil {
		b.done(bytes.Clone(b.seen.Bytes()))
		b.done = nil
	}
	return n, err
}
