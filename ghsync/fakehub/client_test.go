package fakehub_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

const widgets = "octo/widgets"

// world is a server with one public repository and an account of each role, named by it.
func world(t *testing.T, change ...func(*fakehub.Options)) *fakehub.Server {
	t.Helper()
	opt := fakehub.Options{Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}}}
	for _, role := range []fakehub.Role{"admin", "maintain", "write", "triage", "read", "none"} {
		opt.Users = append(opt.Users, fakehub.UserSpec{Login: string(role), Roles: map[string]fakehub.Role{widgets: role}})
	}
	for _, f := range change {
		f(&opt)
	}
	return fakehub.Start(t, opt)
}

// client speaks plain HTTP with one token.
type client struct {
	t     *testing.T
	base  string
	token string
	head  map[string]string
}

// answer is a response; body is the decoded JSON.
type answer struct {
	status int
	header http.Header
	body   any
	raw    string
	err    error
}

func as(t *testing.T, s *fakehub.Server, login string) *client {
	t.Helper()
	c := &client{t: t, base: s.API(), head: map[string]string{}}
	if login != "" {
		c.token = s.Token(login)
	}
	return c
}

// try returns an error of the connection in the answer; do fails the test on one.
func (c *client) try(method, path string, body any) answer {
	c.t.Helper()
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		in = bytes.NewReader(data)
	}
	if !strings.HasPrefix(path, "http") {
		path = strings.TrimSuffix(c.base, "/") + path
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, path, in)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range c.head {
		req.Header.Set(name, value)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := (&http.Client{Transport: transport, CheckRedirect: stay}).Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	out := answer{status: resp.StatusCode, header: resp.Header, raw: string(data), err: err}
	_ = json.Unmarshal(data, &out.body) // some answers are no JSON
	return out
}

func (c *client) do(method, path string, body any) answer {
	c.t.Helper()
	out := c.try(method, path, body)
	if out.err != nil {
		c.t.Fatalf("%s %s: %v", method, path, out.err)
	}
	return out
}

// want is do with a status that is expected.
func (c *client) want(status int, method, path string, body any) answer {
	c.t.Helper()
	out := c.do(method, path, body)
	if out.status != status {
		c.t.Fatalf("%s %s: status %d, want %d: %s", method, path, out.status, status, out.raw)
	}
	return out
}

// query runs a GraphQL document.
func (c *client) query(url, text string, variables map[string]any) answer {
	c.t.Helper()
	return c.want(http.StatusOK, "POST", url, map[string]any{"query": text, "variables": variables})
}

// get digs into decoded JSON: "user.login", "0.id".
func (a answer) get(path string) any {
	value := a.body
	for _, part := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			n := int(part[0] - '0')
			if n >= len(v) {
				return nil
			}
			value = v[n]
		default:
			return nil
		}
	}
	return value
}

func (a answer) str(path string) string {
	text, _ := a.get(path).(string)
	return text
}

func (a answer) num(path string) int64 {
	n, _ := a.get(path).(float64)
	return int64(n)
}

func (a answer) list() []any {
	list, _ := a.body.([]any)
	return list
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// git runs git without any configuration of the machine.
func git(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func mustGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := git(t, dir, args...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

// remote is the address of a repository with a password inside.
func remote(s *fakehub.Server, repo, token string) string {
	return strings.Replace(s.CloneURL(repo), "http://", "http://x-access-token:"+token+"@", 1)
}

// checkout clones a repository as an account and commits a file on a new branch.
func checkout(t *testing.T, s *fakehub.Server, login, branch string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	mustGit(t, dir, "clone", "-q", remote(s, widgets, s.Token(login)), ".")
	mustGit(t, dir, "checkout", "-q", "-b", branch)
	mustGit(t, dir, "commit", "-q", "--allow-empty", "-m", "change on "+branch)
	return dir
}
