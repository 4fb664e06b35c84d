package main

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// elsewhere is another implementation of the same contract: its REST interface lies below
// a path of its own, there is no GraphQL, and no header tells who made it.
type elsewhere struct {
	*httptest.Server
	mu      sync.Mutex
	foreign []string // paths that are neither the interface nor git
}

const elsewherePath = "/forge/rest/v9/"

func newElsewhere(t *testing.T, to *fakehub.Server) *elsewhere {
	t.Helper()
	target, err := url.Parse(to.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, strings.TrimSuffix(elsewherePath, "/"))
			r.Out.URL.RawPath = strings.TrimPrefix(r.In.URL.EscapedPath(), strings.TrimSuffix(elsewherePath, "/"))
		},
		ModifyResponse: func(resp *http.Response) error {
			for name := range resp.Header {
				if strings.HasPrefix(name, "X-Github") || strings.HasPrefix(name, "X-Ratelimit") || strings.HasPrefix(name, "X-Accepted") {
					resp.Header.Del(name)
				}
			}
			return nil
		},
	}
	e := &elsewhere{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, isREST := strings.CutPrefix(r.URL.Path, elsewherePath)
		switch {
		case isREST && rest != "graphql", strings.Contains(r.URL.Path, ".git/"):
			proxy.ServeHTTP(w, r)
			return
		case isREST:
		default:
			e.mu.Lock()
			e.foreign = append(e.foreign, r.Method+" "+r.URL.Path)
			e.mu.Unlock()
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

// Addresses and token alone decide whom a session talks to: one against another
// implementation, somewhere else, without GraphQL, ends with its pull request.
func TestASessionAtAnotherImplementation(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	e := newElsewhere(t, r.github)
	r.git(r.clone, "remote", "set-url", "origin", e.URL+"/"+rigRepo+".git")
	r.setEnv("GITHUB_API_URL", e.URL+strings.TrimSuffix(elsewherePath, "/"))
	r.setEnv("GITHUB_GRAPHQL_URL", "")
	r.setEnv("GITHUB_SERVER_URL", e.URL)
	direct := len(r.github.Calls())
	rows := r.probed(0, "--write")
	says(t, rows["github"], doctor.OK, e.URL+elsewherePath, "no limits named")
	says(t, rows["account"], doctor.OK, "as "+rigBot)
	r.expect(0, issueRun...)
	s := r.session()
	r.done(s)
	pulls := r.github.Repo(rigRepo).Pulls()
	if len(pulls) != 1 || !strings.HasPrefix(s.State.Completion.PRURL, "http") {
		t.Errorf("pull requests %+v, address %q", pulls, s.State.Completion.PRURL)
	}
	if len(e.foreign) > 0 {
		t.Errorf("asked for what is no part of the contract: %q", e.foreign)
	}
	for _, call := range r.github.Calls()[direct:] {
		if strings.Contains(call.Path, "graphql") {
			t.Errorf("GraphQL was reached: %+v", call)
		}
	}
}

// No code asks whether it talks to the server of the tests: nothing that is built knows its
// package, but for the demonstration, which starts it.
func TestNothingKnowsTheServerOfTheTests(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	exempt := []string{filepath.Join("ghsync", "fakehub"), filepath.Join("cmd", "internal", "demo")}
	known := regexp.MustCompile(`(?i)fakehub|fake ?git ?hub|isFake|IS_TEST|testing\.Testing\(`)
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && (slices.Contains(exempt, rel) || strings.HasPrefix(d.Name(), ".") && rel != ".") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		lower := bytes.ToLower(data)
		if !slices.ContainsFunc([]string{"fake", "is_test", "testing.testing("}, func(part string) bool { return bytes.Contains(lower, []byte(part)) }) {
			return nil // the expression takes seconds for all files
		}
		for n, line := range strings.Split(string(data), "\n") {
			if code, _, _ := strings.Cut(line, "//"); known.MatchString(code) && !strings.Contains(line, "(internal)") {
				t.Errorf("%s:%d: %s", rel, n+1, line)
			}
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Errorf("%d files read: %v", read, err)
	}
}
