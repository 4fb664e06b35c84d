package fakehub

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/hook"
)

// HookSpec describes a target of deliveries; the probabilities are drawn from the server's seed.
type HookSpec = hook.Spec

// SendHooks delivers the events from now on.
func (s *Server) SendHooks(spec HookSpec) {
	t := hook.Start(spec)
	s.mu.Lock()
	s.hooks = append(s.hooks, t)
	s.mu.Unlock()
}

// FlushHooks waits until everything is delivered, what a window holds back too, and
// returns the statuses answered (0 for no answer).
func (s *Server) FlushHooks(ctx context.Context) ([]int, error) {
	s.mu.Lock()
	targets := append([]*hook.Target(nil), s.hooks...)
	s.mu.Unlock()
	var statuses []int
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for _, t := range targets {
		for !t.Idle() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return statuses, ctx.Err()
			}
		}
		statuses = append(statuses, t.Results()...)
	}
	return statuses, nil
}

func (s *Server) closeHooks() {
	s.mu.Lock()
	targets := s.hooks
	s.hooks = nil
	s.mu.Unlock()
	for _, t := range targets {
		t.Close()
	}
}

// emit hands an event to each target; it is called under the server's lock.
func (h *hub) emit(r *repo, event, action string, payload obj) {
	if len(h.hooks) == 0 {
		return
	}
	body := obj{"repository": viewer{hub: h}.repoJSON(r)}
	if action != "" {
		body["action"] = action
	}
	maps.Copy(body, payload)
	data, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("fakehub: encode a delivery: %v", err))
	}
	for _, t := range h.hooks {
		d := hook.Delivery{ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", h.newID(), h.rand.Uint32()), Event: event, Body: data}
		d.BadSignature = h.rand.Float64() < t.BadSignature
		if h.rand.Float64() < t.Drop {
			continue
		}
		copies := 1
		if h.rand.Float64() < t.Double {
			copies = 2
		}
		t.Add(d, copies, int(h.rand.Uint32()>>1))
	}
}
