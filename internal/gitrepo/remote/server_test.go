package remote_test

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/testexit"
)

// TestMain lets the test binary answer as the askpass program, and be other programs.
func TestMain(m *testing.M) {
	if asked, code := remote.AnswerAskpass(os.Args[1:], os.Stdout); asked {
		testexit.Exit(code)
	}
	if len(os.Args) > 1 {
		if stand, ok := standIns[os.Args[1]]; ok {
			testexit.Exit(stand(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

const serverPassword = "correct-horse-battery"

// server is a git server over HTTP with a password.
type server struct {
	*httptest.Server
	repo     string // bare, at /o/r.git
	asked    atomic.Int32
	wrap     func(next http.Handler) http.Handler
	requests atomic.Int32
}

func newServer(t *testing.T) *server {
	t.Helper()
	root := t.TempDir()
	s := &server{repo: filepath.Join(root, "o", "r.git")}
	if err := os.MkdirAll(s.repo, 0o755); err != nil {
		t.Fatal(err)
	}
	repotest.Git(t, s.repo, "init", "-q", "--bare", "-b", "main")
	repotest.Git(t, s.repo, "config", "http.receivepack", "true")
	execPath, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path:   filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "PATH=" + os.Getenv("PATH")},
		Stderr: testWriter{t},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		user, password, _ := r.BasicAuth()
		if user != "x-access-token" || password != serverPassword {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var next http.Handler = backend
		if s.wrap != nil {
			next = s.wrap(next)
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("server: %s", p)
	return len(p), nil
}

// hook makes the server refuse every push with a text.
func (s *server) hook(t *testing.T, script string) {
	t.Helper()
	p := filepath.Join(s.repo, "hooks", "pre-receive")
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}
