package settings_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent/settings"
)

const apiKey = "sk-ant-0123456789abcdefghijklmnopqrst"

func accept(t *testing.T, l settings.Launch, form, dir string) {
	t.Helper()
	if err := l.Accept(form, dir, apiKey); err != nil {
		t.Fatal(err)
	}
}

func TestClaudesStateTrustsTheWorkspaceAndKeepsTheRest(t *testing.T) {
	l := newLaunch(t)
	dir := filepath.Join(l.Home, ".claude")
	file := filepath.Join(dir, ".claude.json")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	state := `{"numStartups":3,"projects":{"/other":{"hasTrustDialogAccepted":false}},"customApiKeyResponses":{"approved":["old"]}}`
	if err := os.WriteFile(file, []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	accept(t, l, "claude", dir)
	var got struct {
		NumStartups            int
		HasCompletedOnboarding bool
		Projects               map[string]struct{ HasTrustDialogAccepted bool }
		CustomApiKeyResponses  struct{ Approved []string }
	}
	decode(t, file, &got)
	for _, dir := range []string{l.Workdir, l.TrustDir} {
		if !got.Projects[dir].HasTrustDialogAccepted {
			t.Errorf("%s is not trusted: %v", dir, got.Projects)
		}
	}
	if got.NumStartups != 3 || !got.HasCompletedOnboarding || got.Projects["/other"].HasTrustDialogAccepted {
		t.Errorf("state %+v", got)
	}
	if want := []string{"old", apiKey[len(apiKey)-20:]}; !slices.Equal(got.CustomApiKeyResponses.Approved, want) {
		t.Errorf("approved keys %q, want %q", got.CustomApiKeyResponses.Approved, want)
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	accept(t, l, "claude", dir)
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("an unchanged state was written again: %v", err)
	}
}

func TestClaudesLockIsRespected(t *testing.T) {
	l := newLaunch(t)
	dir := filepath.Join(l.Home, ".claude")
	lock := filepath.Join(dir, ".claude.json.lock")
	hold := func() {
		t.Helper()
		if err := os.MkdirAll(lock, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	hold()
	released := make(chan time.Time, 1)
	timer := time.AfterFunc(100*time.Millisecond, func() {
		released <- time.Now()
		if err := os.Remove(lock); err != nil {
			t.Error(err)
		}
	})
	defer timer.Stop()
	accept(t, l, "claude", dir)
	if done := time.Now(); done.Before(<-released) {
		t.Error("the state was written while another process held the lock")
	}
	hold()
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	accept(t, l, "claude", dir)
	if exists(lock) {
		t.Error("the lock is left behind")
	}
}

func TestCopilotsConfigurationTrustsTheWorkspaceAndKeepsTheRest(t *testing.T) {
	l := newLaunch(t)
	file := filepath.Join(l.Home, "config.json")
	state := "// Written by the program.\n{\"trustedFolders\": [\"/elsewhere\"], \"firstLaunchAt\": \"2026\"}\n"
	if err := os.WriteFile(file, []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	accept(t, l, "copilot", l.Home)
	var got struct {
		TrustedFolders []string
		FirstLaunchAt  string
	}
	decode(t, file, &got)
	for _, dir := range []string{"/elsewhere", l.TrustDir, l.Workdir} {
		if !slices.Contains(got.TrustedFolders, dir) {
			t.Errorf("%s is not trusted: %+v", dir, got)
		}
	}
	if got.FirstLaunchAt != "2026" {
		t.Errorf("a key is lost: %+v", got)
	}
}
