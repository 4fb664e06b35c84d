package play

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/orchestrator/mcp"
)

// player does the steps of one agent.
type player struct {
	options Options
	who     Who
	prompt  string
	tools   *mcp.Client // opened by the first call
}

func (p *player) close() {
	if p.tools != nil {
		_ = p.tools.Close()
	}
}

func (p *player) do(ctx context.Context, s Step) error {
	switch {
	case s.Say != "":
		fmt.Fprintln(p.options.Out, s.Say)
	case s.Expect != "":
		return p.expect(s.Expect)
	case s.Write != nil:
		return p.write(*s.Write)
	case s.Edit != nil:
		return p.edit(*s.Edit)
	case s.Remove != "":
		return os.RemoveAll(p.path(s.Remove))
	case s.Run != nil:
		return p.run(ctx, *s.Run)
	case s.Wait != "":
		return p.wait(ctx, s.Wait)
	case s.Hear != "":
		return hear(ctx, p.callMCP, p.options.Out, s.Hear)
	case s.Submit != nil:
		return p.submit(ctx, *s.Submit)
	case s.Exit != nil:
		return ExitError(*s.Exit)
	case s.Crash:
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case s.Hang:
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// fill puts the agent's values into a path or an argument.
func (p *player) fill(s string) string {
	return strings.NewReplacer("{session}", p.options.Session, "{role}", p.who.Role, "{task}", p.who.Task,
		"{launch}", p.options.Launch).Replace(s)
}

// path is relative to the workspace, which is the working directory.
func (p *player) path(s string) string { return filepath.FromSlash(p.fill(s)) }

func (p *player) expect(want string) error {
	if !strings.Contains(p.prompt, want) {
		return fmt.Errorf("the prompt does not hold %q", want)
	}
	return nil
}

func (p *player) write(w Write) error {
	file := p.path(w.File)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	mode := os.FileMode(0o666)
	if w.Exec {
		mode = 0o777
	}
	data := []byte(w.Text)
	if w.From != "" {
		var err error
		if data, err = os.ReadFile(p.path(w.From)); err != nil {
			return err
		}
	}
	fmt.Fprintln(p.options.Out, "write", w.File)
	return os.WriteFile(file, data, mode)
}

func (p *player) edit(e Edit) error {
	file := p.path(e.File)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := bytes.Count(data, []byte(e.Old)); n != 1 {
		return fmt.Errorf("edit %s: the old text occurs %d times", e.File, n)
	}
	fmt.Fprintln(p.options.Out, "edit", e.File)
	return os.WriteFile(file, bytes.Replace(data, []byte(e.Old), []byte(e.New), 1), 0o666)
}

func (p *player) run(ctx context.Context, r Command) error {
	argv := make([]string, len(r.Argv))
	for i, arg := range r.Argv {
		argv[i] = p.fill(arg)
	}
	fmt.Fprintln(p.options.Out, "$", strings.Join(argv, " "))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = p.options.Out, p.options.Out
	err := cmd.Run()
	var failed *exec.ExitError
	switch {
	case r.Fails && err == nil:
		return fmt.Errorf("%s succeeded, the playbook expects a failure", argv[0])
	case r.Fails && errors.As(err, &failed):
		return nil
	}
	return err
}

func (p *player) wait(ctx context.Context, span string) error {
	d, err := time.ParseDuration(span)
	if err != nil || p.options.Fast {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// identity are the arguments that tell a tool process who calls.
func (p *player) identity() []string {
	args := []string{"--session", p.options.Session, "--role", p.options.Role, "--launch", p.options.Launch}
	if p.options.Task != "" {
		args = append(args, "--task", p.options.Task)
	}
	return args
}

func (p *player) submit(ctx context.Context, c ToolCall) error {
	answer, refused, err := p.call(ctx, c)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.options.Out, "%s: %s\n", c.Tool, answer)
	if refused != c.Refused {
		return fmt.Errorf("%s: refused is %v, the playbook expects %v: %s", c.Tool, refused, c.Refused, answer)
	}
	return nil
}

func (p *player) call(ctx context.Context, c ToolCall) (answer string, refused bool, err error) {
	if c.Via == "cli" {
		return p.callCLI(ctx, c)
	}
	params := map[string]any{}
	if c.With != nil {
		with, ok := c.With.Plain().(map[string]any)
		if !ok {
			return "", false, errors.New("submit: with is not a map")
		}
		params = with
	}
	return p.callMCP(ctx, c.Tool, params)
}

func (p *player) callMCP(ctx context.Context, tool string, params map[string]any) (answer string, refused bool, err error) {
	if p.tools == nil {
		argv := append([]string{p.options.Self, "mcp"}, p.identity()...)
		if p.tools, err = mcp.Dial(ctx, argv); err != nil {
			return "", false, err
		}
	}
	return p.tools.Call(ctx, tool, params)
}

func (p *player) callCLI(ctx context.Context, c ToolCall) (string, bool, error) {
	argv := append(append([]string{}, c.Args...), p.identity()...)
	cmd := exec.CommandContext(ctx, p.options.Self, argv...)
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == 1 {
		return string(out), true, nil
	}
	return string(out), false, err
}
