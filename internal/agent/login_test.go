package agent_test

import (
	"errors"
	"os"
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

// An account is told from others by its key and the address that it is asked at, by its directory, or by whose home it lies
// in. Nothing of a key is in it, and what is of a single agent is not either.
func TestAccountsAreToldApart(t *testing.T) {
	root := t.TempDir()
	writeFile(t, root+"/logins/claude/.credentials.json", "{}", 0o600)
	with := func(vars map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	}
	p := providers(t)["claude"]
	key := map[string]string{"ANTHROPIC_API_KEY": "key of ada"}
	seen := map[string]string{}
	for name, e := range map[string]agent.EnvSpec{
		"a key":           {Lookup: with(key)},
		"another key":     {Lookup: with(map[string]string{"ANTHROPIC_API_KEY": "key of eve"})},
		"another address": {Lookup: with(map[string]string{"ANTHROPIC_API_KEY": "key of ada", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"})},
		"another kind":    {Lookup: with(map[string]string{"ANTHROPIC_AUTH_TOKEN": "key of ada"})},
		"our login":       {Logins: root + "/logins"},
		"a person's":      {RealHome: "/home/ada"},
		"another's":       {RealHome: "/home/eve"},
	} {
		account := p.Account(e)
		if former := seen[account]; former != "" || len(account) != 12 {
			t.Errorf("%s is %q, as %s", name, account, former)
		}
		seen[account] = name
	}
	if a, b := p.Account(agent.EnvSpec{Lookup: with(key), Home: "/a", Path: "/bin"}), p.Account(agent.EnvSpec{Lookup: with(key), Home: "/b", RealHome: "/c"}); a != b {
		t.Errorf("one key is %s and %s", a, b)
	}
	if got := p.Account(agent.EnvSpec{}); got != "" {
		t.Errorf("without a login: %q", got)
	}
	ours := agent.EnvSpec{Logins: root + "/logins"}
	former := p.Account(ours)
	if err := errors.Join(os.Rename(root+"/logins/claude", root+"/logins/claude.old"), os.Mkdir(root+"/logins/claude", 0o700)); err != nil {
		t.Fatal(err)
	}
	if p.Account(ours) == former {
		t.Error("a new login of ours is the account of the former")
	}
}
