package fakehub_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

func TestPushNeedsATokenOfAWriter(t *testing.T) {
	s := world(t)
	dir := checkout(t, s, "write", "fix")
	for name, c := range map[string]struct{ url, want string }{
		"reader":      {remote(s, widgets, s.Token("read")), "Permission to octo/widgets.git denied to read."},
		"wrong token": {remote(s, widgets, "nope"), "Authentication failed"},
		"anonymous":   {s.CloneURL(widgets), "could not read Username"},
		"elsewhere":   {remote(s, "octo/none", s.Token("write")), "Repository not found."},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := git(t, dir, "push", c.url, "fix")
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("push: %v, %s; want %q", err, out, c.want)
			}
		})
	}
	mustGit(t, dir, "push", "-q", "origin", "fix", "fix:refs/agentmux/claims/7")
	refs := s.Repo(widgets).Refs()
	equal(t, "branch", refs["refs/heads/fix"], mustGit(t, dir, "rev-parse", "HEAD"))
	equal(t, "custom ref", refs["refs/agentmux/claims/7"], refs["refs/heads/fix"])
	log := s.Log()
	equal(t, "log entries", len(log), 1)
	equal(t, "log", log[0].Route+" "+log[0].Actor+" "+log[0].Path, "PUSH write octo/widgets")
	equal(t, "updates", len(strings.Split(log[0].Body, "\n")), 2)
}

func TestPushLargerThanOneRequestBufferArrives(t *testing.T) {
	s := world(t)
	dir := checkout(t, s, "write", "big")
	data := make([]byte, 5<<18) // git sends up to 1 MiB in one request
	_, _ = rand.Read(data)      // never fails
	if err := os.WriteFile(filepath.Join(dir, "blob"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	mustGit(t, dir, "add", "blob")
	mustGit(t, dir, "commit", "-q", "-m", "big")
	mustGit(t, dir, "push", "-q", "origin", "big")
	got, there := s.Repo(widgets).File("refs/heads/big", "blob")
	equal(t, "there", there, true)
	equal(t, "content", bytes.Equal([]byte(got), data), true)
}

func TestLeaseAndAtomicPushAreHonoured(t *testing.T) {
	s := world(t)
	dir := checkout(t, s, "write", "fix")
	const claim = "fix:refs/agentmux/claims/1"
	create := []string{"push", "--porcelain", "--atomic", "--force-with-lease=refs/agentmux/claims/1:", "origin", claim, "fix:refs/agentmux/hosts/h"}
	mustGit(t, dir, create...)
	mustGit(t, dir, "commit", "-q", "--allow-empty", "--amend", "-m", "other")
	out, err := git(t, dir, create...)
	if err == nil || !strings.Contains(out, "stale info") {
		t.Errorf("second claim: %v, %s", err, out)
	}
	equal(t, "log entries", len(s.Log()), 1)
}

func TestPushRulesRefuseWithGitHubsWords(t *testing.T) {
	const ref = "refs/heads/agentmux/fix"
	for name, c := range map[string]struct {
		rule fakehub.PushRule
		want []string
	}{
		"workflow":  {fakehub.WorkflowRule(ref, ".github/workflows/ci.yml"), []string{"without `workflows` permission"}},
		"scope":     {fakehub.WorkflowScopeRule(ref, ".github/workflows/ci.yml"), []string{"without `workflow` scope"}},
		"secret":    {fakehub.SecretRule(ref, "commit: abc path: key.txt:1"), []string{"remote: error: GH013", "path: key.txt:1"}},
		"protected": {fakehub.ProtectedRule("refs/heads/agentmux/*"), []string{"remote: error: GH006", "[remote rejected]"}},
		"ruleset":   {fakehub.RulesetRule(ref, "Changes must be made through a pull request."), []string{"GH013", "- Changes must"}},
		"hidden":    {fakehub.HiddenRule(ref), []string{"deny updating a hidden ref"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := world(t)
			dir := checkout(t, s, "write", "agentmux/fix")
			c.rule.Times = 1
			s.Repo(widgets).RefusePush(c.rule)
			out, err := git(t, dir, "push", "origin", "agentmux/fix", "agentmux/fix:refs/heads/other")
			for _, want := range append(c.want, "pre-receive hook declined") {
				if err == nil || !strings.Contains(out, want) {
					t.Errorf("push: %v, %s; want %q", err, out, want)
				}
			}
			equal(t, "refs", len(s.Repo(widgets).Refs()), 1)
			mustGit(t, dir, "push", "-q", "origin", "agentmux/fix")
		})
	}
}

func TestDeletedBranchClosesItsPullRequest(t *testing.T) {
	s := world(t)
	dir := checkout(t, s, "write", "fix")
	mustGit(t, dir, "push", "-q", "origin", "fix")
	as(t, s, "write").want(201, "POST", "/repos/octo/widgets/pulls", pullBody("fix", false))
	mustGit(t, dir, "push", "-q", "origin", ":fix")
	equal(t, "state", s.Repo(widgets).Pulls()[0].State, "closed")
}

func TestRepositoryIsImportedFromADirectory(t *testing.T) {
	dir := t.TempDir()
	mustGit(t, dir, "init", "-q", "-b", "trunk")
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustGit(t, dir, "add", ".")
	mustGit(t, dir, "commit", "-q", "-m", "first")
	s := fakehub.Start(t, fakehub.Options{
		Users: []fakehub.UserSpec{{Login: "boss", Token: "given-token", Roles: map[string]fakehub.Role{"demo/app": "admin"}}},
		Repos: []fakehub.RepoSpec{{Owner: "demo", Name: "app", Source: dir, DefaultBranch: "trunk", Private: true}},
	})
	clone := t.TempDir()
	mustGit(t, clone, "clone", "-q", remote(s, "demo/app", "given-token"), "app")
	equal(t, "tip", mustGit(t, filepath.Join(clone, "app"), "rev-parse", "HEAD"), mustGit(t, dir, "rev-parse", "HEAD"))
	file := as(t, s, "boss").want(200, "GET", "/repos/demo/app/contents/main.go", nil)
	equal(t, "content", file.str("content"), "cGFja2FnZSBtYWluCg==")
}

func TestLostPushHasTakenEffect(t *testing.T) {
	s := world(t)
	dir := checkout(t, s, "write", "fix")
	s.Inject(fakehub.Fault{Route: "GIT push", Drop: fakehub.AfterApplying}) // curl tries a second time
	if out, err := git(t, dir, "push", "origin", "fix"); err == nil {
		t.Errorf("the answer was not lost: %s", out)
	}
	equal(t, "branch", s.Repo(widgets).Refs()["refs/heads/fix"], mustGit(t, dir, "rev-parse", "HEAD"))
	s.Heal()
	s.Inject(fakehub.Fault{Route: "GIT push", Drop: fakehub.BeforeApplying})
	if out, err := git(t, dir, "push", "origin", "fix:refs/heads/second"); err == nil {
		t.Errorf("the connection was not reset: %s", out)
	}
	equal(t, "second", s.Repo(widgets).Refs()["refs/heads/second"], "")
	s.Heal()
	mustGit(t, dir, "push", "-q", "origin", "fix:refs/heads/second")
}

func TestServeRunsUntilItsContextEnds(t *testing.T) {
	root := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- fakehub.Serve(ctx, fakehub.Options{
			Root: root, Users: []fakehub.UserSpec{{Login: "boss", Token: "tok"}},
		}, in)
	}()
	line := make([]byte, 100)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, base: strings.TrimSpace(string(line[:n])), token: "tok", head: map[string]string{}}
	equal(t, "login", c.want(200, "GET", "/user", nil).str("login"), "boss")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := c.try("GET", "/user", nil); got.err == nil {
		t.Error("the server still answers")
	}
}
