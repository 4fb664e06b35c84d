package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// interrupter is the terminal of a person who interrupts the command once it says a word.
type interrupter struct {
	bytes.Buffer
	at     string
	cancel context.CancelCauseFunc
}

func (i *interrupter) Write(p []byte) (int, error) {
	n, err := i.Buffer.Write(p)
	if strings.Contains(i.String(), i.at) {
		i.cancel(engine.Signal{Name: "interrupt"})
	}
	return n, err
}

// interruptedAt runs a command that is interrupted when it has said at, and returns what it said.
func (s *shopper) interruptedAt(at string, args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithCancelCause(s.t.Context())
	defer cancel(nil)
	out := &interrupter{at: at, cancel: cancel}
	if code := run(ctx, append([]string{"--project", s.clone}, args...), console.Streams{In: &typist{types("n\n")}, Out: out, Err: out, Terminal: true}); code != exit.Canceled {
		s.t.Fatalf("exit %d, want %d\n%s", code, exit.Canceled, out)
	}
	return out.String()
}

// cleansUp ends a run that no host runs as the interrupted command says.
func (s *shopper) cleansUp(name string) {
	s.t.Helper()
	var out bytes.Buffer
	if code := run(s.t.Context(), []string{"--project", s.clone, "agents", "cleanup", name}, console.Streams{Out: &out, Err: &out}); code != exit.Done {
		s.t.Errorf("cleanup: exit %d\n%s", code, &out)
	}
	if e := s.only(); !host.Removable(e.State) {
		s.t.Errorf("the run is in phase %s\n%s", e.State.Phase, &out)
	}
}

// An interrupt after the session was made and before its host was started is told of: the session is
// there, without a host, and what continues it is said. A second start continues it.
func TestStartInterruptedBeforeTheHost(t *testing.T) {
	testfull.Only(t)
	for name, tt := range map[string]struct {
		args []string
		next func(name string) string
	}{
		"agents":          {[]string{"agents", "start", "--yes"}, func(name string) string { return "agentmux agents start continues it, agentmux agents cleanup " + name }},
		"agents headless": {[]string{"agents", "start", "--yes", "--headless"}, func(name string) string { return "agentmux agents start continues it" }},
		"run":             {[]string{"run", "add words"}, func(name string) string { return "agentmux resume " + name + " continues it" }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShopper(t, teamFile)
			s.commit()
			out := s.interruptedAt("(config: ", tt.args...)
			e := s.only()
			if e.Running || e.State.Seq != session.FirstSeq {
				t.Fatalf("a host has begun: running %v, seq %d\n%s", e.Running, e.State.Seq, out)
			}
			if want := e.Name + " was made, and nothing of it runs: " + tt.next(e.Name); !strings.Contains(out, want) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
			if e.State.Kind == orchestrator.KindAgents {
				s.cleansUp(e.Name)
			}
		})
	}
}

// blocker is the terminal of a person whose start goes on only after something else has happened.
type blocker struct {
	bytes.Buffer
	at   string
	then func()
}

func (b *blocker) Write(p []byte) (int, error) {
	n, err := b.Buffer.Write(p)
	if b.then != nil && strings.Contains(b.String(), b.at) {
		then := b.then
		b.then = nil
		then()
	}
	return n, err
}

// stops runs agentmux stop, and returns what it said and its exit code.
func (s *shopper) stops(name string) (string, int) {
	var out bytes.Buffer
	code := run(s.t.Context(), []string{"--project", s.clone, "stop", name}, console.Streams{Out: &out, Err: &out})
	return out.String(), code
}

// A stop of a session that was made, and that no host runs yet, stops it: a start that was cut short is
// ended, and one that is under way reads it first.
func TestStopBeforeTheHost(t *testing.T) {
	testfull.Only(t)
	for name, args := range map[string][]string{
		"agents": {"agents", "start", "--yes", "--headless"}, "run": {"run", "add words", "--headless"},
	} {
		t.Run(name+", cut short", func(t *testing.T) {
			s := newShopper(t, teamFile)
			s.commit()
			s.interruptedAt("(config: ", args...)
			out, code := s.stops(s.only().Name)
			s.eventually("its host is gone", func() bool { return !s.only().Running }, nil)
			if e := s.only(); code != exit.Done || e.State.Outcome != orchestrator.OutcomeCanceled {
				t.Errorf("exit %d, outcome %q\n%s", code, e.State.Outcome, out)
			}
		})
		t.Run(name+", under way", func(t *testing.T) {
			s := newShopper(t, teamFile)
			s.commit()
			stopped := make(chan struct{})
			var told string
			var code int
			starting := &blocker{at: "(config: "}
			starting.then = func() {
				e := s.only()
				go func() {
					defer close(stopped)
					told, code = s.stops(e.Name)
				}()
				s.eventually("the stop is recorded or refused", func() bool {
					select {
					case <-stopped:
						return true
					default:
					}
					end, err := command.Unread(e.Dir)
					return err == nil && end > 0
				}, nil)
			}
			ended := run(t.Context(), append([]string{"--project", s.clone}, args...), console.Streams{Out: starting, Err: starting})
			<-stopped
			if e := s.only(); code != exit.Done || ended != exit.Canceled || e.State.Outcome != orchestrator.OutcomeCanceled {
				t.Errorf("stop: exit %d, start: exit %d, outcome %q\n%s\n%s", code, ended, e.State.Outcome, told, starting)
			}
		})
	}
}
