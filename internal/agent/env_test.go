package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

func TestEnvironmentIsBuiltFromNothing(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "host-secret")
	t.Setenv("TMUX", "/tmp/x")
	s := newSpec(t, "claude")
	s.Env.Author, s.Env.Email, s.Env.TimeZone = "A", "a@example.com", "Europe/Berlin"
	s.Env.Extra = map[string]string{"GOFLAGS": "-mod=mod"}
	s.Env.Lookup = lookup(map[string]string{"ANTHROPIC_API_KEY": "k", "GITHUB_TOKEN": "host-secret", "OPENAI_API_KEY": "other provider's"})
	env := prepare(t, s).Variables()
	want := strings.Fields(`AGENTMUX_LAUNCH AGENTMUX_MARK AGENTMUX_SEAL ANTHROPIC_API_KEY CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC CLAUDE_CONFIG_DIR COLORTERM
		DISABLE_AUTOUPDATER DISABLE_TELEMETRY GIT_AUTHOR_EMAIL GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_NAME GIT_TERMINAL_PROMPT
		GOFLAGS HOME LANG MCP_TIMEOUT MCP_TOOL_TIMEOUT PATH SHELL TERM TMPDIR TZ USER XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME`)
	got := make([]string, 0, len(env))
	for name := range env {
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("variables\n%q, want\n%q", got, want)
	}
	if env["HOME"] != s.Env.Home || env["CLAUDE_CONFIG_DIR"] != s.Env.Home+"/.claude" || env["AGENTMUX_LAUNCH"] != s.Launch || env["USER"] != "agent" {
		t.Errorf("values: %v", env)
	}
}

// steering returns names that change which code runs in an agent's programs, or what git calls.
func steering() []string {
	return strings.Fields(`LD_PRELOAD DYLD_LIBRARY_PATH GLIBC_TUNABLES GCONV_PATH BASH_ENV BASH_FUNC_x ENV PROMPT_COMMAND ZDOTDIR NODE_OPTIONS NODE_PATH
		PYTHONPATH PYTHONSTARTUP PERL5OPT PERL5LIB PERLLIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS GIT_SSH_COMMAND GIT_CONFIG_COUNT GIT_EXEC_PATH
		NPM_AUTH NPM_TOKEN npm_config__auth PATH HOME`)
}

// A name does not show whether the value is a credential: only known names reach every agent.
func TestSecurity27OnlyKnownVariablesReachEveryAgent(t *testing.T) {
	refused := strings.Fields(`GH_TOKEN GITHUB_ACTIONS MY_TOKEN MY_SECRET_X DB_PASSWORD ACTIONS_RUNTIME_URL AWS_REGION AZURE_X
		GOOGLE_X SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS TMUX TMUX_PANE AGENTMUX_X CLAUDECODE gh_token A=B
		OPENAI_API_KEY ANTHROPIC_API_KEY STRIPE_KEY DB_PASS DATABASE_URL MY_PAT NETRC KUBECONFIG DOCKER_CONFIG PIP_INDEX_URL SENTRY_DSN MAKEFLAGS
		gocache MYAPP LC`)
	for _, name := range append(append(refused, ""), steering()...) {
		if agent.EnvAllowed(name) {
			t.Errorf("%q is allowed", name)
		}
		s := newSpec(t, "script")
		s.Env.Extra = map[string]string{name: "x"}
		if _, err := agent.Prepare(s); err == nil {
			t.Errorf("%q was passed on", name)
		}
	}
	for _, name := range append(agent.EnvNames(), "LC_ALL", "GOCACHE", "GOFLAGS", "GOTOOLCHAIN", "GOPROXY", "JAVA_HOME", "CARGO_HOME", "CI") {
		if !agent.EnvAllowed(name) {
			t.Errorf("%s is refused", name)
		}
	}
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Fields(string(text))
	for _, name := range agent.EnvNames() {
		if !slices.Contains(told, name) {
			t.Errorf("docs/configuration.md does not name %s", name)
		}
	}
}

// A provider's own list is the place for its key, and for nothing that loads code.
func TestAProviderGetsItsKeyAndNothingThatLoadsCode(t *testing.T) {
	for _, name := range steering() {
		if agent.EnvPassable(name) {
			t.Errorf("%s is passed on", name)
		}
		s := newSpec(t, "script")
		s.Provider.Env, s.Env.Lookup = []string{name}, lookup(map[string]string{name: "of the host"})
		if prepare(t, s).Variables()[name] == "of the host" {
			t.Errorf("%s was passed on", name)
		}
	}
	for name, p := range providers(t) {
		for _, env := range p.Env {
			if !agent.EnvPassable(env) {
				t.Errorf("%s does not get %s", name, env)
			}
		}
	}
}

// Tokens in credential files are renewed by use: a copy would end the person's own login.
func TestNoCredentialFileReachesTheAgentsHome(t *testing.T) {
	s := newSpec(t, "claude")
	person := filepath.Join(t.TempDir(), "real")
	writeFile(t, person+"/.claude/.credentials.json", `{"secret":"x"}`, 0o600)
	writeFile(t, person+"/.claude.json", `{"mine":1}`, 0o600)
	s.Env.RealHome = person
	l := prepare(t, s)
	env := l.Variables()
	if l.Login != agent.LoginShared || env["HOME"] != person {
		t.Errorf("launch %+v", l)
	}
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"} {
		if v, ok := env[name]; ok {
			t.Errorf("%s is set to %s", name, v)
		}
	}
	if readFile(t, person+"/.claude.json") != `{"mine":1}` {
		t.Error("the person's state file was changed")
	}
	err := filepath.WalkDir(filepath.Dir(s.Workdir), func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), "credentials") {
			t.Errorf("credential file %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	s.Unattended, s.AllowUnsafe = true, true
	if _, err := agent.Prepare(s); err == nil {
		t.Error("an unattended run got the person's home")
	}
}

func TestFirstDialogsAreAnsweredInThePrivateHome(t *testing.T) {
	s := newSpec(t, "claude")
	s.Env.Lookup = lookup(map[string]string{"ANTHROPIC_API_KEY": "sk-ant-0123456789abcdefghijklmnopqrst"})
	prepare(t, s)
	var got struct {
		Projects              map[string]struct{ HasTrustDialogAccepted bool }
		CustomApiKeyResponses struct{ Approved []string }
	}
	decode(t, filepath.Join(s.Env.Home, ".claude", ".claude.json"), &got)
	if !got.Projects[s.Workdir].HasTrustDialogAccepted || !slices.Equal(got.CustomApiKeyResponses.Approved, []string{"abcdefghijklmnopqrst"}) {
		t.Errorf("state %+v", got)
	}
}
