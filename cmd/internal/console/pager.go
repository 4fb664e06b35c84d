package console

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
)

// Paged gives text to the person's pager if out is a terminal, else writes it as it is.
func (c *Console) Paged(ctx context.Context, text []byte) error {
	argv := pager(os.LookupEnv)
	if !paint.Terminal(c.Raw) || len(argv) == 0 {
		_, err := c.Out.Write(text)
		return err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), c.Raw, Stream(c.Err)
	cmd.Env = os.Environ()
	for name, value := range map[string]string{"LESS": "FRX", "LV": "-c"} { // as git has it
		if _, set := os.LookupEnv(name); !set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		_, err = c.Out.Write(text)
	}
	if exit.As[*exec.ExitError](err) {
		return nil // the person has seen enough, or the pager has said what is wrong
	}
	return err
}

// pager returns the command that shows long texts; nothing if PAGER is empty or cat.
func pager(env func(string) (string, bool)) []string {
	name, set := env("PAGER")
	if !set {
		name = "less"
	}
	argv := strings.Fields(name)
	if len(argv) == 1 && argv[0] == "cat" {
		return nil
	}
	return argv
}
