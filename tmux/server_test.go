package tmux_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/tmux"
)

func TestNewRefusesSocketsItCannotUse(t *testing.T) {
	for name, socket := range map[string]string{
		"none":     "",
		"relative": "default",
		"too long": "/tmp/" + strings.Repeat("x", 95),
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := tmux.New(tmux.Options{Socket: socket}); err == nil {
				t.Errorf("New accepted %q: %v", socket, s)
			}
		})
	}
	if _, err := tmux.New(tmux.Options{Socket: "/tmp/" + strings.Repeat("x", 94)}); err != nil {
		t.Errorf("99 bytes: %v", err)
	}
}

func TestEnsureRefusesSocketDirectoryOpenToOthers(t *testing.T) {
	s := newServer(t)
	if err := os.Chmod(filepath.Dir(s.Socket()), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(s.Socket()), 0o700) })
	if _, err := s.Ensure(t.Context(), control(t)); !errors.Is(err, tmux.ErrStranger) {
		t.Errorf("a directory others can enter: %v", err)
	}
	if _, err := os.Lstat(s.Socket()); err == nil {
		t.Error("a server was started")
	}
}

func TestEnsureIsIdempotentAndRepairs(t *testing.T) {
	s, spec := newServer(t), control(t)
	ensure := func() []tmux.Pane {
		t.Helper()
		panes, err := s.Ensure(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		listed, err := s.Panes(t.Context())
		if err != nil || len(listed) != len(panes) || listed[0].ID != panes[0].ID || listed[0].PID != panes[0].PID {
			t.Fatalf("Ensure returned %+v, there are %+v, %v", panes, listed, err)
		}
		if started, err := s.Started(t.Context()); err != nil || !panes[0].Started.Equal(started) {
			t.Errorf("a pane says that the server started %v, the server %v, %v", panes[0].Started, started, err)
		}
		if len(panes) != 1 || panes[0].Dead || panes[0].Options[tag] != "control" {
			t.Fatalf("panes after Ensure: %+v", panes)
		}
		return panes
	}
	first := ensure()
	if second := ensure(); second[0].ID != first[0].ID || second[0].PID != first[0].PID {
		t.Errorf("second Ensure replaced the pane: %+v, was %+v", second[0], first[0])
	}
	kill(t, first[0].PID)
	dies(t, s, first[0].ID)
	if second := ensure(); second[0].ID != first[0].ID || second[0].PID == first[0].PID {
		t.Errorf("Ensure over a dead pane: %+v, was %+v", second[0], first[0])
	}
	if err := s.KillPane(t.Context(), first[0].ID); err != nil {
		t.Fatal(err)
	}
	ensure()
}

func TestAProgramForPeopleRunsWhileATerminalIsAttached(t *testing.T) {
	s, spec := newServer(t), control(t)
	dir := spec.Window.Dir
	spec.OnAttach = true
	spec.Window.Command = []string{"/bin/sh", "-c", "if test -e fail; then echo >>runs; exit 3; fi; test ! -e stay || { echo >>runs; exec sleep 600; }; echo >>runs"}
	runs := func() int {
		data, _ := os.ReadFile(filepath.Join(dir, "runs"))
		return len(data)
	}
	file := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	panes, err := s.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	pane := panes[0].ID
	dies(t, s, pane)
	if _, err := s.Ensure(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Pane(t.Context(), pane); err != nil || !p.Dead || runs() != 1 {
		t.Fatalf("no client is attached: %+v, %v, %d runs", p, err, runs())
	}

	file("stay")
	argv, err := s.AttachArgs("work", "")
	if err != nil {
		t.Fatal(err)
	}
	screen := startServer(t)
	window(t, screen, append([]string{"/usr/bin/env", "-u", "TMUX"}, argv...)...)
	alive := func(n int) tmux.Pane {
		t.Helper()
		var p tmux.Pane
		eventually(t, "it runs", func() bool {
			before := runs() // of a pane read before the count, the process may be an earlier one
			p, err = s.Pane(t.Context(), pane)
			return err == nil && !p.Dead && before == n
		})
		return p
	}
	kill(t, alive(2).PID)
	third := alive(3)
	file("fail")
	kill(t, third.PID)
	eventually(t, "a program that fails is left alone", func() bool {
		p, err := s.Pane(t.Context(), pane)
		return err == nil && p.Dead && p.ExitStatus == 3 && runs() > 3
	})
}

func TestEnsureSideBySideMakesOneSession(t *testing.T) {
	s, spec := newServer(t), control(t)
	errs := make(chan error)
	for range 6 {
		go func() { _, err := s.Ensure(t.Context(), spec); errs <- err }()
	}
	for range 6 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if out, err := raw(t, s, "list-sessions", "-F", "#{session_name}"); err != nil || out != "work" {
		t.Errorf("sessions %q, %v", out, err)
	}
}

func TestEnsureAddsTheWindowToASessionOfOtherWindows(t *testing.T) {
	s, spec := startServer(t), control(t)
	spec.Window.Options = map[string]string{tag: "other"}
	for range 2 {
		if _, err := s.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	panes, err := s.Panes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(panes) != 2 {
		t.Errorf("want the two windows, got %+v", panes)
	}
}

func TestNoServerIsToldApartFromNoAnswer(t *testing.T) {
	s := newServer(t)
	if _, err := s.Panes(t.Context()); !errors.Is(err, tmux.ErrNoServer) {
		t.Errorf("never started: %v", err)
	}
	if _, err := s.Ensure(t.Context(), control(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.KillServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Started(t.Context()); !errors.Is(err, tmux.ErrNoServer) {
		t.Errorf("killed: %v", err)
	}

	deaf := filepath.Join(filepath.Dir(s.Socket()), "deaf.sock")
	l, err := net.Listen("unix", deaf)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := tmux.New(tmux.Options{Socket: deaf, Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Panes(t.Context()); !errors.Is(err, tmux.ErrNoAnswer) {
		t.Errorf("a server that says nothing: %v", err)
	}

	missing, err := tmux.New(tmux.Options{Socket: deaf, Binary: "/nonexistent/tmux"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Panes(t.Context()); err == nil || errors.Is(err, tmux.ErrNoServer) || errors.Is(err, tmux.ErrNoAnswer) {
		t.Errorf("tmux not installed: %v", err)
	}
}

// A server that was stopped, or spins, would outlive its session with all its panes.
func TestKillServerEndsOneThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	if _, err := s.Ensure(t.Context(), control(t)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("tmux", "-S", s.Socket(), "display-message", "-p", "#{pid}").Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	impatient, err := tmux.New(tmux.Options{Socket: s.Socket(), Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := impatient.KillServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(s.Socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	eventually(t, "the server ends", func() bool { return syscall.Kill(pid, 0) != nil })
}

func TestServerLivesOnWithoutSessions(t *testing.T) {
	s := startServer(t)
	before, err := s.Started(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	panes, err := s.Panes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.KillPane(t.Context(), panes[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := s.KillPane(t.Context(), panes[0].ID); err != nil {
		t.Errorf("killing a pane twice: %v", err)
	}
	if panes, err := s.Panes(t.Context()); err != nil || len(panes) != 0 {
		t.Errorf("want no panes, got %v, %v", panes, err)
	}
	after, err := s.Started(t.Context())
	if err != nil || !after.Equal(before) {
		t.Errorf("server started %v, then %v, %v", before, after, err)
	}
}

func TestPanesInheritNothingOfTheCallersEnvironment(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "must-not-be-seen")
	t.Setenv("HOME", "/nonexistent/home")
	s := startServer(t)
	p, err := s.NewWindow(t.Context(), tmux.WindowSpec{
		Session: "work", Name: "w", Dir: t.TempDir(), Env: []string{"GIVEN=a b;"},
		Command: []string{"/bin/sh", "-c", "/usr/bin/env; echo END; exec sleep 600"},
	})
	if err != nil {
		t.Fatal(err)
	}
	shows(t, s, p.ID, "END")
	out, err := s.Capture(t.Context(), p.ID, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"GITHUB_TOKEN", "/nonexistent/home"} {
		if strings.Contains(out, secret) {
			t.Errorf("%s reached the pane:\n%s", secret, out)
		}
	}
	if !strings.Contains(out, "GIVEN=a b;\n") {
		t.Errorf("the given variable is missing:\n%s", out)
	}
}

func TestAttachTakesTheExactSession(t *testing.T) {
	s := startServer(t)
	args, err := s.AttachArgs("work", "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(args, "=work") || !slices.Contains(args, s.Socket()) {
		t.Errorf("attach arguments: %q", args)
	}
	for _, bad := range []string{"", "wo:rk", "wo.rk", "=work"} {
		if args, err := s.AttachArgs(bad, ""); err == nil {
			t.Errorf("session %q accepted: %q", bad, args)
		}
	}
	// A terminal to attach: script(1) gives the client one.
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script(1) is not installed")
	}
	attach := exec.CommandContext(t.Context(), script, "-qec", strings.Join(args, " "), os.DevNull)
	attach.Env = []string{"TERM=xterm", "PATH=" + os.Getenv("PATH")}
	if err := attach.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a client is attached", func() bool {
		out, _ := raw(t, s, "list-clients", "-F", "#{session_name}")
		return out == "work"
	})
	if out, err := raw(t, s, "detach-client", "-s", "work"); err != nil {
		t.Fatalf("detach: %s", out)
	}
	if err := attach.Wait(); err != nil {
		t.Errorf("attach: %v", err)
	}
}
