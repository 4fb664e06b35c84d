package tmux_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/tmux"
)

// startTUI opens a window with the awkward program and returns its pane and its log.
func startTUI(t *testing.T, s *tmux.Server, env ...string) (pane, log string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(t.TempDir(), "log")
	env = append(env, program+"=tui", "TUI_LOG="+log)
	p, err := s.NewWindow(t.Context(), tmux.WindowSpec{Session: "work", Name: "tui", Command: []string{self}, Dir: t.TempDir(), Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return p.ID, log
}

func submitted(t *testing.T, log string) []string {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

var quick = tmux.SubmitOptions{Pause: 40 * time.Millisecond, ConfirmLimit: 500 * time.Millisecond}

// deliveries is how many lines the long tests type; TMUX_TEST_DELIVERIES raises it.
func deliveries(t *testing.T) int {
	v := os.Getenv("TMUX_TEST_DELIVERIES")
	switch {
	case v == "" && testing.Short():
		return 6
	case v == "":
		return 25
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSubmitDeliversEveryLineOnce(t *testing.T) {
	for name, env := range map[string][]string{
		"bracketed paste": {"TUI_BRACKETED=1", "TUI_SWALLOW=5"},
		"plain":           {"TUI_SWALLOW=4"},
		"narrow box":      {"TUI_BRACKETED=1", "TUI_SWALLOW=5", "TUI_NARROW=18"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			pane, log := startTUI(t, s, append(env, "TUI_START_MS=300")...)
			shows(t, s, pane, "READY")
			var want []string
			for i := range deliveries(t) {
				// Odd lines repeat, so an old one on the screen is not a sign of a new one.
				line := fmt.Sprintf("Read and follow the instructions in /tmp/session/%s/prompt number %d.md", strings.Repeat("d", 40), i/2)
				out, err := s.Submit(t.Context(), pane, line, quick)
				if err != nil || out.Delivery != tmux.Sent {
					t.Fatalf("line %d: %v, %v", i, out, err)
				}
				want = append(want, line)
			}
			if got := submitted(t, log); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("the program took:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

func TestSecurity21SubmitStripsWhatWouldActAsKeys(t *testing.T) {
	s := startServer(t)
	pane, log := startTUI(t, s, "TUI_BRACKETED=1")
	shows(t, s, pane, "READY")
	line := "one\ntwo\x1b[201~\r!rm\x03 three\x7f\u009b31m\tfour;"
	out, err := s.Submit(t.Context(), pane, line, quick)
	if err != nil || out.Delivery != tmux.Sent {
		t.Fatalf("%v, %v", out, err)
	}
	if got := submitted(t, log); len(got) != 1 || got[0] != "one two[201~ !rm three31m four;" {
		t.Errorf("the program took %q", got)
	}
}

// Pasting into a dead pane ends the server of tmux 3.3a.
func TestSubmitRefusesADeadPane(t *testing.T) {
	s := startServer(t)
	p := window(t, s, "/bin/sh", "-c", "exit 0")
	dies(t, s, p.ID)
	before, err := s.Started(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Submit(t.Context(), p.ID, "hello", quick)
	if err != nil || out.Delivery != tmux.Refused || !strings.Contains(out.Why, "dead=1") {
		t.Errorf("Submit: %+v, %v", out, err)
	}
	out, err = s.SendKey(t.Context(), p.ID, "Enter")
	if err != nil || out.Delivery != tmux.Refused {
		t.Errorf("SendKey: %+v, %v", out, err)
	}
	if after, err := s.Started(t.Context()); err != nil || !after.Equal(before) {
		t.Errorf("server after that: %v, %v", after, err)
	}
	if left, _ := raw(t, s, "list-buffers"); left != "" {
		t.Errorf("buffers left: %s", left)
	}
}

func TestSubmitRefusesCopyModeAndWorksAfterIt(t *testing.T) {
	s := startServer(t)
	pane, log := startTUI(t, s, "TUI_BRACKETED=1")
	shows(t, s, pane, "READY")
	if out, err := raw(t, s, "copy-mode", "-t", pane); err != nil {
		t.Fatalf("copy-mode: %s", out)
	}
	out, err := s.Submit(t.Context(), pane, "hello", quick)
	if err != nil || out.Delivery != tmux.Refused || !strings.Contains(out.Why, "mode=1") {
		t.Errorf("in copy mode: %+v, %v", out, err)
	}
	if out, err := raw(t, s, "send-keys", "-t", pane, "-X", "cancel"); err != nil {
		t.Fatalf("leave copy mode: %s", out)
	}
	out, err = s.Submit(t.Context(), pane, "hello again", quick)
	if err != nil || out.Delivery != tmux.Sent {
		t.Errorf("after copy mode: %+v, %v", out, err)
	}
	if got := submitted(t, log); len(got) != 1 || got[0] != "hello again" {
		t.Errorf("the program took %q", got)
	}
}

func TestSubmitRefusesWithoutTyping(t *testing.T) {
	s := startServer(t)
	pane, log := startTUI(t, s)
	shows(t, s, pane, "READY")
	notReady := quick
	notReady.Ready = func() error { return errors.New("a dialog is open") }
	for name, c := range map[string]struct {
		pane, line string
		opts       tmux.SubmitOptions
	}{
		"not ready":    {pane, "hello", notReady},
		"empty":        {pane, " \x1b\n", quick},
		"too long":     {pane, strings.Repeat("x", 5000), quick},
		"missing pane": {"%999", "hello", quick},
		"a name":       {"work", "hello", quick},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := s.Submit(t.Context(), c.pane, c.line, c.opts)
			if err != nil || out.Delivery != tmux.Refused || out.Why == "" {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
	if out, err := s.Submit(t.Context(), pane, "the only one", quick); err != nil || out.Delivery != tmux.Sent {
		t.Fatalf("%+v, %v", out, err)
	}
	if got := submitted(t, log); len(got) != 1 || got[0] != "the only one" {
		t.Errorf("the program took %q", got)
	}
}

// A program that is not ready loses the text; it must not get an Enter, nor the text again.
func TestSubmitToAProgramThatIsNotReadyIsIndeterminate(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	pane, log := startTUI(t, s, "TUI_START_MS=1500")
	o := quick
	o.ShowLimit = 300 * time.Millisecond
	out, err := s.Submit(t.Context(), pane, "hello", o)
	if err != nil || out.Delivery != tmux.Indeterminate {
		t.Errorf("%+v, %v", out, err)
	}
	shows(t, s, pane, "READY")
	if got := submitted(t, log); len(got) != 1 || got[0] != "" {
		t.Errorf("the program took %q", got)
	}
}

func TestSubmitGivesUpAfterThreeEntersWithoutEffect(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	pane, log := startTUI(t, s, "TUI_BRACKETED=1", "TUI_DEAF=1")
	shows(t, s, pane, "READY")
	o := quick
	o.ConfirmLimit = 200 * time.Millisecond
	out, err := s.Submit(t.Context(), pane, "unheard", o)
	if err != nil || out.Delivery != tmux.Indeterminate {
		t.Errorf("%+v, %v", out, err)
	}
	if got := submitted(t, log); len(got) != 3 {
		t.Errorf("the program saw %q", got)
	}
}

func TestSubmitToAProgramThatDiesIsIndeterminateOnce(t *testing.T) {
	s := startServer(t)
	pane, log := startTUI(t, s, "TUI_BRACKETED=1", "TUI_DIE=2")
	shows(t, s, pane, "READY")
	if out, err := s.Submit(t.Context(), pane, "first", quick); err != nil || out.Delivery != tmux.Sent {
		t.Fatalf("%+v, %v", out, err)
	}
	out, err := s.Submit(t.Context(), pane, "second", quick)
	if err != nil || out.Delivery != tmux.Indeterminate {
		t.Errorf("last line: %+v, %v", out, err)
	}
	if p := dies(t, s, pane); p.ExitStatus != 3 {
		t.Errorf("pane: %+v", p)
	}
	if out, err := s.Submit(t.Context(), pane, "third", quick); err != nil || out.Delivery != tmux.Refused {
		t.Errorf("after death: %+v, %v", out, err)
	}
	if got := submitted(t, log); len(got) != 2 {
		t.Errorf("the program took %q", got)
	}
}

func TestSubmitTrustsTheProgramsOwnReceipt(t *testing.T) {
	s := startServer(t)
	pane, log := startTUI(t, s, "TUI_BRACKETED=1")
	shows(t, s, pane, "READY")
	asked := 0
	o := quick
	o.Confirm = func() bool { asked++; return len(submitted(t, log)[0]) > 0 }
	if out, err := s.Submit(t.Context(), pane, "hello", o); err != nil || out.Delivery != tmux.Sent || asked == 0 {
		t.Errorf("%+v, %v, asked %d times", out, err, asked)
	}
}

// The line is gone, so another Enter would be pressed on something we did not type.
func TestSubmitPressesNoSecondEnterWhenTheLineVanished(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	pane, log := startTUI(t, s, "TUI_BRACKETED=1", "TUI_SILENT=1")
	shows(t, s, pane, "READY")
	out, err := s.Submit(t.Context(), pane, "hello", quick)
	if err != nil || out.Delivery != tmux.Indeterminate || !strings.Contains(out.Why, "vanished") {
		t.Errorf("%+v, %v", out, err)
	}
	if got := submitted(t, log); len(got) != 1 || got[0] != "hello" {
		t.Errorf("the program took %q", got)
	}
}

func TestSubmitWithoutAServerIsAnError(t *testing.T) {
	s := newServer(t)
	if out, err := s.Submit(t.Context(), "%0", "hello", quick); !errors.Is(err, tmux.ErrNoServer) || out.Delivery != tmux.Refused {
		t.Errorf("%+v, %v", out, err)
	}
}
