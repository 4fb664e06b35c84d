package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// newToken returns a value in the form of no real token.
func newToken() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails
	return "demo_" + hex.EncodeToString(b[:])
}

// userConfig is the configuration an operator would have in their home.
type userConfig struct {
	Version   int                       `doc:"version"`
	Defaults  map[string]string         `doc:"defaults"`
	Providers map[string]map[string]any `doc:"providers"`
	GitHub    map[string]string         `doc:"github"`
	Save      map[string]bool           `doc:"checkpoint"`
	Bot       map[string]string         `doc:"bot"`
	Gate      map[string]bool           `doc:"gate"`
	Followup  map[string]string         `doc:"followup"`
	Sandbox   map[string]any            `doc:"sandbox"`
}

// prepare starts the fake GitHub and the bot, each in a process of its own, and makes what people
// have: a home with a configuration, and a clone.
func (st *stage) prepare(ctx context.Context) (err error) {
	st.introduce()
	if st.log, err = os.Create(filepath.Join(st.dir, "bot.log")); err != nil {
		return err
	}
	hooks, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	b := briefing{Maintainer: newToken(), Account: newToken(), Hook: "http://" + hooks + "/webhook", Secret: newToken()}
	if st.github, err = startGitHub(st, b); err != nil {
		return err
	}
	home := filepath.Join(st.dir, "home")
	if err := st.furnish(home); err != nil {
		return err
	}
	if err := os.Mkdir(st.runtime(), 0o700); err != nil {
		return err
	}
	st.env = st.environment(home, b.Account)
	if st.bot, err = startBot(st, hooks, b.Secret); err != nil {
		return err
	}
	out, err := st.command(ctx, st.dir, "git", "clone", "--quiet", st.github.base+"/"+st.scenario.name()+".git", st.clone()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("clone: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// furnish writes the files of the home, and the playbook.
func (st *stage) furnish(home string) error {
	playbook := filepath.Join(st.dir, "playbook.yaml")
	args := []string{playbook}
	if st.Fast {
		args = append(args, "--fast")
	}
	cfg, err := document.Encode(userConfig{
		Version:   2,
		Defaults:  map[string]string{"provider": "script", "workflow": "quick"},
		Providers: map[string]map[string]any{"script": {"interactive_args": args, "headless_args": args}},
		GitHub:    map[string]string{"write_interval": "100ms"}, // GitHub itself asks for 1s
		Save:      map[string]bool{"remote": false},             // its pushes count with those of claims, six a minute
		Bot:       map[string]string{"poll_interval": "5s", "status_addr": ""},
		Gate:      map[string]bool{"public_unsandboxed": true},
		Followup:  map[string]string{"quiet": "1s"}, // 5m would gather what more is said
		Sandbox:   map[string]any{"env_allow": []string{"GOCACHE", "GOFLAGS", "GOTOOLCHAIN"}},
	})
	if err != nil {
		return err
	}
	for file, data := range map[string][]byte{
		playbook: playbookYAML,
		filepath.Join(home, ".config", "agentmux", "config.yaml"): cfg,
		filepath.Join(home, ".gitconfig"):                         []byte("[user]\n\tname = Robo\n\temail = robo@example.com\n"),
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// runtime is where sockets lie.
func (st *stage) runtime() string { return filepath.Join(st.dir, "r") }

// environment is a person's, with the fake GitHub in place of the real one.
func (st *stage) environment(home, token string) []string {
	env := []string{
		"HOME=" + home, "XDG_RUNTIME_DIR=" + st.runtime(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LANG=C.UTF-8",
		"GITHUB_API_URL=" + st.github.base, "GITHUB_GRAPHQL_URL=" + st.github.base + "/graphql", "GITHUB_SERVER_URL=" + st.github.base,
		"AGENTMUX_GITHUB_TOKEN=" + token, "GOCACHE=" + goCache(st.dir), "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local",
	}
	for _, name := range []string{"PATH", "TERM", "TMPDIR", "USER", "SHELL", "NO_COLOR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// goCache is the person's build cache, so that the demonstration's tests do not
// compile the standard library again; else one of its own.
func goCache(dir string) string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if cache := strings.TrimSpace(string(out)); err == nil && filepath.IsAbs(cache) {
		return cache
	}
	return filepath.Join(dir, "gocache")
}
