package agent_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

func TestCodexTrustsTheWorkspaceAndTakesTheKeyByItsVariable(t *testing.T) {
	for name, c := range map[string]struct {
		vars map[string]string
		want string
	}{
		"a key":              {map[string]string{"OPENAI_API_KEY": "very-secret"}, `base_url="https://api.openai.com/v1",env_key="OPENAI_API_KEY",wire_api="responses"`},
		"the program's name": {map[string]string{"CODEX_API_KEY": "very-secret"}, `env_key="CODEX_API_KEY"`},
		"another service":    {map[string]string{"OPENAI_API_KEY": "very-secret", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, `base_url="http://127.0.0.1:1/v1",`},
	} {
		for _, transport := range []agent.Transport{agent.TUI, agent.Headless} {
			s := newSpec(t, "codex")
			s.AllowUnsafe, s.Transport, s.TrustDir = true, transport, filepath.Dir(s.Workdir)
			s.Env.Lookup = lookup(c.vars)
			argv := prepare(t, s).Argv
			all := strings.Join(argv, "\x00")
			if !strings.Contains(all, c.want) || !slices.Contains(argv, `model_provider="agentmux"`) || strings.Contains(all, "very-secret") {
				t.Errorf("%s: %q", name, argv)
			}
			for _, dir := range []string{s.TrustDir, s.Workdir} {
				if !strings.Contains(all, `"`+dir+`"={trust_level="trusted"}`) {
					t.Errorf("%s is not trusted: %q", dir, argv)
				}
			}
			// Without it a server of the program outlives the launch.
			if slices.Contains(argv, "--no-daemon") != (transport == agent.TUI) {
				t.Errorf("%s: %q", transport, argv)
			}
		}
	}
}

func TestCodexKeepsItsOwnLoginWithoutAKey(t *testing.T) {
	s := newSpec(t, "codex")
	s.Transport, s.Env.RealHome = agent.TUI, t.TempDir()
	s.Env.Lookup = lookup(nil)
	if all := strings.Join(prepare(t, s).Argv, " "); strings.Contains(all, "model_provider") {
		t.Errorf("another service is named: %s", all)
	}
}
