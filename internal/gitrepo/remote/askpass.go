package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/shield"
)

const (
	// askpassSocket tells the program that git starts as GIT_ASKPASS where to ask.
	askpassSocket = "AGENTMUX_ASKPASS"
	// askpassLimit bounds one conversation over the socket.
	askpassLimit = 30 * time.Second
	maxPrompt    = 8 << 10
)

// AnswerAskpass must be the first call of main: if git started this process to ask
// for a password, it prints the answer to stdout and returns true with the exit code.
func AnswerAskpass(args []string, stdout io.Writer) (asked bool, code int) {
	socket := os.Getenv(askpassSocket)
	if socket == "" {
		return false, 0
	}
	// The password is in this process, too.
	if err := shield.Close(); err != nil {
		return true, 1
	}
	if err := fetchPassword(socket, strings.Join(args, " "), stdout); err != nil {
		return true, 1
	}
	return true, 0
}

func fetchPassword(socket, prompt string, stdout io.Writer) error {
	conn, err := net.DialTimeout("unix", socket, askpassLimit)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(askpassLimit)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "%s\n", prompt); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	if len(answer) == 0 {
		return errors.New("no answer")
	}
	_, err = stdout.Write(answer)
	return err
}

// askpass gives the password once over a unix socket in a private directory, then closes. Who
// asks was started below this process: another process of the user may find the socket.
type askpass struct {
	program string
	prompt  string // the only one that the password answers
	closed  bool   // who asks, and for whom, must be closed to others
	secret  func(context.Context) (string, error)

	// After a redirect, as from the old name of a repository, git has forgotten the user
	// and asks first who it is.
	user, userPrompt string

	dir      string
	listener shield.Listener
	done     sync.WaitGroup
	err      error // set by serve, read after done
}

// openAskpass listens for the password prompt for exactly this user and server: a
// redirect to another server gets no answer.
func openAskpass(ctx context.Context, r Repository, u *url.URL, closed bool) (*askpass, error) {
	program := r.Askpass
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find askpass program: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", "amx-")
	if err != nil {
		return nil, fmt.Errorf("askpass: %w", err)
	}
	a := &askpass{
		program: program, dir: dir, secret: r.Secret, closed: closed,
		prompt: fmt.Sprintf("Password for '%s://%s@%s': ", u.Scheme, u.User.Username(), u.Host),
		user:   u.User.Username(), userPrompt: fmt.Sprintf("Username for '%s://%s': ", u.Scheme, u.Host),
	}
	if a.listener.UnixListener, err = net.ListenUnix("unix", &net.UnixAddr{Name: a.socket(), Net: "unix"}); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("askpass: %w", err)
	}
	a.done.Go(func() { a.serve(ctx) })
	return a, nil
}

func (a *askpass) socket() string { return filepath.Join(a.dir, "s") }

func (a *askpass) environment() []string {
	return []string{"GIT_ASKPASS=" + a.program, askpassSocket + "=" + a.socket()}
}

// below reports whether this process, or one that it started, started a process.
func below(pid int) bool { return shield.Descends(pid, os.Getpid()) }

// serve takes one connection, and one more if the first only asked for the user.
func (a *askpass) serve(ctx context.Context) {
	defer func() { _ = a.listener.Close() }()
	for _, prompt := range []string{a.userPrompt, a.prompt} {
		conn, pid, err := a.listener.AcceptFrom(below)
		if err != nil {
			return
		}
		asked := a.answer(ctx, conn, pid, prompt)
		conn.Close()
		if asked != a.userPrompt {
			return
		}
	}
}

// answer holds one conversation and returns what was asked. The user is told where that is
// expected; the listener is closed before the secret is fetched.
func (a *askpass) answer(ctx context.Context, conn net.Conn, pid int, expected string) string {
	_ = conn.SetDeadline(time.Now().Add(askpassLimit))
	line := make([]byte, 0, len(a.prompt)+1)
	for len(line) < maxPrompt && !strings.HasSuffix(string(line), "\n") {
		var b [1]byte
		if _, err := conn.Read(b[:]); err != nil {
			return ""
		}
		line = append(line, b[0])
	}
	asked := strings.TrimSuffix(string(line), "\n")
	if asked == a.userPrompt && expected == a.userPrompt {
		_, _ = io.WriteString(conn, a.user+"\n")
		return asked
	}
	_ = a.listener.Close()
	if asked != a.prompt {
		a.err = errors.New("askpass: git asked for another server's password")
		return ""
	}
	if a.closed && (!shield.Closed(pid) || !shield.Closed(shield.Parent(pid))) {
		a.err = errors.New("askpass: other processes could read the password from git's memory")
		return ""
	}
	secret, err := a.secret(ctx)
	if err != nil {
		a.err = fmt.Errorf("askpass: %w", err)
		return ""
	}
	_, _ = io.WriteString(conn, secret+"\n")
	return asked
}

// close ends the conversation and returns why no password was given, if one was
// asked for.
func (a *askpass) close() error {
	_ = a.listener.Close()
	a.done.Wait()
	_ = os.RemoveAll(a.dir)
	return a.err
}
