package transcript_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/transcript"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// made creates a session and returns its directory and one for sockets, whose paths must be
// short.
func made(t *testing.T) (dir, runtime string) {
	t.Helper()
	root, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	_, definition, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Create(session.CreateSpec{
		Project: filepath.Join(root, "p"), Now: time.Now(), Source: "x", Request: "x", Definition: definition,
		State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseBranch: "main", BaseSHA: "abc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Dir, filepath.Join(root, "r")
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-limit.C:
			t.Fatal("waited in vain: " + what)
		case <-tick.C:
		}
	}
}

// take acts as a host for the recorders of the session in dir, until the end of the test or
// until stop is called.
func take(t *testing.T, runtime, dir string, r *redact.Redactor) (stop func()) {
	t.Helper()
	rs := recorders(t, dir, "", r)
	if err := rs.Listen(runtime); err != nil {
		t.Fatal(err)
	}
	over := false
	stop = func() {
		if !over {
			over = true
			_ = rs.Close()
		}
	}
	t.Cleanup(stop)
	return stop
}

// recorders are those of the session in dir, which do not listen yet. The directory lost, if it
// is not empty, is gone when they make a socket in it.
func recorders(t *testing.T, dir, lost string, r *redact.Redactor) *transcript.Recorders {
	t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	note := func(socket string) error {
		if filepath.Dir(socket) == lost {
			return os.RemoveAll(lost)
		}
		r := sess.ReadRuntime()
		r.Recorder = socket
		return sess.WriteRuntime(r)
	}
	return transcript.NewRecorders(sess, note, r, slog.New(slog.DiscardHandler))
}
