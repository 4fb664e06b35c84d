package joblog_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/joblog"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// storage answers in place of the network: the API sends the reader to a place, which answers by
// itself.
type storage struct {
	api       string // the host of the API
	to        string
	answer    func(req *http.Request) (*http.Response, error)
	elsewhere []*http.Request
}

func (s *storage) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == s.api && strings.HasSuffix(req.URL.Path, "/logs") {
		return respond(http.StatusFound, "", "Location", s.to, "Set-Cookie", "session=1")
	}
	s.elsewhere = append(s.elsewhere, req)
	return s.answer(req)
}

const secretToken = "not-a-real-token-of-anyone"

// tail reads a log from a server over the storage.
func tail(ctx context.Context, t *testing.T, s *storage, bases transport.Addresses) ([]byte, bool, error) {
	t.Helper()
	stack, err := transport.New(transport.Options{
		APIURL: bases.API, GraphQLURL: bases.GraphQL, ServerURL: bases.Server, HTTP: s, Pause: 1,
		Token: transport.StaticToken(transport.ModeToken, redact.NewSecret(secretToken), bases), Limits: transport.Limits{ReadsPerSecond: 1e6},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.api = stack.API.Host
	return joblog.Tail(ctx, stack, "repos/octo/widgets/actions/jobs/7/logs")
}

func bases(t *testing.T, host string) transport.Addresses {
	t.Helper()
	a, err := transport.Bases(host, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestSecurity23ALogIsReadFromHostsOfItsServerAlone(t *testing.T) {
	for to, servers := range map[string]string{
		"https://productionresultssa7.blob.core.windows.net/a?sig=x":    "github.com octo.ghe.com",
		"https://pipelines.actions.githubusercontent.com/a":             "github.com octo.ghe.com",
		"https://PRODUCTION.blob.core.windows.net:443/a":                "github.com octo.ghe.com",
		"https://blob.core.windows.net/a":                               "",
		"https://x.blob.core.windows.net.evil.example/a":                "",
		"https://evilblob.core.windows.net/a":                           "",
		"https://x.blob.core.windows.net:8443/a":                        "",
		"http://x.blob.core.windows.net/a":                              "",
		"https://me:pw@x.blob.core.windows.net/a":                       "",
		"https://evil.example/a":                                        "",
		"http://127.0.0.1/a":                                            "",
		"https://169.254.169.254/a":                                     "",
		"https://github.com/a":                                          "",
		"https://git.corp.example/_services/logs/7":                     "git.corp.example",
		"https://git.corp.example:8443/a":                               "git.corp.example",
		"http://git.corp.example/a":                                     "",
		"ftp://git.corp.example/a":                                      "",
		"https://storage.corp.example/a":                                "",
		"":                                                              "",
		"https://x.blob.core.windows.net%2f@evil.example/a":             "",
		"//x.blob.core.windows.net/a":                                   "github.com octo.ghe.com",
		"https://x.blob.core.windows.net\\@evil.example/a":              "",
		"https://user-images.githubusercontent.com/a":                   "",
		"https://actions.githubusercontent.com.blob.core.windows.net/a": "github.com octo.ghe.com",
	} {
		for _, server := range []string{"github.com", "octo.ghe.com", "git.corp.example"} {
			s := &storage{to: to, answer: func(*http.Request) (*http.Response, error) { return respond(200, "the log") }}
			text, _, err := tail(t.Context(), t, s, bases(t, server))
			if want := strings.Contains(servers, server); want != (err == nil) || want != (len(s.elsewhere) == 1) || want != (string(text) == "the log") {
				t.Errorf("%s sends to %s: %q, %v, sent %d", server, to, text, err, len(s.elsewhere))
			}
			var refused *joblog.ElsewhereError
			if err != nil && (!errors.As(err, &refused) || strings.Contains(err.Error(), "sig=") || strings.Contains(err.Error(), "pw")) {
				t.Errorf("%s sends to %s: %v", server, to, err)
			}
		}
	}
}

// One plain request: no token, no cookie, no repetition, and no further redirect.
func TestSecurity23NoTokenGoesToTheHostOfALog(t *testing.T) {
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){
		"read": func(*http.Request) (*http.Response, error) {
			return respond(206, "end", "Content-Range", "bytes 5-7/8")
		},
		"denied": func(*http.Request) (*http.Response, error) { return respond(401, "") },
		"broken": func(*http.Request) (*http.Response, error) { return respond(503, "", "Retry-After", "1") },
		"sent on": func(*http.Request) (*http.Response, error) {
			return respond(302, "", "Location", "https://y.blob.core.windows.net/")
		},
		"no host": func(*http.Request) (*http.Response, error) { return nil, errors.New("no such host") },
		"squeezed": func(*http.Request) (*http.Response, error) {
			return respond(200, "\x1f\x8b", "Content-Encoding", "gzip")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &storage{to: "https://x.blob.core.windows.net/a?sig=secret", answer: answer}
			text, cut, err := tail(t.Context(), t, s, bases(t, ""))
			if name == "read" && (err != nil || string(text) != "end" || !cut) {
				t.Errorf("%q, cut %v, %v", text, cut, err)
			}
			if name != "read" && (!errors.As(err, new(*joblog.ElsewhereError)) || strings.Contains(err.Error(), "sig")) {
				t.Errorf("%q, %v", text, err)
			}
			if len(s.elsewhere) != 1 {
				t.Fatalf("%d requests", len(s.elsewhere))
			}
			req := s.elsewhere[0]
			for key, values := range req.Header {
				if key == "Authorization" || key == "Cookie" || key == "Referer" || strings.Contains(strings.Join(values, ""), secretToken) {
					t.Errorf("sent %s: %s", key, values)
				}
			}
			if req.Method != http.MethodGet || req.Header.Get("Range") != "bytes=-1048576" || req.Body != nil {
				t.Errorf("%s, range %q", req.Method, req.Header.Get("Range"))
			}
		})
	}
}

// Of a host that knows no ranges the end is kept; no more than 32 MiB are read.
func TestALogIsReadFromItsEnd(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		size, status int
		length       int
		cut, fails   bool
	}{
		"short": {10, 200, 10, false, false}, "exact": {mib, 200, mib, false, false}, "one more": {mib + 1, 200, mib, true, false}, "long": {9*mib + 77, 200, mib, true, false},
		"too long": {33 * mib, 200, 0, false, true}, "range": {mib, 206, mib, true, false}, "more than the range": {2 * mib, 206, mib, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			body := &pattern{left: c.size}
			s := &storage{to: "https://x.blob.core.windows.net/a", answer: func(*http.Request) (*http.Response, error) {
				resp, err := respond(c.status, "", "Content-Range", "bytes 9-20/21")
				resp.Body = io.NopCloser(body)
				return resp, err
			}}
			text, cut, err := tail(t.Context(), t, s, bases(t, ""))
			if len(text) != c.length || cut != c.cut || (err != nil) != c.fails {
				t.Fatalf("%d bytes, cut %v, %v", len(text), cut, err)
			}
			if body.read > 33*mib {
				t.Errorf("%d bytes read", body.read)
			}
			if want, _ := io.ReadAll(&pattern{left: c.length}); !bytes.Equal(text, want) {
				t.Errorf("not the end: %q", text[max(0, len(text)-20):])
			}
		})
	}
}

// pattern is a text of which each byte tells how many are left.
type pattern struct{ left, read int }

var downwards = strings.Repeat("zyxwvutsrqponmlkjihgfedcba", 7001/26+2)

func (p *pattern) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), p.left, 7001)
	copy(b[:n], downwards[25-p.left%26:])
	p.left -= n
	p.read += n
	return n, nil
}

// What the API itself answers is a log, too; what it does not have is not there.
func TestALogThatTheAPIHas(t *testing.T) {
	for status, want := range map[int]string{200: "the log", 404: ""} {
		stack, err := transport.New(transport.Options{Token: transport.StaticToken(transport.ModeToken, redact.NewSecret(secretToken), transport.Addresses{}), HTTP: answers(func(*http.Request) (*http.Response, error) {
			return respond(status, want, "Content-Type", "text/plain")
		})})
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := joblog.Tail(t.Context(), stack, "repos/octo/widgets/actions/jobs/7/logs")
		if string(text) != want || transport.IsNotFound(err) != (status == 404) {
			t.Errorf("%d: %q, %v", status, text, err)
		}
	}
}

// answers stand in for the network.
type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) { return a(req) }

func respond(status int, body string, headers ...string) (*http.Response, error) {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
}
