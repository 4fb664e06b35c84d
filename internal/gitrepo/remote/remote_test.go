package remote_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

func TestFetchRemoteAndList(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	repotest.Git(t, r.Clone, "tag", "v1")
	repotest.Git(t, r.Clone, "push", "-q", s.repo, "main", "v1")
	h, err := gitrepo.Open(t.Context(), filepath.Join(t.TempDir(), "h.git"))
	if err != nil {
		t.Fatal(err)
	}
	refs, err := s.remote().Refs(t.Context(), h, "HEAD", "refs/heads/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(refs) != 2 || refs[0].Target != "refs/heads/main" || refs[1].Name != "refs/heads/main" || refs[1].ID != r.Base {
		t.Errorf("refs are %+v", refs)
	}
	if err := s.remote().Fetch(t.Context(), h, "+refs/heads/main:refs/remotes/origin/main"); err != nil {
		t.Fatal(err)
	}
	if got := repotest.Must(h.Resolve(t.Context(), "refs/remotes/origin/main")); got != r.Base {
		t.Errorf("fetched %s, want %s", got, r.Base)
	}
	if got := repotest.Must(h.Ref(t.Context(), "refs/tags/v1")); got != r.Base {
		t.Errorf("the tag did not come along: %q", got)
	}
}

// What a server breaks off is read again; what it refuses, and an address where no server
// listens, is not.
func TestReadsAreTriedAgain(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	repotest.Git(t, r.Clone, "push", "-q", s.repo, "main")
	const into = "+refs/heads/main:refs/remotes/origin/main"
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		tries  int32
		kind   remote.PushKind // empty: it ends well
	}{
		"a moment": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", http.StatusBadGateway) }, 2, ""},
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<!DOCTYPE html>\n<html>wait</html>\n"))
		}, 2, ""},
		"cut off":    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 2, ""},
		"for longer": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", http.StatusBadGateway) }, 9, remote.PushNetwork},
		"refused":    {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }, 9, remote.PushDenied},
	} {
		t.Run(name, func(t *testing.T) {
			var seen atomic.Int32
			s.wrap = func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if seen.Add(1) <= tc.tries {
						tc.answer(w, req)
						return
					}
					next.ServeHTTP(w, req)
				})
			}
			err := s.remote().WithPauses(time.Millisecond, 3).Fetch(t.Context(), r.Store, into)
			var read *remote.ReadError
			switch {
			case tc.kind == "" && err != nil:
				t.Errorf("fetch: %v", err)
			case tc.kind != "" && (!errors.As(err, &read) || read.Kind != tc.kind || strings.Contains(read.Text, "\n") || strings.Contains(read.Text, "fatal:")):
				t.Errorf("error %q", err)
			case tc.kind == remote.PushDenied && seen.Load() != 1:
				t.Errorf("a refusal was asked for %d times", seen.Load())
			}
		})
	}
	s.Close()
	began := time.Now()
	if _, err := s.remote().WithPauses(time.Hour, 1).Refs(t.Context(), r.Store); err == nil || time.Since(began) > time.Minute {
		t.Errorf("a server that is down: %v after %s", err, time.Since(began))
	}
}

func TestSecurity9OtherTransportsAreRefused(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	marker := filepath.Join(t.TempDir(), "marker")
	var reached atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer proxy.Close()
	for _, url := range []string{
		"file://" + r.Clone, "file://localhost" + r.Clone, "ftp://example.test/o/r.git", r.Clone, "ext::sh -c 'touch " + marker + "'", "http://example.test/o/r.git",
		"ssh://example.test/o/r.git", "git@example.test:o/r.git", "https://user:pw@example.test/o/r.git", "--upload-pack=touch",
	} {
		t.Run(strings.ReplaceAll(url, r.Clone, "/clone"), func(t *testing.T) {
			far := remote.Repository{URL: url, Config: remote.UserConfig{Proxy: proxy.URL}}
			if _, err := far.Refs(t.Context(), r.Store); err == nil {
				t.Error("its refs are listed")
			}
			if err := far.Fetch(t.Context(), r.Store, "refs/heads/main:refs/heads/x"); err == nil {
				t.Error("it is fetched from")
			}
		})
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a transport ran a command")
	}
	if reached.Load() {
		t.Error("a server was reached without encryption")
	}
}

// The check of addresses is not the only one: git itself knows the one
// transport of a call, whatever a configuration says.
func TestSecurity9GitSpeaksTheOneTransportOfACall(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	marker := filepath.Join(t.TempDir(), "marker")
	listOver := func(transport, url string) ([]byte, error) {
		c := git.In(r.Store, "ls-remote", "--", url)
		c.Transport = transport
		return c.Run(t.Context())
	}
	if out, err := listOver("file", "file://"+r.Clone); err != nil || !strings.Contains(string(out), r.Base) {
		t.Fatalf("the transport that is allowed: %q, %v", out, err)
	}
	for _, key := range []string{"protocol.allow", "protocol.ext.allow", "protocol.file.allow", "protocol.http.allow"} {
		repotest.Git(t, r.Store.Dir(), "config", key, "always")
	}
	for name, c := range map[string]struct{ transport, url string }{
		"file over none":     {"", "file://" + r.Clone},
		"file over https":    {"https", "file://" + r.Clone},
		"a path over https":  {"https", r.Clone},
		"a program as file":  {"file", "ext::touch " + marker},
		"a program as https": {"https", "ext::touch " + marker},
		"http as file":       {"file", "http://127.0.0.1:1/o/r.git"},
		"http as https":      {"https", "http://127.0.0.1:1/o/r.git"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := listOver(c.transport, c.url); err == nil || !strings.Contains(err.Error(), "not allowed") {
				t.Errorf("with %q alone, %s: %v", c.transport, c.url, err)
			}
		})
	}
	repotest.Absent(t, marker)
}

// TestSecurity9LazyFetchOfThePersonsCloneIsRefused fetches from a partial clone whose
// missing objects would come by a transport of its own choice.
func TestSecurity9LazyFetchOfThePersonsCloneIsRefused(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n", "b": "some content\n"})
	marker := filepath.Join(t.TempDir(), "marker")
	blob := repotest.Git(t, r.Clone, "rev-parse", "HEAD:b")
	repotest.Remove(t, r.Clone, filepath.Join(".git", "objects", blob[:2], blob[2:]))
	for key, value := range map[string]string{
		"core.repositoryFormatVersion": "1", "extensions.partialClone": "evil", "remote.evil.promisor": "true",
		"remote.evil.url": "ext::touch " + marker, "protocol.ext.allow": "always", "remote.evil.partialCloneFilter": "blob:none",
	} {
		repotest.Git(t, r.Clone, "config", key, value)
	}
	h, err := gitrepo.Open(t.Context(), filepath.Join(t.TempDir(), "h.git"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.FetchClone(t.Context(), r.Clone, "HEAD"); err == nil {
		t.Error("a partial clone gave a whole history")
	}
	repotest.Absent(t, marker)
}

func TestThePasswordIsNotGivenToAnotherHost(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	var leaked atomic.Bool
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, _, ok := req.BasicAuth(); ok {
			leaked.Store(true)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer thief.Close()
	front := httptest.NewServer(http.RedirectHandler(thief.URL+"/o/r.git/info/refs?service=git-upload-pack", http.StatusFound))
	defer front.Close()
	_, err := remote.Repository{
		URL: front.URL + "/o/r.git",
		Secret: func(context.Context) (string, error) {
			leaked.Store(true)
			return serverPassword, nil
		},
	}.Refs(t.Context(), r.Store)
	if err == nil || leaked.Load() {
		t.Fatalf("redirected to another server: err %v, password given %v", err, leaked.Load())
	}
}

func TestAFailingSecretIsNamed(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	expired := errors.New("token expired")
	far := s.remote()
	far.Secret = func(context.Context) (string, error) { return "", expired }
	if _, err := far.Refs(t.Context(), r.Store); !errors.Is(err, expired) {
		t.Fatalf("got %v", err)
	}
}

// TestSecurity36 gives the person's configuration and the store's
// surroundings settings that must not be obeyed.
func TestSecurity36NoOtherConfigurationIsRead(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	home := t.TempDir()
	marker := filepath.Join(home, "marker")
	repotest.Write(t, home, map[string]string{
		".gitconfig": "[http]\n\textraHeader = X-Leak: 1\n[credential]\n\thelper = \"!touch " + marker + "; false\"\n" +
			"[url \"file:///nowhere/\"]\n\tinsteadOf = http://\n[core]\n\tfsmonitor = touch " + marker + "\n",
		".netrc": "machine 127.0.0.1 login thief password thief\n",
	})
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "http.extraHeader")
	t.Setenv("GIT_CONFIG_VALUE_0", "X-Leak: 2")
	var leaked atomic.Value
	leaked.Store("")
	s.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if v := req.Header.Get("X-Leak"); v != "" {
				leaked.Store(v)
			}
			next.ServeHTTP(w, req)
		})
	}
	if err := r.push(s, remote.RefUpdate{Ref: branch, New: r.Base}); err != nil {
		t.Fatal(err)
	}
	if leaked.Load() != "" {
		t.Errorf("header %q of a foreign configuration was sent", leaked.Load())
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a command of a foreign configuration ran")
	}
	if s.requests.Load() == 0 {
		t.Error("the server was not reached")
	}
}

func TestReadUserConfigTakesSixKeys(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "none"))
	if got, err := remote.ReadUserConfig(t.Context()); err != nil || got != (remote.UserConfig{}) {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	repotest.Write(t, home, map[string]string{
		".gitconfig": "[user]\n\tname = Ada L\n[include]\n\tpath = more\n[http]\n\tproxy = http://proxy.test:1\n\textraHeader = X: y\n",
		"more":       "[user]\n\temail = ada@example.test\n[http]\n\tsslCAInfo = /ca\n\tversion = HTTP/1.1\n\tsslBackend = gnutls\n",
	})
	got, err := remote.ReadUserConfig(t.Context())
	want := remote.UserConfig{
		Name: "Ada L", Mail: "ada@example.test", Proxy: "http://proxy.test:1", CAInfo: "/ca", Backend: "gnutls", Version: "HTTP/1.1",
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTheProxyOfTheUserConfigIsUsed(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	var seen atomic.Value
	seen.Store("")
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		seen.Store(req.URL.Host)
		w.WriteHeader(http.StatusForbidden) // which is not tried again
	}))
	defer proxy.Close()
	_, err := remote.Repository{
		URL: "http://127.0.0.1:1/o/r.git", Config: remote.UserConfig{Proxy: proxy.URL},
	}.Refs(t.Context(), r.Store)
	if err == nil || !strings.Contains(seen.Load().(string), "127.0.0.1:1") {
		t.Errorf("proxy saw %q, err %v", seen.Load(), err)
	}
}
