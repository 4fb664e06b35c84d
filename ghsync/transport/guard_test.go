package transport_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// wire answers requests in place of the network and notes their headers.
type wire struct {
	answer func(req *http.Request) (*http.Response, error)
	sent   []http.Header
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.sent = append(w.sent, req.Header.Clone())
	resp, err := w.answer(req)
	if err == nil {
		resp.Request = req
	}
	return resp, err
}

func respond(status int, body string, headers ...string) (*http.Response, error) {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func testToken() transport.TokenSource {
	return transport.StaticToken(transport.ModeToken, redact.NewSecret("not-a-real-token-of-anyone"), transport.Addresses{})
}

func TestSecurity23TokenGoesToTheAPIOnly(t *testing.T) {
	base, err := url.Parse("https://api.github.com/")
	if err != nil {
		t.Fatal(err)
	}
	tokens := testToken()
	for address, own := range map[string]bool{
		"https://api.github.com/repos": true, "https://API.github.com:443/x": true, "https://api.github.com:8443/x": false,
		"http://api.github.com/x": false, "https://api.github.com.evil.example/x": false, "https://evil.example/x": false,
	} {
		w := &wire{answer: func(*http.Request) (*http.Response, error) { return respond(200, `{}`) }}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.Guarded(w, tokens, base).RoundTrip(req)
		if own != (err == nil) || own != (len(w.sent) == 1) {
			t.Errorf("%s: %v, sent %d", address, err, len(w.sent))
		}
		if resp != nil {
			resp.Body.Close()
		}
		w.sent = nil
		resp, err = transport.Open(w, tokens, base).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if has := w.sent[0].Get("Authorization") != ""; has != own {
			t.Errorf("%s: token sent %v", address, has)
		}
	}
}

// What etag keeps is bounded, and what was used last stays.
func TestConditionalReadsAreBounded(t *testing.T) {
	const mib = 1 << 20
	large := strings.Repeat("x", 2*mib)
	for name, c := range map[string]struct {
		size      func(n int) int // of the n-th answer
		asked     []int
		hit, miss int
	}{
		"size of one": {func(n int) int { return mib + n }, upTo(2), 0, 1},
		"size of all": {func(int) int { return mib }, upTo(65), 1, 0},
		"number":      {func(int) int { return 10 }, upTo(513), 1, 0},
		"used again":  {func(int) int { return 10 }, append(upTo(512), 0, 512), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{answer: func(req *http.Request) (*http.Response, error) {
				if req.Header.Get("If-None-Match") != "" {
					return respond(304, "", "X-RateLimit-Remaining", "9", "Content-Type", "text/html")
				}
				n, _ := strconv.Atoi(req.URL.Path[1:])
				// Whether a body of this type is JSON does not matter.
				return respond(200, large[:c.size(n)], "ETag", `"v"`, "X-RateLimit-Remaining", "10", "Content-Type", "text/plain")
			}}
			base := &url.URL{Scheme: "https", Host: "api.github.com"}
			guarded := transport.Guarded(w, testToken(), base)
			ask := func(n int, accept string) bool {
				t.Helper()
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://api.github.com/%d", n), nil)
				req.Header.Set("Accept", accept)
				resp, err := guarded.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				cached, left := resp.Header.Get("X-From-Cache") == "1", resp.Header.Get("X-RateLimit-Remaining")
				if err != nil || resp.StatusCode != http.StatusOK || len(body) != c.size(n) || resp.Header.Get("Content-Type") != "text/plain" || cached != (left == "9") {
					t.Errorf("%d bytes, status %d, header %v, %v", len(body), resp.StatusCode, resp.Header, err)
				}
				return cached
			}
			for _, n := range c.asked {
				ask(n, "text/json")
			}
			if hit, other, miss := ask(c.hit, "text/json"), ask(c.hit, "application/json"), ask(c.miss, "text/json"); !hit || other || miss {
				t.Errorf("answer %d kept: %v, in another form: %v; answer %d: %v", c.hit, hit, other, c.miss, miss)
			}
		})
	}
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
