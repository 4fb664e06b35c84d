package host

import (
	"context"

	"github.com/agentmux/agentmux/orchestrator"
)

// MirrorSpec says whether the session is shown on its issue.
type MirrorSpec struct {
	On bool
	// HostID is the name of this host in the status comment.
	HostID string
	// Fence is asked before a comment; see ghsync.MirrorOptions. May be nil.
	Fence func(context.Context) error
}

// mirroring is a mirror that runs beside the engine; the zero value does nothing.
type mirroring struct{}

func (r *runner) startMirror(context.Context, MirrorSpec) *mirroring { return &mirroring{} }

func (m *mirroring) wake() {}

func (m *mirroring) finish(context.Context, *orchestrator.State) {}
