package main

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
)

// Twenty agents send while processes of hosts are killed, and none of the messages is read: each that was
// sent waits for its reader, once, in the order of the index. AGENTMUX_WAITING is how many; of more
// than 250 the writers have to wait until some are read, which here nothing does.
func TestProtocolT9KilledHostsLoseNoMessageThatWaits(t *testing.T) {
	t.Parallel()
	const agents = 20
	n := fromEnv(t, "AGENTMUX_WAITING", 100)
	p := newPostRoom(t, agents)
	p.start("refused", agents)
	callers := make([]tools.Caller, agents)
	for i := range callers {
		callers[i] = p.agent(i)
	}
	var sent atomic.Int64
	var writers sync.WaitGroup
	for i := range agents {
		writers.Go(func() {
			for k := range (n + agents - 1 - i) / agents {
				p.send(callers[i], (i+1+k%(agents-1))%agents, "The port is 8080.")
				sent.Add(1)
			}
		})
	}
	kills := 0
	for next := int64(1); next < int64(n); next += int64(n)/10 + 1 {
		for sent.Load() < next {
			time.Sleep(time.Millisecond)
		}
		p.kill()
		p.spawn("refused")
		kills++
	}
	writers.Wait()
	p.until("all are taken", func(st *orchestrator.State) bool { return st.MessageSeq >= n })
	p.kill()
	p.send(callers[0], 1, "after the kill")
	began := time.Now()
	p.spawn("refused")
	p.until("the last is taken", func(st *orchestrator.State) bool { return st.MessageSeq > n })
	t.Logf("%d messages wait, %d hosts were killed; the last one started in %s", n, kills+1, time.Since(began))
	p.kill()
	p.waits(n + 1)
}

// waits checks that so many messages wait for their readers.
func (p *postRoom) waits(n int) {
	p.Helper()
	st, err := p.s.ReadState()
	if err != nil {
		p.Fatal(err)
	}
	lines, _, err := p.s.Lines(session.MessageIndex, orchestrator.Cursor{}, 1<<30)
	if err != nil || len(lines) != n || st.MessageSeq != n || len(st.Messages) != n {
		p.Fatalf("%d lines, %d messages with numbers up to %d, want %d: %v", len(lines), len(st.Messages), st.MessageSeq, n, err)
	}
	for i, m := range st.Messages {
		payload, err := lines[i].Decode()
		if err != nil || payload.File != m.File || m.Seq != i+1 || m.State != orchestrator.MessageQueued || m.Again {
			p.Fatalf("line %d names %s, message %+v: %v", i+1, payload.File, m, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(p.s.Path(session.MessagesDir), "*.md"))
	if err != nil || len(files) != n {
		p.Errorf("%d files of %d messages: %v", len(files), n, err)
	}
	if err := session.CheckDir(p.s.Dir).Err(); err != nil {
		p.Error(err)
	}
}
