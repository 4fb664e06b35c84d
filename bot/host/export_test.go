package host

import (
	"log/slog"
	"net"
	"testing"

	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TakeTranscripts does what a host does for the recorders of the session in dir, until the
// test is over or stop is called.
func TakeTranscripts(t *testing.T, runtime, dir string, r *redact.Redactor) (stop func()) {
	t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	note := (&panes{sess: sess}).recordAt
	rs := &recorders{sess: sess, note: note, redactor: r, log: slog.New(slog.DiscardHandler), open: map[string]chan struct{}{}, conns: map[net.Conn]string{}}
	if err := rs.listen(runtime); err != nil {
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
