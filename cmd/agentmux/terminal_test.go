package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/tmux"
)

// terminal is a command at a terminal of its own: a pane of a tmux server that is not a
// session's.
type terminal struct {
	r      *rig
	server *tmux.Server
	pane   string
}

// terminal starts a command of a person who sits in the clone.
func (r *rig) terminal(args ...string) *terminal {
	r.t.Helper()
	return r.pane(append([]string{r.own()}, args...))
}

// brief is terminal for a command that ends at once: on a busy machine tmux 3.3 may lose
// what was printed just before the end, so a shell stays for a moment.
func (r *rig) brief(args ...string) *terminal {
	r.t.Helper()
	return r.pane(append([]string{"/bin/sh", "-c", `"$@"; sleep 2`, "sh", r.own()}, args...))
}

func (r *rig) own() string {
	r.t.Helper()
	own, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	return own
}

func (r *rig) pane(command []string) *terminal {
	r.t.Helper()
	server, err := tmux.New(tmux.Options{Socket: filepath.Join(r.dir, "t.sock"), Tags: []string{"@desk"}})
	if err != nil {
		r.t.Fatal(err)
	}
	window := tmux.WindowSpec{Session: "person", Name: "w", Command: command, Dir: r.clone, Env: r.env}
	ctx := context.Background()
	desk := window
	desk.Name, desk.Command, desk.Options = "desk", []string{r.own(), "demo", "--help"}, map[string]string{"@desk": "yes"}
	desk.Session = ""
	if _, err := server.Ensure(ctx, tmux.SessionSpec{Name: "person", Width: 200, Height: 50, Window: desk}); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = server.KillServer(ctx) })
	pane, err := server.NewWindow(ctx, window)
	if err != nil {
		r.t.Fatal(err)
	}
	return &terminal{r: r, server: server, pane: pane.ID}
}

// shows waits until the terminal shows a text, and returns the screen.
func (t *terminal) shows(text string) string {
	t.r.t.Helper()
	var screen string
	t.r.eventually("the terminal shows "+text, func() bool {
		screen, _ = t.server.Capture(context.Background(), t.pane, 200)
		return strings.Contains(screen, text)
	}, func() string { return screen })
	return screen
}

// press sends keys.
func (t *terminal) press(keys ...string) {
	t.r.t.Helper()
	if out, err := t.server.SendKey(context.Background(), t.pane, keys...); err != nil || out.Delivery != tmux.Sent {
		t.r.t.Fatalf("press %v: %+v, %v", keys, out, err)
	}
}

// eventually waits for something that happens by itself; tell adds to the failure.
func (r *rig) eventually(what string, is func() bool, tell func() string) {
	r.t.Helper()
	eventually(r.t, what, is, tell)
}

func eventually(t testing.TB, what string, is func() bool, tell func() string) {
	t.Helper()
	limit := time.NewTimer(runLimit)
	defer limit.Stop()
	begun := time.Now()
	for !is() {
		// What takes long is asked for less often: reading all sessions costs more than the wait.
		next := min(20*time.Millisecond+time.Since(begun)/50, 150*time.Millisecond)
		select {
		case <-time.After(next):
		case <-limit.C:
			more := ""
			if tell != nil {
				more = "\n" + tell()
			}
			t.Fatalf("it never came true that %s%s", what, more)
		}
	}
}
