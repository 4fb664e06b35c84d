package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/command"
	"github.com/agentmux/agentmux/internal/crash"
)

// maxOutput bounds what is kept of one answer; the rest is read and dropped.
const maxOutput = 8 << 20

// serverPath is the PATH of the server and so of a shell a person opens in it. Panes
// made by NewWindow name their command by absolute path and bring their own.
const serverPath = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

// Error is a command that tmux refused.
type Error struct {
	Command string // the tmux command, without its arguments
	Text    string // what tmux said
}

func (e *Error) Error() string { return fmt.Sprintf("tmux %s: %s", e.Command, e.Text) }

// argv is the part every invocation starts with. -u makes tmux print UTF-8 whatever the
// locale is; without it a TAB in a format comes back as an underscore.
func (s *Server) argv() []string {
	return []string{s.binary, "-u", "-S", s.socket, "-f", s.conf}
}

// run executes one tmux command line and returns what it printed, also when one of its commands
// was refused: those before it were carried out.
func (s *Server) run(ctx context.Context, stdin []byte, args ...string) (string, error) {
	if args[0] != "-V" { // which asks no server
		if err := s.trust(); err != nil {
			return "", fmt.Errorf("tmux %s: %w", args[0], err)
		}
	}
	stdout, stderr := &command.Output{Max: maxOutput}, &command.Output{Max: 4096}
	cmd := command.Cmd{
		Argv: append(s.argv(), args...), Limit: s.timeout, Stdout: stdout, Stderr: stderr,
		// The first client starts the server, and panes inherit the server's environment.
		Env: []string{serverPath, "LANG=C.UTF-8"},
		// Its answer is read to the end. On a machine that is short of processors another
		// child that has not become its program yet can hold the pipe open for seconds.
		Drain: s.timeout,
	}
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	err := cmd.Run(ctx)
	crash.Point("tmux", args[0])
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.Canceled):
		return "", ctx.Err()
	default:
		return stdout.String(), s.explain(err, args[0], strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// explain turns a failed client into one of the errors callers branch on.
func (s *Server) explain(err error, verb, text string) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("tmux %s: %w", verb, ErrNoAnswer)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("run tmux: %w", err)
	}
	// A server without sessions calls a missing pane a missing target.
	if containsAny(text, "can't find pane", "no current target", "target pane has exited") {
		return fmt.Errorf("tmux %s: %w", verb, ErrNoPane)
	}
	if !s.listening() {
		return fmt.Errorf("tmux %s: %w", verb, ErrNoServer)
	}
	return &Error{Command: verb, Text: text}
}

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// listening reports whether something accepts connections on the socket. It asks the
// kernel instead of reading the client's message, which differs between versions.
func (s *Server) listening() bool {
	conn, err := net.DialTimeout("unix", s.socket, s.timeout)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED)
	}
	return conn.Close() == nil
}

// ownedByUs reports whether the file belongs to the user this process runs as.
func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// poll calls done every few milliseconds until it says true or fails, at most for limit.
func poll(ctx context.Context, limit time.Duration, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return pollEvery(ctx, 20*time.Millisecond, done)
}

func pollEvery(ctx context.Context, pause time.Duration, done func() (bool, error)) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// quote makes one word of s for a command string that tmux or a shell parses.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// argument protects a trailing semicolon, which tmux would take as the end of the
// command even inside an argument of its own.
func argument(s string) string {
	if strings.HasSuffix(s, ";") {
		return s[:len(s)-1] + `\;`
	}
	return s
}

// literal protects text that tmux expands as a format.
func literal(s string) string { return strings.ReplaceAll(s, "#", "##") }
