package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// useApp makes a GitHub App the account of the rig, with what permissions its
// installation grants, and returns the file of its key.
func (r *rig) useApp(permissions map[string]string) (app fakehub.App, keyFile string) {
	r.t.Helper()
	app = r.github.AddApp(fakehub.AppSpec{Slug: "mux", Permissions: permissions, Repos: []string{rigRepo}})
	keyFile = filepath.Join(r.dir, "app.pem")
	r.write(keyFile, string(app.Key))
	file := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	r.write(file, withGitHub(r.read(file), fmt.Sprintf("auth: app, app: {client_id: %s, key_file: %q}", app.ClientID, keyFile)))
	r.setEnv("AGENTMUX_GITHUB_TOKEN", "")
	return app, keyFile
}

func TestAnAppWorksOnAnIssue(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	app, _ := r.useApp(map[string]string{
		"contents": "write", "issues": "write", "pull_requests": "write", "statuses": "write", "metadata": "read", "actions": "read", "checks": "read",
	})
	res := r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	r.done(r.session())
	r.github.Check(t)
	for _, entry := range r.github.Log() {
		if entry.Actor != app.Login {
			t.Errorf("%s wrote %s", entry.Actor, entry.Route)
		}
	}
	if strings.Contains(res.out+res.err, "ghs_") {
		t.Errorf("a token is shown:\n%s%s", res.out, res.err)
	}
	if res := r.agentmux("doctor"); !strings.Contains(res.out, "as "+app.Login) || !strings.Contains(res.out, "may write") {
		t.Errorf("doctor:\n%s", res.out)
	}
}

// An installation that grants less than everything works for what it grants.
func TestAnAppThatMayNotPushLeavesTheBranchInTheClone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.useApp(map[string]string{"contents": "read", "issues": "read", "pull_requests": "read", "metadata": "read"})
	res := r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	if !strings.Contains(res.err, "may not write") || len(r.github.Repo(rigRepo).Pulls()) != 0 || len(r.github.Log()) != 0 {
		t.Errorf("writes %v\n%s", r.github.Log(), res.err)
	}
	r.sound(r.session())
	r.git(r.clone, "rev-parse", "--verify", r.session().State.FeatureBranch)
}

func TestAnAppIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	_, key := r.useApp(map[string]string{"contents": "write"})
	config := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	before := len(r.github.Calls())
	for _, c := range []struct {
		name, says string
		spoil      func()
	}{
		{"a key that others may read", "chmod 600", func() { _ = os.Chmod(key, 0o644) }},
		{"no key", "github.app", func() { _ = os.Remove(key) }},
		{"no RSA key", "not an RSA key", func() { r.write(key, "hello\n") }},
		{"no client id", "client_id", func() {
			r.write(config, strings.Split(r.read(config), "github:")[0]+fmt.Sprintf("github: {auth: app, app: {key_file: %q}}\n", key))
		}},
	} {
		r.row(c.name, func(t *testing.T) {
			c.spoil()
			if res := r.agentmux("issue", "1", "--headless"); res.code != 2 || !strings.Contains(res.err, c.says) {
				t.Errorf("%s: exit %d\n%s", c.name, res.code, res.err)
			}
		})
	}
	if calls := r.github.Calls()[before:]; len(calls) != 0 {
		t.Errorf("calls: %+v", calls)
	}
}
