package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/document"
)

// newToken returns a value in the form of no real token.
func newToken() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails
	return "demo_" + hex.EncodeToString(b[:])
}

// userConfig is the configuration a person would have in their home.
type userConfig struct {
	Version   int                       `doc:"version"`
	Defaults  map[string]string         `doc:"defaults"`
	Providers map[string]map[string]any `doc:"providers"`
	Sandbox   map[string]any            `doc:"sandbox"`
	Workspace map[string]string         `doc:"workspace"`
}

// prepare makes the home of the demonstration: configuration, playbook, clone.
func (st *stage) prepare(ctx context.Context) error {
	home := filepath.Join(st.dir, "home")
	playbook := filepath.Join(st.dir, "playbook.yaml")
	args := []string{playbook}
	if st.Fast {
		args = append(args, "--fast")
	}
	cfg, err := document.Encode(userConfig{
		Version:   2,
		Defaults:  map[string]string{"provider": "script"},
		Providers: map[string]map[string]any{"script": {"interactive_args": args, "headless_args": args}},
		Sandbox:   map[string]any{"env_allow": []string{"GOCACHE", "GOFLAGS", "GOTOOLCHAIN"}},
	})
	if err != nil {
		return err
	}
	for file, data := range map[string][]byte{
		playbook: playbookYAML,
		filepath.Join(home, ".config", "agentmux", "config.yaml"): cfg,
		filepath.Join(home, ".gitconfig"):                         []byte("[user]\n\tname = Mia\n\temail = mia@example.com\n"),
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	st.env = st.environment(home)
	url := st.github.base + "/" + st.scenario.name() + ".git"
	out, err := st.command(ctx, st.dir, "git", "clone", "--quiet", url, st.clone()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("clone: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// environment is a person's, with the fake GitHub in place of the real one.
func (st *stage) environment(home string) []string {
	run := filepath.Join(st.dir, "r")
	env := []string{
		"HOME=" + home, "XDG_RUNTIME_DIR=" + run, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LANG=C.UTF-8",
		"GITHUB_API_URL=" + st.github.base, "GITHUB_SERVER_URL=" + st.github.base,
		"AGENTMUX_GITHUB_TOKEN=" + st.tokens.Account, "GOCACHE=" + goCache(st.dir), "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local",
	}
	for _, name := range []string{"PATH", "TERM", "TMPDIR", "USER", "SHELL", "NO_COLOR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	_ = os.Mkdir(run, 0o700)
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

// work runs agentmux on the issue and prints the comments as they appear.
func (st *stage) work(ctx context.Context) error {
	st.heading("agentmux issue 1 --headless")
	log, err := os.Create(filepath.Join(st.dir, "agentmux.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := st.command(ctx, st.clone(), st.Self, "issue", "1", "--headless")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	feed := &feed{st: st}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return errors.Join(st.explain(err), feed.poll(ctx))
		case <-tick.C:
			if err := feed.poll(ctx); err != nil && ctx.Err() == nil {
				return errors.Join(err, cmd.Process.Signal(os.Interrupt), <-done)
			}
		}
	}
}

// explain adds the end of the log to an error of the run.
func (st *stage) explain(err error) error {
	if err == nil {
		return nil
	}
	data, _ := os.ReadFile(filepath.Join(st.dir, "agentmux.log"))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return fmt.Errorf("agentmux issue 1: %w\n%s", err, strings.Join(lines[max(0, len(lines)-15):], "\n"))
}
