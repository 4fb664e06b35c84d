package crew_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/crew"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// What a host was typing when it died may have arrived: the next one does not type it again. Another
// delivery, of the same message too, is not held up by that.
func TestProtocolT7WhatAHostTypedBeforeItDiedIsNotTypedAgain(t *testing.T) {
	s, st := agentsRun(t)
	const launch = orchestrator.Launch("1-build-api-1")
	typed := s.Path("launches", string(launch), "typed")
	if err := os.MkdirAll(filepath.Dir(typed), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(typed, []byte("1.7"), 0o600); err != nil {
		t.Fatal(err)
	}
	runtime, err := os.MkdirTemp("", "amx") // short: a socket lies below
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(runtime)
	c := crew.New(crew.Options{Now: time.Now, RuntimeDir: runtime, Environ: os.LookupEnv}, crew.Spec{Session: s, State: st, Config: &config.Config{}})
	if err := c.Open(st); err != nil {
		t.Fatal(err)
	}
	st.Messages = []orchestrator.Message{{Seq: 1, File: "msgs/1.md", Type: "update", From: "shop/page", To: "shop/api", State: orchestrator.MessageQueued}}
	e := orchestrator.Effect{ID: "1.7", Type: orchestrator.EffDeliver, Args: orchestrator.Args{Seq: 1, Launch: launch}}
	if res, err := c.Deliver(t.Context(), e, st); err != nil || res.Delivery != orchestrator.DeliveryIndeterminate {
		t.Errorf("%+v, %v", res, err)
	}
	e.ID = "1.70"
	if res, err := c.Deliver(t.Context(), e, st); err != nil || res.Delivery != orchestrator.DeliveryRefused { // no server runs
		t.Errorf("another delivery: %+v, %v", res, err)
	}
}

// agentsRun is a session of an agents file with one agent.
func agentsRun(t *testing.T) (*session.Session, *orchestrator.State) {
	t.Helper()
	st := orchestrator.NewState()
	st.Kind, st.Settings, st.BaseSHA = orchestrator.KindAgents, orchestrator.DefaultSettings(), "abc"
	s, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: time.Now(), Name: "shop", Agents: []byte("session: shop\nagents:\n  - {name: api, branch: b, task: t}\n"), State: *st,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, st
}
