package agent_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

func TestLoginOrder(t *testing.T) {
	root := t.TempDir()
	token := lookup(map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "t"})
	writeFile(t, root+"/logins/claude/.credentials.json", "{}", 0o600)
	for name, c := range map[string]struct {
		provider string
		env      agent.EnvSpec
		want     agent.LoginKind
		dir      string
	}{
		"a token is first":             {"claude", agent.EnvSpec{Logins: root + "/logins", RealHome: root + "/real", Lookup: token}, agent.LoginToken, root + "/home/.claude"},
		"the login of agentmux second": {"claude", agent.EnvSpec{Logins: root + "/logins", RealHome: root + "/real"}, agent.LoginOwn, root + "/logins/claude"},
		"the person's login third":     {"claude", agent.EnvSpec{RealHome: root + "/real"}, agent.LoginShared, ""},
		"a program without a login":    {"script", agent.EnvSpec{}, agent.LoginNone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.env.Home = root + "/home"
			kind, dir, err := providers(t)[c.provider].Login(c.env)
			if err != nil || kind != c.want || dir != c.dir {
				t.Errorf("%q in %q, %v; want %q in %q", kind, dir, err, c.want, c.dir)
			}
		})
	}
	t.Run("no login", func(t *testing.T) {
		_, _, err := providers(t)["claude"].Login(agent.EnvSpec{Home: root + "/home"})
		if !errors.Is(err, agent.ErrNoLogin) || !strings.Contains(err.Error(), "CLAUDE_CODE_OAUTH_TOKEN") {
			t.Errorf("error %v, want ErrNoLogin with the variable", err)
		}
	})
}

func TestANewLoginReplacesTheOldOne(t *testing.T) {
	s := newSpec(t, "claude")
	logins := filepath.Join(t.TempDir(), "logins")
	writeFile(t, logins+"/claude/old", "", 0o600)
	run, err := s.Provider.StartLogin(logins, s.Env.Path, "xterm")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(run.Env, func(v string) bool { return strings.HasPrefix(v, "CLAUDE_CONFIG_DIR=") })
	dir := strings.TrimPrefix(run.Env[i], "CLAUDE_CONFIG_DIR=")
	if dir == logins+"/claude" || !slices.Contains(run.Env, "HOME="+dir) {
		t.Errorf("login in use or in another home: %q", run.Env)
	}
	writeFile(t, dir+"/new", "", 0o600)
	if err := errors.Join(run.Finish(), run.Abort()); err != nil {
		t.Fatal(err)
	}
	if !exists(logins+"/claude/new") || exists(logins+"/claude/old") {
		t.Error("the new login does not replace the old one")
	}
	second, err := s.Provider.StartLogin(logins, s.Env.Path, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Abort(); err != nil {
		t.Fatal(err)
	}
	if !exists(logins + "/claude/new") {
		t.Error("an aborted login removed the old one")
	}
}

func TestAProgramWithoutALoginOfItsOwnSaysWhatItTakes(t *testing.T) {
	for name, want := range map[string]string{
		"script": "script needs no login",
		"qwen":   "qwen has no login of our own; set OPENAI_API_KEY or DASHSCOPE_API_KEY for agentmux",
	} {
		t.Run(name, func(t *testing.T) {
			if err := providers(t)[name].CheckLogin(); err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
}
