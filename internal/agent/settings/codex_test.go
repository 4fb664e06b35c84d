package settings_test

import (
	"slices"
	"strings"
	"testing"
)

func TestCodexTrustsTheWorkspaceAndReadsTheKeyFromItsVariable(t *testing.T) {
	for name, c := range map[string]struct {
		vars map[string]string
		want string // among the arguments; "" means the program's own login
	}{
		"OPENAI_API_KEY":  {map[string]string{"OPENAI_API_KEY": "very-secret"}, `base_url="https://api.openai.com/v1",env_key="OPENAI_API_KEY",wire_api="responses"`},
		"CODEX_API_KEY":   {map[string]string{"CODEX_API_KEY": "very-secret"}, `env_key="CODEX_API_KEY"`},
		"another service": {map[string]string{"OPENAI_API_KEY": "very-secret", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, `base_url="http://127.0.0.1:1/v1",`},
		"no key":          {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLaunch(t)
			l.Credentials, l.PassOn, l.Lookup = []string{"OPENAI_API_KEY", "CODEX_API_KEY"}, []string{"THE_SEAL"}, lookup(c.vars)
			s := write(t, l, "codex")
			all := strings.Join(s.ToolArgs, "\x00")
			if !strings.Contains(all, c.want) || strings.Contains(all, "very-secret") {
				t.Errorf("arguments %q", s.ToolArgs)
			}
			if named := slices.Contains(s.ToolArgs, `model_provider="agentmux"`); named != (c.want != "") {
				t.Errorf("names a service: %v, arguments %q", named, s.ToolArgs)
			}
			for _, dir := range []string{l.TrustDir, l.Workdir} {
				if !strings.Contains(all, `"`+dir+`"={trust_level="trusted"}`) {
					t.Errorf("%s is not trusted: %q", dir, s.ToolArgs)
				}
			}
			if !slices.Contains(s.ToolArgs, `mcp_servers.agentmux.env_vars=["THE_SEAL"]`) {
				t.Errorf("the tool server does not get the seal: %q", s.ToolArgs)
			}
		})
	}
}
