package hosting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// CopyLog prints the log of a session, to its end or while it grows.
func CopyLog(ctx context.Context, a *site.Finder, s *session.Session, last int, follow bool) error {
	f, err := session.ReadLog(s.Path(session.HostLog))
	if errors.Is(err, os.ErrNotExist) {
		a.Say("no log yet")
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if last >= 0 {
		if err := hostlog.SeekLines(f, last); err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.Copy(a.Out, f); err != nil {
			return err
		}
		if !follow || !session.Running(s.Dir) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
