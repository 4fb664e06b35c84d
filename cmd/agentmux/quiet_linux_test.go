package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"golang.org/x/sys/unix"
)

// openTerminal returns both sides of a new terminal. What is written at the far side is
// read at the near one.
func openTerminal(t *testing.T) (near, far *os.File) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = near.Close() })
	if err := unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return near, far
}

// A command asks the terminal nothing: a terminal that does not understand the question would
// show it, and the command would wait for the answer.
func TestCommandsAskTheTerminalNothing(t *testing.T) {
	t.Parallel()
	near, far := openTerminal(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), own, "version")
	cmd.Env = []string{"TERM=xterm-256color", "HOME=" + t.TempDir()}
	screen := onTerminal(t, cmd, near, far)
	if text := screen; strings.Contains(text, "\x1b") || !strings.Contains(text, "agentmux") {
		t.Errorf("the terminal got %q", text)
	}
}

// onTerminal runs a command at a terminal of its own and returns what it wrote there.
func onTerminal(t *testing.T, cmd *exec.Cmd, near, far *os.File) string {
	t.Helper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = far, far, far
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	if err := near.SetReadDeadline(time.Now().Add(runLimit)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		t.Fatal(err)
	}
	screen, err := io.ReadAll(near) // ends with EIO once the far side is closed
	if err != nil && !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%q", err, screen)
	}
	return strings.ReplaceAll(string(screen), "\r\n", "\n")
}

var (
	colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	narrow = unix.Winsize{Row: 24, Col: 60}
)

// What commands show fits a terminal of 60 columns, in colours unless the person wants none.
func TestCommandsFitANarrowTerminal(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	s := newShelf(t)
	s.put("20260102-030405-issue-1-a-session-with-quite-a-long-name", orchestrator.PhaseDone, 48, 1)
	s.put("short", "reviewing", 40, 1)
	for _, args := range [][]string{{"status", "short"}, {"sessions"}, {"doctor"}, {"config", "show"}, {"workflows", "list"}, {"providers", "list"}} {
		for _, plain := range []bool{false, true} {
			near, far := openTerminal(t)
			if err := unix.IoctlSetWinsize(int(near.Fd()), unix.TIOCSWINSZ, &narrow); err != nil {
				t.Fatal(err)
			}
			cmd := s.command(args...)
			if plain {
				cmd.Env = append(cmd.Env, "NO_COLOR=1")
			}
			screen := onTerminal(t, cmd, near, far)
			if colour.MatchString(screen) == plain {
				t.Errorf("%v: NO_COLOR %v, and the terminal got %q", args, plain, screen)
			}
			text := colour.ReplaceAllString(screen, "")
			if strings.Contains(text, "\x1b") || len(text) < 40 {
				t.Errorf("%v: the terminal got %q", args, text)
			}
			for line := range strings.Lines(text) {
				if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > int(narrow.Col) {
					t.Errorf("%v: %d columns: %q", args, utf8.RuneCountInString(line), line)
				}
			}
		}
	}
}
