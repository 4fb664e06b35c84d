package tmux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/tmux"
)

// send-keys -l swallows a semicolon at the end and fails above 16 kB; what is pasted does
// neither. A paste without -p makes several prompts of several lines.
func TestSubmitDeliversTextThatKeysWouldLose(t *testing.T) {
	s := startServer(t)
	pane, log := startTUI(t, s, "TUI_BRACKETED=1")
	shows(t, s, pane, "READY")
	lines := []string{
		"ends with a semicolon;", `ends with an escaped one\;`, "; begins with one", "'quoted' \"twice\" $HOME `id` #{pane_id} %H ~",
		"-t is no option", "Enter", "C-c", "ünï 日本 👩‍💻", strings.Repeat("a long line of many words ", 60) + "end;",
	}
	for _, line := range lines {
		if out, err := s.Submit(t.Context(), pane, line, quick); err != nil || out.Delivery != tmux.Sent {
			t.Fatalf("%q: %+v, %v", line, out, err)
		}
	}
	if got := submitted(t, log); strings.Join(got, "\n") != strings.Join(lines, "\n") {
		t.Errorf("the program took %q", got)
	}
	if out, err := s.Submit(t.Context(), pane, strings.Repeat("x", 17_000), quick); err != nil || out.Delivery != tmux.Refused {
		t.Errorf("17 kB: %+v, %v", out, err)
	}
}

// Under LC_ALL=C tmux makes an underscore of a TAB and of every letter beyond ASCII.
func TestListsAreReadInAnyLocale(t *testing.T) {
	for _, name := range []string{"LC_ALL", "LANG", "LC_CTYPE"} {
		t.Setenv(name, "C")
	}
	s := startServer(t)
	dir := filepath.Join(t.TempDir(), "ünï 日本")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := s.NewWindow(t.Context(), tmux.WindowSpec{
		Session: "work", Name: "w", Command: []string{"/bin/sleep", "600"}, Dir: dir, Options: map[string]string{tag: "grüße"},
	})
	if err != nil || p.Options[tag] != "grüße" || filepath.Base(p.Path) != "ünï 日本" {
		t.Errorf("%+v, %v", p, err)
	}
}

// A bare name is a prefix for tmux: issue-1 would be issue-12.
func TestASessionIsNotMistakenForAnotherWithALongerName(t *testing.T) {
	s := newServer(t)
	long := control(t)
	long.Name = "issue-12"
	if _, err := s.Ensure(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	w := tmux.WindowSpec{Session: "issue-1", Name: "w", Command: []string{"/bin/sleep", "600"}, Dir: t.TempDir()}
	if p, err := s.NewWindow(t.Context(), w); err == nil {
		t.Errorf("a window of issue-1 was made in %s", p.Session)
	}
	short := control(t)
	short.Name = "issue-1"
	if _, err := s.Ensure(t.Context(), short); err != nil {
		t.Fatal(err)
	}
	if p, err := s.NewWindow(t.Context(), w); err != nil || p.Session != "issue-1" {
		t.Errorf("%+v, %v", p, err)
	}
}

// A detached session is 80 by 24 unless a size is given, and a person's configuration
// could change anything.
func TestTheServerIsAsWeMakeIt(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".tmux.conf"), []byte("set -g history-limit 7\nset -g base-index 5\nset -g remain-on-exit off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	s := startServer(t)
	p := window(t, s, "/bin/sleep", "600")
	for format, want := range map[string]string{"#{window_width}x#{window_height}": "220x50", "#{history_limit}": "50000"} {
		if got, err := raw(t, s, "display-message", "-p", "-t", p.ID, format); err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", format, got, want, err)
		}
	}
	for option, want := range map[string]string{"-gv base-index": "0", "-gwv remain-on-exit": "on", "-sv exit-empty": "off"} {
		if got, err := raw(t, s, append([]string{"show-options"}, strings.Fields(option)...)...); err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", option, got, want, err)
		}
	}
}

// pane_activity is empty in tmux 3.3a; how long an agent is silent comes from its window.
func TestActivityMovesWithWhatAProgramPrints(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	busy := window(t, s, "/bin/sh", "-c", "while :; do echo x; sleep 0.3; done")
	silent := window(t, s, "/bin/sleep", "600")
	activity := func(id string) time.Time {
		p, err := s.Pane(t.Context(), id)
		if err != nil || p.Activity.IsZero() {
			t.Fatalf("%+v, %v", p, err)
		}
		return p.Activity
	}
	first := activity(silent.ID)
	eventually(t, "a busy window is seen to be", func() bool { return activity(busy.ID).After(first.Add(time.Second)) })
	if now := activity(silent.ID); now.After(first) {
		t.Errorf("a silent window was active at %s, then at %s", first, now)
	}
}
