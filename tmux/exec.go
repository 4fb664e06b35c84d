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

// run executes one tmux command line and returns what it printed.
func (s *Server) run(ctx context.Context, stdin []byte, args ...string) (string, error) {
	if args[0] != "-V" { // which asks no server
		if err := s.trust(); err != nil {
			return "", fmt.Errorf("tmux %s: %w", args[0], err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	argv := append(s.argv(), args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	// The first client starts the server, and panes inherit the server's environment.
	cmd.Env = []string{serverPath, "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// Its answer is read to the end. On a machine that is short of processors another
	// child that has not become its program yet can hold the pipe open for seconds.
	cmd.WaitDelay = s.timeout
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	stdout, stderr := &bounded{max: maxOutput}, &bounded{max: 4096}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	crash.Point("tmux", args[0])
	if err != nil {
		return "", s.explain(ctx, err, args[0], strings.TrimSpace(stderr.buf.String()))
	}
	return stdout.buf.String(), nil
}

// explain turns a failed client into one of the errors callers branch on.
func (s *Server) explain(ctx context.Context, err error, command, text string) error {
	if cause := ctx.Err(); cause != nil {
		if errors.Is(cause, context.DeadlineExceeded) {
			return fmt.Errorf("tmux %s: %w", command, ErrNoAnswer)
		}
		return cause
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("tmux %s: %w", command, ErrNoAnswer)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("run tmux: %w", err)
	}
	// A server without sessions calls a missing pane a missing target.
	if containsAny(text, "can't find pane", "no current target", "target pane has exited") {
		return fmt.Errorf("tmux %s: %w", command, ErrNoPane)
	}
	if !s.listening() {
		return fmt.Errorf("tmux %s: %w", command, ErrNoServer)
	}
	return &Error{Command: command, Text: text}
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
	tick := time.NewTicker(20 * time.Millisecond)
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

// bounded keeps the first max bytes written to it.
type bounded struct {
	buf bytes.Buffer
	max int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.max - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
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
