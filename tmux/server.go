package tmux

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxSocketPath keeps below the length of sun_path (104 on macOS, 108 on Linux) with
// room for the lock file tmux makes beside the socket.
const maxSocketPath = 100

// defaultTimeout bounds one tmux command. A healthy server answers in milliseconds.
const defaultTimeout = 10 * time.Second

// serverConf is all the configuration the server reads. Nothing in it runs a command,
// and the status line shows no text that a program in a pane can set.
const serverConf = `set -s exit-empty off
set -s exit-unattached off
set -s escape-time 20
set -s set-clipboard off
set -g remain-on-exit on
set -g default-terminal screen-256color
set -g history-limit 50000
set -g destroy-unattached off
set -g default-size 220x50
set -g update-environment ""
set -g allow-rename off
set -g automatic-rename off
set -g set-titles off
set -g visual-bell off
set -g bell-action none
set -g monitor-activity off
set -g status-left "[#{session_name}] "
set -g status-left-length 60
set -g status-right ""
`

// Options say which server, and what Panes reads from it.
type Options struct {
	Socket  string        // absolute path, below 100 bytes
	Binary  string        // tmux itself; "" means the one in PATH
	Tags    []string      // the pane options (@name) that Panes fills in
	Timeout time.Duration // limit of one command; 0 means 10 s
}

// Server is one tmux server, running or not. Its methods may be called side by side.
type Server struct {
	binary  string
	socket  string
	conf    string
	tags    []string
	timeout time.Duration

	mu    sync.Mutex
	locks map[string]*paneLock // by pane id: one Submit at a time
	known os.FileInfo          // the socket whose listener was found to be of this user
}

var (
	// ErrNoServer means that nothing listens on the socket.
	ErrNoServer = errors.New("no tmux server")
	// ErrNoAnswer means that a server may exist but did not answer within the limit.
	ErrNoAnswer = errors.New("tmux server does not answer")
	// ErrNoPane means that the server answered and has no such pane.
	ErrNoPane = errors.New("no such pane")
)

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	paneForm   = regexp.MustCompile(`^%[0-9]+$`)
	optionForm = regexp.MustCompile(`^@[a-z0-9_]+$`)
)

// New checks the options and touches nothing. The server starts with the first Ensure.
func New(o Options) (*Server, error) {
	if !filepath.IsAbs(o.Socket) {
		return nil, fmt.Errorf("tmux socket %q: want an absolute path", o.Socket)
	}
	if len(o.Socket) >= maxSocketPath {
		return nil, fmt.Errorf("tmux socket %s: path has %d bytes, at most %d work", o.Socket, len(o.Socket), maxSocketPath-1)
	}
	for _, tag := range o.Tags {
		if !optionForm.MatchString(tag) {
			return nil, fmt.Errorf("pane option %q: want @name in lower case", tag)
		}
	}
	s := &Server{
		binary:  o.Binary,
		socket:  o.Socket,
		conf:    strings.TrimSuffix(o.Socket, ".sock") + ".conf",
		tags:    append([]string(nil), o.Tags...),
		timeout: o.Timeout,
		locks:   map[string]*paneLock{},
	}
	if s.binary == "" {
		s.binary = "tmux"
	}
	if s.timeout <= 0 {
		s.timeout = defaultTimeout
	}
	return s, nil
}

// Socket returns the path of the server's socket.
func (s *Server) Socket() string { return s.socket }

// Started returns when the running server started, to the second. A time that differs
// from one seen before means that the server was replaced and its panes are gone.
func (s *Server) Started(ctx context.Context) (time.Time, error) {
	out, err := s.run(ctx, nil, "display-message", "-p", "#{start_time}")
	if err != nil {
		return time.Time{}, fmt.Errorf("ask for the server's start: %w", err)
	}
	sec, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the server's start time: %w", err)
	}
	return time.Unix(sec, 0), nil
}

// PID returns the process of the running server.
func (s *Server) PID(ctx context.Context) (int, error) {
	out, err := s.run(ctx, nil, "display-message", "-p", "#{pid}")
	if err != nil {
		return 0, fmt.Errorf("ask for the server's process: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fmt.Errorf("read the server's process: %w", err)
	}
	return pid, nil
}

// KillServer ends the server with all its panes and removes the socket and the
// configuration. It is safe to call when none runs. One that does not answer is killed. The
// programs in the panes get SIGHUP only; those that must end are to be stopped before.
func (s *Server) KillServer(ctx context.Context) error {
	_, err := s.run(ctx, nil, "kill-server")
	if errors.Is(err, ErrNoAnswer) {
		ctx = context.WithoutCancel(ctx) // the limit may have passed with the question
		err = s.killDeaf()
	}
	if err != nil && !errors.Is(err, ErrNoServer) {
		return fmt.Errorf("kill tmux server: %w", err)
	}
	ended := func() (bool, error) { return !s.listening(), nil }
	if err := poll(ctx, s.timeout, ended); err != nil {
		return fmt.Errorf("wait for the tmux server to end: %w", err)
	}
	for _, path := range []string{s.socket, s.conf} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove after the tmux server: %w", err)
		}
	}
	return nil
}

// killDeaf kills the process that listens on the socket. The kernel knows which one that is,
// whether it answers or not.
func (s *Server) killDeaf() error {
	conn, err := net.DialTimeout("unix", s.socket, s.timeout)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return ErrNoServer
	}
	if err != nil {
		return errors.Join(ErrNoAnswer, err)
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return errors.Join(ErrNoAnswer, err)
	}
	failed := raw.Control(func(fd uintptr) {
		pid, own, cause := peer(int(fd))
		if cause == nil && own && pid > 1 && pid != os.Getpid() {
			cause = syscall.Kill(pid, syscall.SIGKILL)
		} else if cause == nil {
			cause = ErrNoAnswer
		}
		err = cause
	})
	return errors.Join(failed, err)
}

// AttachArgs returns the argument vector that attaches a terminal to the session, with
// the pane in view when one is given. The caller runs it with its own terminal and
// without TMUX in the environment.
func (s *Server) AttachArgs(session, pane string) ([]string, error) {
	target, err := sessionTarget(session)
	if err != nil {
		return nil, err
	}
	if pane != "" {
		if !paneForm.MatchString(pane) {
			return nil, fmt.Errorf("pane %q: want an id like %%3", pane)
		}
		target = pane
	}
	return append(s.argv(), "attach-session", "-t", target), nil
}

// prepare makes the socket's directory and the configuration the server will read.
func (s *Server) prepare() error {
	dir := filepath.Dir(s.socket)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make socket directory: %w", err)
	}
	if err := checkPrivate(dir); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".conf-*")
	if err != nil {
		return fmt.Errorf("write tmux configuration: %w", err)
	}
	_, err = tmp.WriteString(serverConf)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), s.conf)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write tmux configuration: %w", err), os.Remove(tmp.Name()))
	}
	return nil
}

// sessionTarget names a session exactly.
func sessionTarget(session string) (string, error) {
	if !nameForm.MatchString(session) {
		return "", fmt.Errorf("tmux session name %q: only letters, digits, _ and - work", session)
	}
	// A bare name matches by prefix: "issue-1" would find "issue-12".
	return "=" + session, nil
}

// paneLock is held by one Submit at a time; waiting counts who has or wants it.
type paneLock struct {
	sync.Mutex
	waiting int
}

// lockPane keeps two Submit calls for one pane apart. unlock must be called.
func (s *Server) lockPane(pane string) (unlock func()) {
	s.mu.Lock()
	l := s.locks[pane]
	if l == nil {
		l = &paneLock{}
		s.locks[pane] = l
	}
	l.waiting++
	s.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.waiting--; l.waiting == 0 {
			delete(s.locks, pane) // panes come and go for as long as the server lives
		}
	}
}

// checkPrivate refuses a socket directory that another user could write to or own.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("check socket directory: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ownedByUs(info) {
		return fmt.Errorf("socket directory %s: want a directory of our own with mode 0700", dir)
	}
	return nil
}
