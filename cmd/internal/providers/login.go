package providers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
)

// Login runs a CLI's own login in a directory that only agentmux uses.
func Login(ctx context.Context, a *site.Finder, name string) (err error) {
	p, err := Find(a, name)
	if err != nil {
		return err
	}
	if err := p.CheckLogin(); err != nil {
		return exit.Usage(err)
	}
	if !a.Terminal {
		return exit.UsageText("a login needs a terminal")
	}
	run, err := p.StartLogin(filepath.Join(site.StateHome(), "logins"), os.Getenv("PATH"), os.Getenv("TERM"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Abort()) }()
	cmd := exec.CommandContext(ctx, run.Argv[0], run.Argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = slices.Clone(run.Env), os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s was not logged in: %w", name, err)
	}
	if err := run.Finish(); err != nil {
		return err
	}
	a.Say("logged in; sessions use it from their next agent on")
	return nil
}
