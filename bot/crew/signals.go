package crew

import (
	"sync"

	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/orchestrator"
)

// signals follows what the programs of the launches report by their hooks. To read a file a
// second time is harmless: the lines are hints.
type signals struct {
	mu       sync.Mutex
	launches map[orchestrator.Launch]followed
}

type followed struct {
	offset int64
	status signal.Status
}

// status returns what the signals of a launch add up to so far.
func (g *signals) status(dir string, launch orchestrator.Launch) signal.Status {
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
	g.launches[launch] = f
	return f.status
}
