package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/agentmux/agentmux/internal/agent/process"
)

// Stop ends the launch in dir from outside, see process.Stop. agent-exec, its process p,
// writes exit.json unless it has to be killed. A launch that was never prepared has no process.
func Stop(ctx context.Context, p process.Process, dir string) error {
	l, err := ReadLaunch(dir)
	if errors.Is(err, fs.ErrNotExist) && p == (process.Process{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop launch: %w", err)
	}
	if err := process.Stop(ctx, p, l.Mark); err != nil {
		return fmt.Errorf("stop launch %s: %w", l.Launch, err)
	}
	return nil
}
