package crew

import (
	"sync"

	"github.com/agentmux/agentmux/internal/agent"
)

// signals follows what the programs of the launches report by their hooks. Reading
// again what is gone is harmless: the lines are hints.
type signals struct {
	mu       sync.Mutex
	launches map[string]followed
}

type followed struct {
	offset int64
	status agent.Status
}

// status is what the signals of a launch add up to by now.
func (g *signals) status(dir, launch string) agent.Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.launches[launch]
	list, offset, err := agent.Signals(dir, f.offset)
	if err != nil {
		return f.status
	}
	if offset < f.offset {
		f.status = agent.Status{}
	}
	for _, s := range list {
		f.status = f.status.Apply(s)
	}
	f.offset = offset
	g.launches[launch] = f
	return f.status
}
