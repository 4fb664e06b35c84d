package gitrepo_test

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
)

func TestFetchRemoteAndList(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	git(t, r.clone, "tag", "v1")
	git(t, r.clone, "push", "-q", s.repo, "main", "v1")
	h, err := gitrepo.OpenHost(t.Context(), filepath.Join(t.TempDir(), "h.git"))
	if err != nil {
		t.Fatal(err)
	}
	refs, err := h.RemoteRefs(t.Context(), s.remote(), "HEAD", "refs/heads/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(refs) != 2 || refs[0].Target != "refs/heads/main" || refs[1].Name != "refs/heads/main" || refs[1].ID != r.base {
		t.Errorf("refs are %+v", refs)
	}
	if err := h.FetchRemote(t.Context(), s.remote(), "+refs/heads/main:refs/remotes/origin/main"); err != nil {
		t.Fatal(err)
	}
	if got := must(h.Resolve(t.Context(), "refs/remotes/origin/main")); got != r.base {
		t.Errorf("fetched %s, want %s", got, r.base)
	}
	if got := must(h.Ref(t.Context(), "refs/tags/v1")); got != r.base {
		t.Errorf("the tag did not come along: %q", got)
	}
}

// What a server breaks off is read again; what it refuses, and an address where nobody
// listens, is not.
func TestReadsAreTriedAgain(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	git(t, r.clone, "push", "-q", s.repo, "main")
	r.host.SetReadPauses(time.Millisecond, 3)
	const into = "+refs/heads/main:refs/remotes/origin/main"
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		tries  int32
		kind   gitrepo.PushKind // empty: it ends well
	}{
		"a moment": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", http.StatusBadGateway) }, 2, ""},
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<!DOCTYPE html>\n<html>wait</html>\n"))
		}, 2, ""},
		"cut off":    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 2, ""},
		"for longer": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", http.StatusBadGateway) }, 9, gitrepo.PushNetwork},
		"refused":    {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }, 9, gitrepo.PushDenied},
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
			err := r.host.FetchRemote(t.Context(), s.remote(), into)
			var read *gitrepo.RemoteError
			switch {
			case tc.kind == "" && err != nil:
				t.Errorf("fetch: %v", err)
			case tc.kind != "" && (!errors.As(err, &read) || read.Kind != tc.kind || strings.Contains(read.Text, "\n") || strings.Contains(read.Text, "fatal:")):
				t.Errorf("error %q", err)
			case tc.kind == gitrepo.PushDenied && seen.Load() != 1:
				t.Errorf("a refusal was asked for %d times", seen.Load())
			}
		})
	}
	s.Close()
	began := time.Now()
	r.host.SetReadPauses(time.Hour, 1)
	if _, err := r.host.RemoteRefs(t.Context(), s.remote()); err == nil || time.Since(began) > time.Minute {
		t.Errorf("nobody there: %v after %s", err, time.Since(began))
	}
}

func TestSecurity9OtherTransportsAreRefused(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	marker := filepath.Join(t.TempDir(), "marker")
	var reached atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer proxy.Close()
	for _, url := range []string{
		"file://" + r.clone, "file://localhost" + r.clone, "ftp://example.test/o/r.git", r.clone, "ext::sh -c 'touch " + marker + "'", "http://example.test/o/r.git",
		"ssh://example.test/o/r.git", "git@example.test:o/r.git", "https://user:pw@example.test/o/r.git", "--upload-pack=touch",
	} {
		remote := gitrepo.Remote{URL: url, Config: gitrepo.UserConfig{Proxy: proxy.URL}}
		if _, err := r.host.RemoteRefs(t.Context(), remote); err == nil {
			t.Errorf("list of %q succeeds", url)
		}
		if err := r.host.FetchRemote(t.Context(), remote, "refs/heads/main:refs/heads/x"); err == nil {
			t.Errorf("fetch of %q succeeds", url)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a transport ran a command")
	}
	if reached.Load() {
		t.Error("a host was reached without encryption")
	}
}

// What looks at addresses is not all that stands in the way: git itself knows the one
// transport of a call, whatever a configuration says.
func TestSecurity9GitSpeaksTheOneTransportOfACall(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	marker := filepath.Join(t.TempDir(), "marker")
	if out, err := r.host.ListOver(t.Context(), "file", "file://"+r.clone); err != nil || !strings.Contains(string(out), r.base) {
		t.Fatalf("the transport that is allowed: %q, %v", out, err)
	}
	for _, key := range []string{"protocol.allow", "protocol.ext.allow", "protocol.file.allow", "protocol.http.allow"} {
		git(t, r.host.Dir(), "config", key, "always")
	}
	for _, c := range [][2]string{
		{"", "file://" + r.clone}, {"https", "file://" + r.clone}, {"https", r.clone}, {"file", "ext::touch " + marker},
		{"https", "ext::touch " + marker}, {"file", "http://127.0.0.1:1/o/r.git"}, {"https", "http://127.0.0.1:1/o/r.git"},
	} {
		if _, err := r.host.ListOver(t.Context(), c[0], c[1]); err == nil || !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("with %q alone, %s: %v", c[0], c[1], err)
		}
	}
	absent(t, marker)
}

// TestSecurity9LazyFetchOfThePersonsCloneIsRefused fetches from a partial clone whose
// missing objects would come by a transport of its own choice.
func TestSecurity9LazyFetchOfThePersonsCloneIsRefused(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n", "b": "some content\n"})
	marker := filepath.Join(t.TempDir(), "marker")
	blob := git(t, r.clone, "rev-parse", "HEAD:b")
	remove(t, r.clone, filepath.Join(".git", "objects", blob[:2], blob[2:]))
	for key, value := range map[string]string{
		"core.repositoryFormatVersion": "1", "extensions.partialClone": "evil", "remote.evil.promisor": "true",
		"remote.evil.url": "ext::touch " + marker, "protocol.ext.allow": "always", "remote.evil.partialCloneFilter": "blob:none",
	} {
		git(t, r.clone, "config", key, value)
	}
	h, err := gitrepo.OpenHost(t.Context(), filepath.Join(t.TempDir(), "h.git"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.FetchClone(t.Context(), r.clone, "HEAD"); err == nil {
		t.Error("a partial clone gave a whole history")
	}
	absent(t, marker)
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
	_, err := r.host.RemoteRefs(t.Context(), gitrepo.Remote{
		URL: front.URL + "/o/r.git",
		Secret: func(context.Context) (string, error) {
			leaked.Store(true)
			return serverPassword, nil
		},
	})
	if err == nil || leaked.Load() {
		t.Fatalf("redirected to another host: err %v, password given %v", err, leaked.Load())
	}
}

func TestAFailingSecretIsNamed(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	expired := errors.New("token expired")
	remote := s.remote()
	remote.Secret = func(context.Context) (string, error) { return "", expired }
	if _, err := r.host.RemoteRefs(t.Context(), remote); !errors.Is(err, expired) {
		t.Fatalf("got %v", err)
	}
}

// TestSecurity36 gives the person's configuration and the host repository's
// surroundings settings that must not be obeyed.
func TestSecurity36NoOtherConfigurationIsRead(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	home := t.TempDir()
	marker := filepath.Join(home, "marker")
	write(t, home, map[string]string{
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
	if err := r.push(s, gitrepo.RefUpdate{Ref: branch, New: r.base}); err != nil {
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
	if got, err := gitrepo.ReadUserConfig(t.Context()); err != nil || got != (gitrepo.UserConfig{}) {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	write(t, home, map[string]string{
		".gitconfig": "[user]\n\tname = Ada L\n[include]\n\tpath = more\n[http]\n\tproxy = http://proxy.test:1\n\textraHeader = X: y\n",
		"more":       "[user]\n\temail = ada@example.test\n[http]\n\tsslCAInfo = /ca\n\tversion = HTTP/1.1\n\tsslBackend = gnutls\n",
	})
	got, err := gitrepo.ReadUserConfig(t.Context())
	want := gitrepo.UserConfig{
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
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()
	_, err := r.host.RemoteRefs(t.Context(), gitrepo.Remote{
		URL: "http://127.0.0.1:1/o/r.git", Config: gitrepo.UserConfig{Proxy: proxy.URL},
	})
	if err == nil || !strings.Contains(seen.Load().(string), "127.0.0.1:1") {
		t.Errorf("proxy saw %q, err %v", seen.Load(), err)
	}
}
