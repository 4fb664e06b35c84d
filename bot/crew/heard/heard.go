// Package heard follows what the programs of a session's launches say of themselves by their hooks.
package heard

import (
	"sync"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/orchestrator"
)

// Signals follows each launch from where it read last. To read a file a second time is harmless: the lines are hints. The
// zero value is ready, and safe for several goroutines.
type Signals struct {
	mu       sync.Mutex
	launches map[orchestrator.Launch]followed
}

type followed struct {
	offset int64
	status signal.Status
}

// Status returns what the signals of a launch add up to so far.
func (g *Signals) Status(dir string, launch orchestrator.Launch) signal.Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.launches[launch]
	list, offset, err := signal.Read(dir, f.offset)
	if err != nil {
		return f.status
	}
	if offset < f.offset {
		f.status = signal.Status{}
	}
	for _, s := range list {
		f.status = f.status.Apply(s)
	}
	f.offset = offset
	if g.launches == nil {
		g.launches = map[orchestrator.Launch]followed{}
	}
	g.launches[launch] = f
	return f.status
}

// AtRest reports whether the launch has ended or says that its turn is over, so that its end
// interrupts nothing.
func (g *Signals) AtRest(dir string, launch orchestrator.Launch) bool {
	if _, ended, err := agent.ReadExit(dir); err != nil || ended {
		return true
	}
	status := g.Status(dir, launch)
	return status.State == signal.Idle && status.TurnEnds > 0
}
