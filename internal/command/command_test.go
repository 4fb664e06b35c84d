package command_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/command"
)

// script writes a program and returns its file.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRunGivesWhatWasNamedAndNoMore(t *testing.T) {
	t.Setenv("AGENTMUX_TEST_LEAK", "leaked")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string][]string{"some": {"GREETING=hello"}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			var out command.Output
			out.Max = 1000
			err := command.Cmd{
				Argv: []string{"shown", "word"}, File: script(t, `echo "$GREETING|$AGENTMUX_TEST_LEAK|$1"; /bin/pwd; exec /bin/cat`),
				Env: env, Dir: dir, Stdin: strings.NewReader("in"), Stdout: &out, Limit: time.Minute, Drain: time.Minute,
			}.Run(t.Context())
			greeting := ""
			if env != nil {
				greeting = "hello"
			}
			if want := greeting + "||word\n" + dir + "\nin"; err != nil || out.String() != want {
				t.Errorf("%v: %q, want %q", err, out.String(), want)
			}
		})
	}
}

func TestRunHandsOnFiles(t *testing.T) {
	file, err := os.Open(script(t, "written"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := &command.Output{Max: 1000}
	err = command.Cmd{Argv: []string{"x"}, File: script(t, "exec /bin/cat <&3"), Files: []*os.File{file}, Stdout: out, Limit: time.Minute, Drain: time.Minute}.Run(t.Context())
	if err != nil || out.String() != "#!/bin/sh\nwritten" {
		t.Errorf("%v: %q", err, out)
	}
}

func TestRunTellsFailuresApart(t *testing.T) {
	run := func(ctx context.Context, text string, limit time.Duration, out *command.Output) error {
		if out == nil {
			out = &command.Output{}
		}
		return command.Cmd{Argv: []string{"x"}, File: script(t, text), Limit: limit, Stdout: out, Drain: time.Minute}.Run(ctx)
	}
	var exit *exec.ExitError
	if err := run(t.Context(), "exit 7", time.Minute, nil); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("a failure: %v", err)
	}
	if err := run(t.Context(), "exec /bin/sleep 600", 50*time.Millisecond, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a limit: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the caller said so")
	cancel(why)
	if err := run(ctx, "exec /bin/sleep 600", time.Minute, nil); !errors.Is(err, why) {
		t.Errorf("the end of a context: %v", err)
	}
	if err := (command.Cmd{Argv: []string{"/no/such/program"}, Limit: time.Minute}).Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	out := &command.Output{Max: 3, Refuse: true}
	if err := run(t.Context(), "echo 12345", time.Minute, out); err == nil || !out.Over() || out.String() != "123" {
		t.Errorf("too much: %v, %q", err, out)
	}
	out = &command.Output{Max: 3}
	if err := run(t.Context(), "echo 12345", time.Minute, out); err != nil || !out.Over() || out.String() != "123" {
		t.Errorf("too much that is dropped: %v, %q", err, out)
	}
}

// What a program started ends with it, also what does not hear that it is told to.
func TestRunEndsTheGroup(t *testing.T) {
	for name, grace := range map[string]time.Duration{"at once": 0, "with grace": 100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			pid := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				done <- command.Cmd{
					Argv: []string{"x", pid}, File: script(t, "trap '' TERM\n/bin/sleep 600 &\necho $! >\"$1.new\"\n/bin/mv \"$1.new\" \"$1\"\nwait; wait"),
					Limit: time.Minute, Grace: grace, Drain: time.Minute,
				}.Run(ctx)
			}()
			var helper int
			for deadline := time.Now().Add(time.Minute); helper == 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
				data, _ := os.ReadFile(pid)
				helper, _ = strconv.Atoi(strings.TrimSpace(string(data)))
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			for deadline := time.Now().Add(time.Minute); syscall.Kill(helper, 0) == nil; time.Sleep(5 * time.Millisecond) {
				if state, _ := os.ReadFile("/proc/" + strconv.Itoa(helper) + "/stat"); strings.Contains(string(state), ") Z ") {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("the helper %d is still there", helper)
				}
			}
		})
	}
}
