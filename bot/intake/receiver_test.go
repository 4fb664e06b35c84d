package intake_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/internal/redact"
)

const issueBody = `{"action":"labeled","issue":{"id":1,"repository":{"id":9}},"repository":{"id":1005,"full_name":"octo/widgets","owner":{"id":3}}}`

// received collects the hooks that a receiver let through.
type received struct {
	*intake.Receiver
	mu    sync.Mutex
	hooks []intake.Hook
}

// receive makes a receiver that knows repository 1005.
func receive(secrets ...string) *received {
	r := &received{}
	o := intake.ReceiverOptions{Wake: func(h intake.Hook) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hooks = append(r.hooks, h)
		return h.RepoID == 1005
	}}
	for _, s := range secrets {
		o.Secrets = append(o.Secrets, redact.NewSecret(s))
	}
	r.Receiver = intake.NewReceiver(o)
	return r
}

func signature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// delivery is a request as GitHub makes it.
func delivery(body string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, intake.WebhookPath, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", "issues")
	req.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	req.Header.Set("X-Hub-Signature-256", signature(secret, []byte(body)))
	return req
}

func answer(h http.Handler, req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// A delivery is refused by the first check that it fails, in their order, and wakes nothing then.
func TestSecurity22WhatIsNoDeliveryOfGitHubIsRefused(t *testing.T) {
	const other = "another secret of sixteen"
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del(name)
			for _, v := range values {
				r.Header.Add(name, v)
			}
		}
	}
	sha1Only := func(r *http.Request) {
		mac := hmac.New(sha1.New, []byte(secret))
		mac.Write([]byte(issueBody))
		r.Header.Del("X-Hub-Signature-256")
		r.Header.Set("X-Hub-Signature", "sha1="+hex.EncodeToString(mac.Sum(nil)))
	}
	sign, kind := "X-Hub-Signature-256", "Content-Type"
	right := strings.TrimPrefix(signature(secret, []byte(issueBody)), "sha256=")
	for name, c := range map[string]struct {
		change []func(*http.Request)
		status int
	}{
		"right":                   {nil, 202},
		"right, with a charset":   {[]func(*http.Request){header(kind, "application/json; charset=utf-8")}, 202},
		"right, capital digits":   {[]func(*http.Request){header(sign, "sha256="+strings.ToUpper(right))}, 202},
		"the old secret":          {[]func(*http.Request){header(sign, signature(other, []byte(issueBody)))}, 202},
		"GET":                     {[]func(*http.Request){func(r *http.Request) { r.Method = http.MethodGet }}, 405},
		"PUT, and all else wrong": {[]func(*http.Request){func(r *http.Request) { r.Method = http.MethodPut }, header(kind), header(sign)}, 405},
		"a form":                  {[]func(*http.Request){header(kind, "application/x-www-form-urlencoded")}, 415},
		"no kind":                 {[]func(*http.Request){header(kind)}, 415},
		"a bad kind, no event":    {[]func(*http.Request){header(kind, "application/json/;"), header("X-GitHub-Event")}, 415},
		"no event":                {[]func(*http.Request){header("X-GitHub-Event")}, 400},
		"an empty event":          {[]func(*http.Request){header("X-GitHub-Event", "")}, 400},
		"two events":              {[]func(*http.Request){header("X-GitHub-Event", "issues", "ping")}, 400},
		"no signature":            {[]func(*http.Request){header(sign)}, 400},
		"SHA-1 alone":             {[]func(*http.Request){sha1Only}, 400},
		"SHA-1 as SHA-256":        {[]func(*http.Request){sha1Only, header(sign, "sha1="+right[:40])}, 400},
		"two signatures":          {[]func(*http.Request){header(sign, "sha256="+right, "sha256="+right)}, 400},
		"without an algorithm":    {[]func(*http.Request){header(sign, right)}, 400},
		"63 digits":               {[]func(*http.Request){header(sign, "sha256="+right[1:])}, 400},
		"no digits":               {[]func(*http.Request){header(sign, "sha256="+strings.Repeat("g", 64))}, 400},
		"a forged signature":      {[]func(*http.Request){header(sign, "sha256="+strings.Repeat("0", 64))}, 403},
		"one digit wrong":         {[]func(*http.Request){header(sign, "sha256="+strings.Map(flip, right[:1])+right[1:])}, 403},
		"the first half":          {[]func(*http.Request){header(sign, "sha256="+right[:32]+strings.Repeat("0", 32))}, 403},
		"another secret":          {[]func(*http.Request){header(sign, signature("a secret that nobody gave", []byte(issueBody)))}, 403},
		"no secret":               {[]func(*http.Request){header(sign, signature("", []byte(issueBody)))}, 403},
		"another body":            {[]func(*http.Request){func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(issueBody + " ")) }}, 403},
		"an empty body":           {[]func(*http.Request){func(r *http.Request) { r.Body = http.NoBody }}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			r, req := receive(secret, other), delivery(issueBody)
			for _, f := range c.change {
				f(req)
			}
			got := answer(r, req)
			woke := len(r.hooks) > 0
			if got.Code != c.status || woke != (c.status == 202) || got.Body.Len() > 0 {
				t.Errorf("%d %q, hooks %+v", got.Code, got.Body, r.hooks)
			}
			if woke && r.hooks[0] != (intake.Hook{Event: "issues", Delivery: "72d3162e-cc78-11e3-81ab-4c9367dc0958", RepoID: 1005, Repo: "octo/widgets"}) {
				t.Errorf("hook %+v", r.hooks[0])
			}
			f := r.Facts()
			if refused := f.Refused[c.status]; woke == (refused == 1) || f.Accepted+refused != 1 || f.Woke != f.Accepted {
				t.Errorf("facts %+v", f)
			}
			if allow := got.Header().Get("Allow"); (c.status == 405) != (allow == "POST") {
				t.Errorf("Allow: %q", allow)
			}
		})
	}
	if got := answer(receive(), delivery(issueBody)); got.Code != 403 {
		t.Errorf("without a secret: %d", got.Code)
	}
	empty := delivery(issueBody)
	empty.Header.Set(sign, signature("", []byte(issueBody)))
	if got := answer(receive("", secret), empty); got.Code != 403 {
		t.Errorf("with an empty secret: %d", got.Code)
	}
}

func whole(r io.Reader) io.Reader { return r }

func flip(r rune) rune { return map[bool]rune{true: '1', false: '0'}[r == '0'] }

// Events and repositories that are not ours are taken and wake nothing.
func TestGitHub30OnlyEventsOfOursWake(t *testing.T) {
	for event, passed := range map[string]bool{
		"issues": true, "issue_comment": true, "pull_request": true, "pull_request_review": true, "check_suite": true, "repository": true,
		"installation": true, "installation_repositories": true, "ping": false, "push": false, "star": false, "Issues": false,
	} {
		r, req := receive(secret), delivery(issueBody)
		req.Header.Set("X-GitHub-Event", event)
		if got := answer(r, req); got.Code != 202 || passed != (len(r.hooks) == 1) {
			t.Errorf("%s: %d, hooks %+v", event, got.Code, r.hooks)
		}
		if f := r.Facts(); f.Dropped != map[bool]int{true: 0, false: 1}[passed] || f.Last.IsZero() {
			t.Errorf("%s: facts %+v", event, f)
		}
	}
	r := receive(secret)
	for _, body := range []string{`{"repository":{"id":77,"full_name":"foreign/one"}}`, `{"zen":"Keep it logically awesome."}`, "not JSON", "", "[]"} {
		if got := answer(r, delivery(body)); got.Code != 202 {
			t.Errorf("%q: %d", body, got.Code)
		}
	}
	if f := r.Facts(); f.Dropped != 5 || f.Woke != 0 || r.hooks[0].Repo != "foreign/one" {
		t.Errorf("facts %+v, hooks %+v", f, r.hooks)
	}
}

// The repository is found as encoding/json finds it.
func TestTheRepositoryOfADelivery(t *testing.T) {
	long := strings.Repeat("x", 700)
	for body, want := range map[string]intake.Hook{
		issueBody: {RepoID: 1005, Repo: "octo/widgets"},
		` { "repository" : { "full_name" : "a/b" , "id" : 7 } } `:                     {RepoID: 7, Repo: "a/b"},
		"{\n\t\"repository\":\r\n{\"id\":7}}":                                         {RepoID: 7},
		`{"issue":{"repository":{"id":1}},"id":2,"full_name":"x/y"}`:                  {},
		`{"a":"\"repository\":{\"id\":1}","repository":{"id":8}}`:                     {RepoID: 8},
		`{"a":"\\","repository":{"id":8}}`:                                            {RepoID: 8},
		`{"repository":{"id":8},"repository":{"id":9}}`:                               {RepoID: 9},
		`{"repository":{"id":8},"repository":null}`:                                   {},
		`{"repository":{"id":8,"id":"9"}}`:                                            {},
		`{"repository":{"owner":{"id":1,"full_name":"o"},"id":2}}`:                    {RepoID: 2},
		`{"repository":{"id":2,"topics":["id",{"id":3}],"x":[]}}`:                     {RepoID: 2},
		`{"repository":{"id":2.5}}`:                                                   {},
		`{"repository":{"id":-2}}`:                                                    {},
		`{"repository":{"id":99999999999999999999}}`:                                  {},
		`{"repository":[{"id":2}]}`:                                                   {},
		`[{"repository":{"id":2}}]`:                                                   {},
		`{"Repository":{"id":2}}`:                                                     {},
		`{"repository":{"id":2,"full_name":"` + strings.Repeat("x", 300) + `"}}`:      {RepoID: 2},
		`{"repository":{"id":2,"full_name":"a/b","name":"full_name"}}`:                {RepoID: 2, Repo: "a/b"},
		`{"sender":{"id":1},"repository":{"id":2},"organization":{"id":3}}`:           {RepoID: 2},
		`{"installation":{"id":5},"repositories":[{"id":1,"full_name":"octo/a"}]}`:    {},
		`{"repository":{"id":2}} {"repository":{"id":3}}`:                             {RepoID: 2},
		`{"repository":"id","id":3}`:                                                  {},
		`{"x":[[[[{"repository":{"id":1}}]]]],"repository":{"id":4,"fork":{"id":5}}}`: {RepoID: 4},

		`{"repository":{"id":8,"x":"` + long + `"},"y":{"z":"` + long[:255] + `\\","repository":{"id":1}}}`:   {RepoID: 8},
		`{"a":["` + long + `\"` + long[:256] + `\\",{"id":1},"` + long[:255] + `"],"repository":{"id":8}}`:    {RepoID: 8},
		`{"a":{"b":"` + long + `\",\"repository\":{\"id\":1},` + long[:254] + `\\\""},"repository":{"id":8}}`: {RepoID: 8},
	} {
		want.Event, want.Delivery = "issues", "72d3162e-cc78-11e3-81ab-4c9367dc0958"
		for _, read := range []func(io.Reader) io.Reader{whole, iotest.OneByteReader} {
			r, req := receive(secret), delivery(body)
			req.Body = io.NopCloser(read(req.Body))
			if got := answer(r, req); got.Code != 202 || len(r.hooks) != 1 || r.hooks[0] != want {
				t.Errorf("%s\n%d %+v, want %+v", body, got.Code, r.hooks, want)
			}
		}
	}
}

// big is a body of a size that is not held anywhere.
type big struct{ left int64 }

func (b *big) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), b.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	b.left -= n
	return int(n), nil
}

// A body of 25 MiB passes, and one byte more does not. If its length is told, nothing is read.
func TestSecurity22BodiesHaveALimit(t *testing.T) {
	const most = 26_214_400
	body := `{"repository":{"id":1005},"x":"` + strings.Repeat("y", most-32-1) + `"}`
	body = body[:len(body)-2] + `"}`
	for name, c := range map[string]struct {
		extra  string
		untold bool
		status int
	}{"25 MiB": {"", false, 202}, "and a byte": {" ", false, 413}, "of which nothing was said": {" ", true, 413}} {
		r, req := receive(secret), delivery(body+c.extra)
		if c.untold {
			req.ContentLength = -1
		}
		if got := answer(r, req); len(body) != most || got.Code != c.status || (c.status == 202) != (len(r.hooks) == 1) {
			t.Errorf("%s: %d", name, got.Code)
		}
	}
	req := delivery("")
	told := &big{left: 1 << 40}
	req.Body, req.ContentLength = io.NopCloser(told), 1<<40
	if got := answer(receive(secret), req); got.Code != 413 || told.left != 1<<40 {
		t.Errorf("a body that is told to be huge: %d after %d bytes", got.Code, 1<<40-told.left)
	}
}

// Only so many bodies are read at a time; others are told to come back.
func TestSecurity22BodiesAtATimeAreBounded(t *testing.T) {
	r := receive(secret)
	var started, done sync.WaitGroup
	release := make(chan struct{})
	for range 64 {
		started.Add(1)
		done.Go(func() {
			body := io.MultiReader(readFunc(func([]byte) (int, error) { started.Done(); <-release; return 0, io.EOF }), strings.NewReader(issueBody))
			req := delivery(issueBody)
			req.Body = io.NopCloser(body)
			if got := answer(r, req); got.Code != 202 {
				t.Errorf("one of 64: %d", got.Code)
			}
		})
	}
	started.Wait()
	if got := answer(r, delivery(issueBody)); got.Code != 503 || got.Header().Get("Retry-After") == "" {
		t.Errorf("the one after 64: %d", got.Code)
	}
	close(release)
	done.Wait()
	if got := answer(r, delivery(issueBody)); got.Code != 202 {
		t.Errorf("afterwards: %d", got.Code)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// FuzzWebhook holds that nothing but a valid signature is taken, and that the repository of what
// is taken is the one that encoding/json finds.
func FuzzWebhook(f *testing.F) {
	f.Add("POST", "application/json", "issues", signature(secret, []byte(issueBody)), []byte(issueBody), true)
	f.Add("POST", "application/json", "issues", "sha256=00", []byte(`{"repository":{"id":1,"full_name":"a/b"}}`), false)
	f.Add("POST", "application/json; charset=utf-8", "ping", "sha1=", []byte(`{"a":"\\\"","repository":{"id":1e3}}`), true)
	f.Add("GET", "text/html", "", "", []byte{}, false)
	f.Fuzz(func(t *testing.T, method, kind, event, signed string, body []byte, right bool) {
		if right {
			signed = signature(secret, body)
		}
		r := receive(secret)
		req := httptest.NewRequest(http.MethodPost, intake.WebhookPath, bytes.NewReader(body))
		req.Method = method
		req.Header = http.Header{"Content-Type": {kind}, "X-Github-Event": {event}, "X-Hub-Signature-256": {signed}}
		got := answer(r, req)
		statuses := []int{202, 400, 403, 405, 413, 415}
		valid := strings.EqualFold(signed, signature(secret, body)) && strings.HasPrefix(signed, "sha256=")
		if !slices.Contains(statuses, got.Code) || got.Code == 202 && (!valid || method != "POST" || event == "") {
			t.Fatalf("%d for a signature that is valid: %t", got.Code, valid)
		}
		if len(r.hooks) > 0 && got.Code != 202 {
			t.Fatalf("%d woke %+v", got.Code, r.hooks)
		}
		if id, name, ok := decoded(body); ok && len(r.hooks) > 0 && (r.hooks[0].RepoID != id || r.hooks[0].Repo != name) {
			t.Fatalf("%q: %+v, want %d %q", body, r.hooks[0], id, name)
		}
	})
}

// FuzzDelivery is FuzzWebhook for bodies whose signature is valid.
func FuzzDelivery(f *testing.F) {
	for _, body := range []string{issueBody, `{"repository":{"id":7,"full_name":"a/b"}}`, `{"repository":{"id":7,"x":[{}]},"y":"\u0022"}`, `[]`, `{"repository":{"id":1},"repository":{}}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := receive(secret)
		if got := answer(r, delivery(string(body))); got.Code != 202 || len(r.hooks) != 1 {
			t.Fatalf("%d, hooks %+v", got.Code, r.hooks)
		}
		if id, name, ok := decoded(body); ok && (r.hooks[0].RepoID != id || r.hooks[0].Repo != name) {
			t.Fatalf("%q: %+v, want %d %q", body, r.hooks[0], id, name)
		}
	})
}
