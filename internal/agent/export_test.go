package agent

import "context"

// ServeAny is Serve for an agent-exec that the test starts itself, whenever it does.
func (h *Handoff) ServeAny(ctx context.Context) error {
	return h.serve(ctx, func(int) bool { return true }, func() bool { return ctx.Err() == nil })
}

// Variables are what the launch's program gets.
func (l Launch) Variables() map[string]string { return l.env }
