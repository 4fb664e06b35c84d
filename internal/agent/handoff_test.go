package agent_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

func TestServeEndsWithoutAnAgentExecThatAsks(t *testing.T) {
	s := newSpec(t, "script")
	l, err := agent.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	h, err := l.Offer(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Serve(t.Context(), 1<<30); err != nil {
		t.Errorf("without a process: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Serve(ctx, os.Getpid()); !errors.Is(err, context.Canceled) {
		t.Errorf("with a process that does not ask: %v", err)
	}
}
