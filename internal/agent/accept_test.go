package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestClaudeIsToldToTrustTheWorkspaceItself(t *testing.T) {
	s := newSpec(t, "claude")
	s.Env.Lookup = lookup(map[string]string{"ANTHROPIC_API_KEY": "sk-ant-0123456789abcdefghijklmnopqrst"})
	s.TrustDir = filepath.Dir(s.Workdir)
	prepare(t, s)
	var got struct {
		Projects map[string]struct{ HasTrustDialogAccepted bool }
	}
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(s.Env.Home, ".claude", ".claude.json"))), &got); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{s.Workdir, s.TrustDir} {
		if !got.Projects[dir].HasTrustDialogAccepted {
			t.Errorf("%s is not trusted: %v", dir, got.Projects)
		}
	}
}

func TestClaudesLockIsRespected(t *testing.T) {
	s := newSpec(t, "claude")
	s.Env.Lookup = lookup(map[string]string{"ANTHROPIC_API_KEY": "sk-ant-0123456789abcdefghijklmnopqrst"})
	lock := filepath.Join(s.Env.Home, ".claude", ".claude.json.lock")
	take := func() {
		t.Helper()
		if err := os.MkdirAll(lock, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	take()
	released := make(chan time.Time, 1)
	timer := time.AfterFunc(100*time.Millisecond, func() {
		released <- time.Now()
		if err := os.Remove(lock); err != nil {
			t.Error(err)
		}
	})
	defer timer.Stop()
	prepare(t, s)
	if done := time.Now(); done.Before(<-released) {
		t.Error("the state was written while another held the lock")
	}
	take()
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	prepare(t, s)
	if exists(lock) {
		t.Error("the lock is left behind")
	}
}
