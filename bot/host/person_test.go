package host_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/tmux"
)

// person is one at a terminal of their own, which shows the pane of a launch.
type person struct {
	r      *rig
	server *tmux.Server
	pane   string
}

// attach has a person look at a launch.
func (r *rig) attach(dir string, launch orchestrator.Launch) person {
	r.t.Helper()
	r.eventually("the launch has a pane", func() bool { return r.started(dir, launch) })
	theirs := r.server(dir)
	panes, err := theirs.Panes(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	var argv []string
	for _, p := range panes {
		if p.Options["@agentmux_launch"] == string(launch) {
			argv, err = theirs.AttachArgs(r.state(dir).SessionName, p.ID)
		}
	}
	if err != nil || argv == nil {
		r.t.Fatal(argv, err)
	}
	desk, err := tmux.New(tmux.Options{Socket: filepath.Join(r.root, "desk.sock"), Tags: []string{"@desk"}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = desk.KillServer(context.Background()) })
	all, err := desk.Ensure(r.t.Context(), tmux.SessionSpec{Name: "desk", Window: tmux.WindowSpec{
		Name: "desk", Dir: r.root, Command: append([]string{"/usr/bin/env", "-u", "TMUX"}, argv...), Options: map[string]string{"@desk": "yes"},
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.eventually("the person is there", func() bool {
		there, err := theirs.Attached(r.t.Context())
		return err == nil && there
	})
	return person{r, desk, all[0].ID}
}

func (p person) press(keys ...string) {
	p.r.t.Helper()
	if out, err := p.server.SendKey(p.r.t.Context(), p.pane, keys...); err != nil || out.Delivery != tmux.Sent {
		p.r.t.Fatalf("press %q: %+v, %v", keys, out, err)
	}
}

// ahead has the host's clock be ahead of the machine's by what it returns.
func (r *rig) ahead(by time.Duration) *atomic.Int64 {
	var ahead atomic.Int64
	ahead.Store(int64(by))
	r.host.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	return &ahead
}

// What the host would type waits while a person types.
func TestProtocolP22NothingIsTypedIntoTheLineOfAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, "agents: {transport: tui}\n")
	ahead := r.ahead(5 * time.Second) // a screen is quiet at once, and a key is no older than that
	sc := simple()
	sc.Hold, sc.Listen = map[string]bool{"planner": true}, map[string]bool{"planner": true}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	at := r.attach(dir, "1.planner.1")
	r.eventually("the keys count", func() bool { // in the second of its start a terminal has none
		at.press("x", "BSpace")
		keys, err := r.server(dir).Keys(t.Context())
		return err == nil && len(keys) > 0
	})
	r.word()
	var reminder orchestrator.Message
	r.eventually("the reminder waits, or is typed", func() bool {
		for _, reminder = range r.state(dir).Messages {
			return reminder.Attempts > 0 || reminder.State != orchestrator.MessageQueued
		}
		return false
	})
	if reminder.State != orchestrator.MessageQueued {
		t.Errorf("typed while a person types: %+v", reminder)
	}
	ahead.Store(int64(time.Minute))
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if s.Agents["planner"].Retries != 0 {
		t.Errorf("agent: %+v", s.Agents["planner"])
	}
	typed := r.lastEvent(dir, orchestrator.EvPersonTyped).Data
	if want := (orchestrator.PersonTypedRecord{Launch: "1.planner.1", Role: "planner", Turn: 1}); r.count(dir, orchestrator.EvPersonTyped) != 1 || typed != want {
		t.Errorf("recorded: %+v", typed)
	}
}

// A person who only looks on has not taken part.
func TestProtocolP22WhoLooksOnHasNotTyped(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "agents: {transport: tui}\n")
	sc := simple()
	sc.Hold = map[string]bool{"planner": true}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.attach(dir, "1.planner.1")
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if r.count(dir, orchestrator.EvPersonTyped) != 0 {
		t.Errorf("recorded: %+v", r.lastEvent(dir, orchestrator.EvPersonTyped).Data)
	}
}

// A person who types may be about to answer the dialog.
func TestProtocolP22NoDialogIsAnsweredWhileAPersonTypes(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "agents: {transport: tui}\nproviders: {script: {trust: [{text: Do you trust, key: Enter}]}}\n")
	ahead := r.ahead(5 * time.Second)
	said := said{text: "could not be answered"}
	r.host.Log = slog.New(slog.NewTextHandler(&said, nil))
	sc := simple()
	sc.Hold, sc.Dialog = map[string]bool{"planner": true}, map[string]int{"planner": 1}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	at := r.attach(dir, "1.planner.1")
	at.press("x", "BSpace")
	r.word()
	var screen string
	r.eventually("the dialog is left alone, or answered", func() bool {
		screen, _ = at.server.Capture(t.Context(), at.pane, 0)
		return said.it.Load() || strings.Contains(screen, "trusted")
	})
	if strings.Contains(screen, "trusted") {
		t.Error("a key was pressed while a person types")
	}
	ahead.Store(int64(time.Minute))
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
}

// said is a log that remembers whether a text was in it.
type said struct {
	text string
	it   atomic.Bool
}

func (s *said) Write(line []byte) (int, error) {
	if strings.Contains(string(line), s.text) {
		s.it.Store(true)
	}
	return len(line), nil
}
