package orphan_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// The claim of a session whose state is damaged, or missing beside its backup, is kept as long as anything of the state is
// there. Once all of it is gone it is rung for and given up, once.
func TestTheClaimOfADamagedSessionIsKept(t *testing.T) {
	w := newWorld(t)
	project, host := t.TempDir(), claim.NewHostID()
	own := w.desk(host)
	var rung []string
	l := orphan.New(orphan.Options{
		Desk: own, Own: host, Project: project, Now: w.now, Found: func(int) {}, Room: func(context.Context) bool { return true },
		Ring: func(name string) error { rung = append(rung, name); return nil }, Log: slog.New(slog.DiscardHandler),
	})
	w.take(w.desk(host), 12, claim.Running)
	dir := filepath.Join(session.Dir(project), name)
	file := func(name string) string { return filepath.Join(dir, name) }
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(file("state.json"), []byte("{"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	mislay(t, l, own)
	kept := func(what string) {
		t.Helper()
		holder, left, err := l.Holder(t.Context(), 12)
		if holder != host || left != nil || err != nil || l.Unread(12) == nil || l.Return(name) != nil || len(rung) > 0 {
			t.Errorf("%s: host %q, left %+v, %v; unread %v; rung %q", what, holder, left, err, l.Unread(12), rung)
		}
	}
	kept("damaged")
	for _, to := range []string{"state.json.bak", "state.json.damaged"} {
		all, _ := filepath.Glob(file("state.json*"))
		if err := os.Rename(all[0], file(to)); err != nil {
			t.Fatal(err)
		}
		kept("missing beside " + to)
	}
	if err := os.Remove(file("state.json.damaged")); err != nil {
		t.Fatal(err)
	}
	l.Look(t.Context())
	if !slices.Equal(rung, []string{name}) || l.Unread(12) == nil {
		t.Errorf("gone: rung %q, unread %v", rung, l.Unread(12))
	}
	held := l.Return(name)
	if held == nil || held.Check(t.Context()) != nil || l.Return(name) != nil || l.Unread(12) != nil {
		t.Errorf("given up: %v; unread %v", held, l.Unread(12))
	}
}
