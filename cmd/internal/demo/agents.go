package demo

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/document"
)

//go:embed agents.yaml
var agentsYAML []byte

//go:embed agents_playbook.yaml
var agentsPlaybook []byte

// agentsClone is the name of the repository of RunAgents.
const agentsClone = "shop"

// RunAgents plays the demonstration of an agents file: a plan, two agents that wait for it, one of
// which fails, and a review that waits for both; the person looks, and has the one that failed try
// again. There is no GitHub: what the agents make are branches of the clone.
func RunAgents(ctx context.Context, o Options) error {
	return runTeam(ctx, o, `Several agents work on one project, each on a branch of its own, in the order of
what they depend on. Scripted agents in tmux; no token, no model, no network.`, func(st *stage) []func(context.Context) error {
		return []func(context.Context) error{st.prepareAgents, st.startAgents, st.retryAgents, st.showAgents}
	})
}

// runTeam plays a demonstration of an agents file.
func runTeam(ctx context.Context, o Options, about string, steps func(*stage) []func(context.Context) error) (err error) {
	dir, err := os.MkdirTemp("", "agentmux-demo-")
	if err != nil {
		return err
	}
	st := &stage{Options: o, scenario: scenario{Repository: agentsClone}, dir: dir, began: time.Now(), page: &page{out: o.Out}}
	defer func() {
		if err != nil { // a host may run apart from us
			_ = st.command(context.WithoutCancel(ctx), st.clone(), o.Self, "stop", "shop").Run() // or none runs
		}
		ended := endServers(context.WithoutCancel(ctx), st.runtime())
		err = errors.Join(err, ended)
		if !o.Keep {
			err = errors.Join(err, removeAll(dir))
		}
	}()
	st.page.print(about)
	for _, step := range steps(st) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	st.page.heading("For a project of your own")
	st.page.print(`  cd your-clone
  agentmux agents init   # asks for agents and writes .dmux-agents.yml
  agentmux agents start  # shows what it would start, and asks`)
	if o.Keep {
		st.page.print(fmt.Sprintf("\nKept: %s\n  %s          the clone\n  home/.config  the configuration\nRemove the directory when you are done with it.", dir, agentsClone))
	}
	return nil
}

// prepareAgents makes what the person has: a home with a configuration, and a clone with an agents file.
func (st *stage) prepareAgents(ctx context.Context) error {
	return st.furnishAgents(ctx, agentsPlaybook, agentsYAML, nil)
}

// furnishAgents makes a home and a clone with an agents file and with more files, by their names.
func (st *stage) furnishAgents(ctx context.Context, play, file []byte, more map[string][]byte) error {
	home, playbook := filepath.Join(st.dir, "home"), filepath.Join(st.dir, "playbook.yaml")
	args := []string{playbook}
	if st.Fast {
		args = append(args, "--fast")
	}
	cfg, err := document.Encode(userConfig{
		Version:   2,
		Defaults:  map[string]string{"provider": "script"},
		Providers: map[string]map[string]any{"script": {"interactive_args": args, "headless_args": args}},
	})
	if err != nil {
		return err
	}
	files := map[string][]byte{
		playbook: play,
		filepath.Join(home, ".config", "agentmux", "config.yaml"): cfg,
		filepath.Join(home, ".gitconfig"):                         []byte("[user]\n\tname = Mia\n\temail = mia@example.com\n[init]\n\tdefaultBranch = main\n"),
		filepath.Join(st.clone(), "README.md"):                    []byte("# shop\n"),
		filepath.Join(st.clone(), ".dmux-agents.yml"):             file,
	}
	for name, data := range more {
		files[filepath.Join(st.clone(), filepath.FromSlash(name))] = data
	}
	for file, data := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	if err := os.Mkdir(st.runtime(), 0o700); err != nil {
		return err
	}
	st.env = []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + st.runtime(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "TERM", "TMPDIR", "USER", "SHELL", "NO_COLOR"} {
		if v, ok := os.LookupEnv(name); ok {
			st.env = append(st.env, name+"="+v)
		}
	}
	for _, argv := range [][]string{{"git", "init", "--quiet"}, {"git", "add", "README.md"}, {"git", "commit", "--quiet", "-m", "Open the shop"}} {
		if out, err := st.command(ctx, st.clone(), argv...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(out))
		}
	}
	st.page.heading("An agents file")
	st.page.indented("  ", strings.TrimSpace(string(file)))
	return nil
}

// startAgents runs the agents, of which one fails.
func (st *stage) startAgents(ctx context.Context) error {
	st.page.heading("One of them fails: what waits for it is blocked, the rest is done")
	if err := st.agentmux(ctx, 1, "agents", "start", "--yes", "--headless"); err != nil {
		return err
	}
	return st.agentmux(ctx, 0, "agents", "status")
}

// retryAgents has the one that failed try again, where its work lies.
func (st *stage) retryAgents(ctx context.Context) error {
	st.page.heading("Another try, with what it had written")
	if err := st.agentmux(ctx, 0, "retry", "--role", "words"); err != nil {
		return err
	}
	if err := st.agentmux(ctx, 0, "agents", "start", "--yes", "--headless"); err != nil {
		return err
	}
	return st.agentmux(ctx, 0, "agents", "status")
}

// showAgents prints what came out, and removes the worktrees.
func (st *stage) showAgents(ctx context.Context) error {
	st.page.heading("The branches in the clone, which is still on main")
	for _, argv := range [][]string{
		{"git", "--no-pager", "log", "--graph", "--format=%h %D: %s", "--branches"},
		{"git", "status", "--short", "--branch"},
	} {
		if err := st.user(ctx, argv...); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
		}
	}
	if err := st.agentmux(ctx, 0, "agents", "changelog"); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(st.clone(), "AGENTS_CHANGELOG.md"))
	if err != nil {
		return err
	}
	st.page.indented("  ", strings.TrimSpace(string(text)))
	return st.agentmux(ctx, 0, "agents", "cleanup")
}

// agentmux types a command of ours in the clone, and fails unless it ends with a code.
func (st *stage) agentmux(ctx context.Context, want int, args ...string) error {
	words := slices.Concat([]string{"agentmux"}, args)
	st.page.print("$ " + strings.Join(words, " "))
	cmd := st.command(ctx, st.clone(), append([]string{st.Self}, args...)...)
	cmd.Stdout, cmd.Stderr = st.page, st.page
	err := cmd.Run()
	code := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.As(err, &code):
		return err
	case cmd.ProcessState.ExitCode() != want:
		return fmt.Errorf("%s: exit %d, not %d", strings.Join(words, " "), cmd.ProcessState.ExitCode(), want)
	}
	st.page.print("")
	return nil
}
