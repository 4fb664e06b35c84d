package transport

import (
	"bytes"
	"container/list"
	"io"
	"net/http"
	"sync"
)

const (
	maxCachedBody  = 1 << 20
	maxCachedItems = 512
	maxCachedBytes = 64 << 20
)

// cachedHeader marks an answer that cost nothing of the quota.
const cachedHeader = "X-From-Cache"

// etag asks conditionally for what it has seen and returns the stored answer for a 304. It sits inside auth: GitHub binds a validator to the token, and a layer
// outside would compare answers of different tokens. It always revalidates, so it never
// serves anything stale.
type etag struct {
	next http.RoundTripper
	*answers
}

// answers are those that an identity has seen. Each of its tokens has an etag above them.
type answers struct {
	mu    sync.Mutex
	items map[string]*list.Element
	order *list.List // front = used last
	bytes int
}

type cached struct {
	key, tag string
	header   http.Header
	body     []byte
}

func newAnswers() *answers { return &answers{items: map[string]*list.Element{}, order: list.New()} }

func (t *etag) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return t.next.RoundTrip(req)
	}
	if v, ok := req.Context().Value(validatorKey).(*Validator); ok {
		return v.roundTrip(t.next, req)
	}
	key := req.URL.String() + "\n" + req.Header.Get("Accept")
	have := t.find(key)
	if have != nil {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", have.tag)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusNotModified && have != nil:
		return have.answer(resp), nil
	case resp.StatusCode == http.StatusOK && resp.Header.Get("ETag") != "":
		t.keep(key, resp)
	}
	return resp, nil
}

// answer is the stored response with the rate numbers of the 304 that confirmed it.
func (c *cached) answer(fresh *http.Response) *http.Response {
	fresh.Body.Close()
	header := c.header.Clone()
	for name, values := range fresh.Header {
		if name != "Content-Length" && name != "Content-Type" {
			header[name] = values
		}
	}
	header.Set(cachedHeader, "1")
	resp := *fresh
	resp.Status, resp.StatusCode = "200 OK", http.StatusOK
	resp.Header = header
	resp.ContentLength = int64(len(c.body))
	resp.Body = io.NopCloser(bytes.NewReader(c.body))
	return &resp
}

func (t *answers) find(key string) *cached {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.items[key]
	if e == nil {
		return nil
	}
	t.order.MoveToFront(e)
	return e.Value.(*cached)
}

// keep stores the answer once its body has been read to the end. One that cannot be used
// would be confirmed again and again.
func (t *answers) keep(key string, resp *http.Response) {
	a := answer{resp: &http.Response{StatusCode: resp.StatusCode, Header: resp.Header.Clone()}}
	resp.Body = &keptBody{ReadCloser: resp.Body, done: func(body []byte) {
		if a.body = body; a.readable() && !a.blank() {
			t.put(&cached{key: key, tag: a.resp.Header.Get("ETag"), header: a.resp.Header, body: body})
		}
	}}
}

func (t *answers) put(c *cached) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.items[c.key]; e != nil {
		t.drop(e)
	}
	t.items[c.key] = t.order.PushFront(c)
	t.bytes += len(c.body)
	for t.order.Len() > maxCachedItems || t.bytes > maxCachedBytes {
		t.drop(t.order.Back())
	}
}

// drop needs t.mu.
func (t *answers) drop(e *list.Element) {
	c := t.order.Remove(e).(*cached)
	delete(t.items, c.key)
	t.bytes -= len(c.body)
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
