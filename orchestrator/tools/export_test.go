package tools

import (
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// On returns the caller with a disk of its own.
func (c Caller) On(disk durable.Disk) Caller {
	c.open = func(dir string) (*session.Session, error) { return session.OpenOn(dir, disk) }
	return c
}
