package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// A token of GitHub that agents would get, as copilot needs one, must not open a private repository.
func TestSecurityTokensForAgentsReadNoPrivateRepository(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{
		playbook: quickPlaybook, config: "roles: {coder: {provider: copilot}}\nsandbox: {unsafe_flags: true}\n",
		github: fakehub.Options{Repos: []fakehub.RepoSpec{{Owner: "acme", Name: "vault", Private: true}}},
	})
	r.github.Repo("acme/vault").SetRole(rigOwner, fakehub.Read)
	config := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	r.write(config, strings.Replace(string(text), "  script: {", "  copilot: {command: /bin/true}\n  script: {", 1))
	const reads = "copilot: the token in COPILOT_GITHUB_TOKEN reads the private repository acme/vault"
	r.setEnv("COPILOT_GITHUB_TOKEN", r.github.Token(rigOwner))
	res := r.agentmux("issue", "1", "--headless", "--workflow", "quick")
	if res.code != 2 || !strings.Contains(res.err, reads) || strings.Contains(res.err, r.github.Token(rigOwner)) {
		t.Errorf("exit %d, want 2 with the repository:\n%s", res.code, res.err)
	}
	r.setEnv("COPILOT_GITHUB_TOKEN", r.github.AddUser(fakehub.UserSpec{Login: "poor"}))
	if res := r.agentmux("issue", "1", "--headless", "--workflow", "quick"); strings.Contains(res.err, "COPILOT_GITHUB_TOKEN") {
		t.Errorf("a token that reads no private repository: exit %d\n%s", res.code, res.err)
	}
}
