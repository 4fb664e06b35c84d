package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/internal/testexit"
	"golang.org/x/sys/unix"
)

// standIns are further programs that the test binary can be, by its first argument: one of a
// user without rights, even where that is root, one that calls a server, and one that looks for
// a word in what that one started.
var standIns = map[string]func(args []string) int{"plain": runPlain, "call": runCall, "look": runLook}

func runPlain(args []string) int {
	runtime.LockOSThread()
	for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) == nil; c++ {
		continue
	}
	own, err := os.Executable()
	if err == nil {
		err = syscall.Exec(own, append([]string{own}, args...), os.Environ())
	}
	return failed(err)
}

func failed(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// A call is one of a closed process, as a host is. What it is comes by standard input.
type call struct{ Kind, URL, Store, Password, Commit string }

func runCall([]string) int {
	var c call
	if err := shield.Close(); err != nil {
		return failed(err)
	}
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return failed(err)
	}
	ctx := context.Background()
	store, err := gitrepo.Open(ctx, c.Store)
	if err != nil {
		return failed(err)
	}
	far := remote.Repository{URL: c.URL, Secret: func(context.Context) (string, error) { return c.Password, nil }}
	switch c.Kind {
	case "list":
		_, err = far.Refs(ctx, store)
	case "fetch":
		err = far.Fetch(ctx, store, "+refs/heads/main:refs/remotes/origin/main")
	case "push":
		_, err = far.Push(ctx, store, remote.PushSpec{Updates: []remote.RefUpdate{{Ref: branch, New: c.Commit}}})
	}
	return failed(err)
}

// A look is what a process can read of those that another one started.
type look struct {
	Tree   int
	Word   string
	Found  []string // where the word is
	Open   []string // commands whose memory could be read
	Closed []string
}

func runLook([]string) int {
	var l look
	if err := json.NewDecoder(os.Stdin).Decode(&l); err != nil {
		return failed(err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return failed(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && shield.Descends(pid, l.Tree) {
			l.process("/proc/" + e.Name() + "/")
		}
	}
	return failed(json.NewEncoder(os.Stdout).Encode(l))
}

func (l *look) process(at string) {
	command, _ := os.ReadFile(at + "cmdline")
	who := strings.ReplaceAll(string(command), "\x00", " ")
	l.search("the arguments of "+who, command)
	environ, _ := os.ReadFile(at + "environ")
	l.search("the environment of "+who, environ)
	fds, _ := os.ReadDir(at + "fd")
	for _, fd := range fds {
		if info, err := os.Stat(at + "fd/" + fd.Name()); err == nil && info.Mode().IsRegular() {
			data, _ := os.ReadFile(at + "fd/" + fd.Name())
			l.search("a file of "+who, data)
		}
	}
	maps, errMaps := os.ReadFile(at + "maps")
	mem, err := os.Open(at + "mem")
	if err != nil || errMaps != nil {
		l.Closed = append(l.Closed, who)
		return
	}
	defer mem.Close()
	l.Open = append(l.Open, who)
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); n < 3 || mode[0] != 'r' || to-from > 256<<20 {
			continue
		}
		data := make([]byte, to-from)
		n, _ := io.ReadFull(io.NewSectionReader(mem, from, to-from), data)
		l.search("the memory of "+who, data[:n])
	}
}

func (l *look) search(where string, data []byte) {
	if bytes.Contains(data, []byte(l.Word)) {
		l.Found = append(l.Found, where)
	}
}

// program is the test binary as another program, without rights.
type program struct {
	pid      int
	out, err bytes.Buffer
	ended    chan struct{}
	failure  error
}

func (p *program) wait() error { <-p.ended; return p.failure }

func standIn(t *testing.T, name string, request any, env ...string) *program {
	t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{ended: make(chan struct{})}
	cmd := exec.Command(own, "plain", name)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), testexit.Env}, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &p.out, &p.err
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.pid = cmd.Process.Pid
	go func() {
		defer close(p.ended)
		if err := cmd.Wait(); err != nil {
			p.failure = fmt.Errorf("%w: %s", err, p.err.String())
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-p.ended })
	return p
}

// held keeps a request until it is let go.
type held struct{ met, free chan struct{} }

func newHeld() held { return held{make(chan struct{}, 1), make(chan struct{})} }

func (h held) wait(r *http.Request) {
	select {
	case h.met <- struct{}{}:
	default:
	}
	select {
	case <-h.free:
	case <-r.Context().Done():
	}
}

// is waits until a request of p is held.
func (h held) is(t *testing.T, p *program) {
	t.Helper()
	select {
	case <-h.met:
	case <-p.ended:
		t.Fatalf("the program ended before its request: %v", p.failure)
	}
}

// TestSecurity6GitsMemoryIsClosed looks into git while the server lets it wait for its answer.
func TestSecurity6GitsMemoryIsClosed(t *testing.T) {
	core, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ kind, held, path string }{
		"list":  {"list", "/info/refs", os.Getenv("PATH")},
		"fetch": {"fetch", "/git-upload-pack", os.Getenv("PATH")},
		"push":  {"push", "/git-receive-pack", os.Getenv("PATH")},
		// A git that has its helpers beside itself takes no other, and works as ever.
		"open": {"fetch", "/git-upload-pack", strings.TrimSpace(string(core)) + ":" + os.Getenv("PATH")},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
			repotest.Git(t, r.Clone, "push", "-q", s.repo, "main")
			h := newHeld()
			s.wrap = func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if strings.HasSuffix(req.URL.Path, tc.held) {
						h.wait(req)
					}
					next.ServeHTTP(w, req)
				})
			}
			p := standIn(t, "call", call{tc.kind, s.URL + "/o/r.git", r.Store.Dir(), serverPassword, r.Base}, "PATH="+tc.path)
			h.is(t, p)
			l := looked(t, p.pid)
			close(h.free)
			if err := p.wait(); err != nil {
				t.Errorf("the call: %v", err)
			}
			if name == "open" {
				if len(l.Found) == 0 {
					t.Errorf("nothing is found where nothing is closed: %+v", l)
				}
				return
			}
			if len(l.Found) > 0 {
				t.Errorf("the password is in %q", l.Found)
			}
			speaks := func(who string) bool { return strings.Contains(who, s.URL[len("http://"):]) }
			if !slices.ContainsFunc(l.Closed, speaks) || !slices.ContainsFunc(l.Open, speaks) {
				t.Errorf("not looked at git and its helper: %+v", l)
			}
		})
	}
}

// looked is what a process without rights sees of those below another one.
func looked(t *testing.T, tree int) look {
	t.Helper()
	p := standIn(t, "look", look{Tree: tree, Word: serverPassword})
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	var l look
	if err := json.Unmarshal(p.out.Bytes(), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestSecurity6AStrangerGetsNoPassword asks at the socket before git does.
func TestSecurity6AStrangerGetsNoPassword(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	inner, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	h, proxy := newHeld(), httputil.NewSingleHostReverseProxy(inner)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, _, ok := req.BasicAuth(); !ok {
			h.wait(req)
		}
		proxy.ServeHTTP(w, req)
	}))
	defer front.Close()
	tmp := t.TempDir()
	p := standIn(t, "call", call{Kind: "list", URL: front.URL + "/o/r.git", Store: r.Store.Dir(), Password: serverPassword}, "TMPDIR="+tmp)
	h.is(t, p)
	sockets, err := filepath.Glob(filepath.Join(tmp, "amx-*", "s"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets %q, %v", sockets, err)
	}
	conn, err := net.Dial("unix", sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "Password for 'http://x-access-token@%s': \n", front.URL[len("http://"):])
	if answer, _ := io.ReadAll(conn); len(answer) > 0 {
		t.Errorf("a stranger got %q", answer)
	}
	close(h.free)
	if err := p.wait(); err != nil {
		t.Errorf("and git nothing: %v", err)
	}
}

// TestSecurity6AnOpenedHelperGetsNoPassword has a git that makes the program it was given
// readable, as any process of the user can that finds it.
func TestSecurity6AnOpenedHelperGetsNoPassword(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	var entered atomic.Bool
	s.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { entered.Store(true); next.ServeHTTP(w, req) })
	}
	own, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n[ ! -e /proc/self/fd/3 ] || /bin/chmod 755 /proc/self/fd/3\nexec "+own+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := standIn(t, "call", call{Kind: "list", URL: s.URL + "/o/r.git", Store: r.Store.Dir(), Password: serverPassword}, "PATH="+dir+":"+os.Getenv("PATH"))
	if err := p.wait(); err == nil || entered.Load() {
		t.Errorf("%v, and the server was given the password: %v", err, entered.Load())
	}
}
