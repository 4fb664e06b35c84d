package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/workflows/agents"
)

// A file of the repository that lifts questions for permission starts no agent unattended: the owner of
// the machine has to say yes in the own configuration, and the repository's one cannot.
func TestSecurity41AutoAcceptNeedsTheOwnersYes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	team, problems := agents.Parse("a.yml", []byte("session: shop\nagents:\n  - {name: api, branch: api, task: t, auto_accept: true}\n"), agents.Known{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	project, err := r.host.Project(t.Context(), r.project, r.config)
	if err != nil {
		t.Fatal(err)
	}
	base, err := project.Base(t.Context(), r.config, "")
	if err != nil {
		t.Fatal(err)
	}
	const asks, plain = "version: 2\ndefaults: {provider: script}\n", "auto_accept of api needs your yes on this machine"
	for name, c := range map[string]struct {
		user, repository string
		attended         bool
		refused          bool
	}{
		"not answered":            {user: asks, refused: true},
		"the repository says yes": {user: asks, repository: "sandbox: {unsafe_flags: true}\n", refused: true},
		"the owner said no":       {user: asks + "sandbox: {unsafe_flags: false}\n", refused: true},
		"the owner said yes":      {user: asks + "sandbox: {unsafe_flags: true}\n"},
		"somebody is there":       {user: asks, attended: true},
	} {
		t.Run(name, func(t *testing.T) {
			user := filepath.Join(t.TempDir(), "user.yaml")
			if err := os.WriteFile(user, []byte(c.user), 0o600); err != nil {
				t.Fatal(err)
			}
			r.write(".agentmux/config.yaml", "version: 2\n"+c.repository)
			cfg, problems := config.Load(config.Sources{UserFile: user, Project: os.DirFS(r.project)})
			if cfg == nil {
				if c.repository == "" || !strings.Contains(strings.Join(problems.Lines(), "\n"), "sandbox.unsafe_flags") {
					t.Fatal(problems.Lines())
				}
				return // refused as a whole
			}
			found, _, err := host.CheckTeam(t.Context(), r.host, host.PrepareSpec{Project: project, Config: cfg, Base: base, Interactive: c.attended}, team, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(strings.Join(found, "\n"), plain); got != c.refused {
				t.Errorf("refused %t: %q", got, found)
			}
		})
	}
}
