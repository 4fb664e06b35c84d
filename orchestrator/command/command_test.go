package command_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/workflows"
)

// desk is a session that has begun, with what its host does when it reads commands.
type desk struct {
	*testing.T
	*session.Session
	def *workflows.Definition
	st  *orchestrator.State
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	_, data, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: time.Now(), Source: "tokens", Request: "Refuse expired tokens.", Definition: data,
		State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "abc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	d := &desk{T: t, Session: s}
	if d.def, err = s.Definition(); err != nil {
		t.Fatal(err)
	}
	if d.st, err = s.Recover(time.Now()); err != nil {
		t.Fatal(err)
	}
	d.input(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
	return d
}

func (d *desk) input(in orchestrator.Input) {
	d.Helper()
	in.At = time.Now()
	step, err := decide.Reduce(d.def, d.st, in)
	if err == nil {
		err = d.Commit(step)
	}
	if err != nil {
		d.Fatal(err)
	}
	d.st = step.State
}

func (d *desk) lines() []orchestrator.Line {
	d.Helper()
	lines, _, err := d.Lines(session.Commands, d.st.CommandCursor, 0)
	if err != nil {
		d.Fatal(err)
	}
	return lines
}

// read has the host read what was appended.
func (d *desk) read() {
	d.Helper()
	for _, l := range d.lines() {
		d.input(orchestrator.Input{Kind: orchestrator.InCommand, Line: &l})
	}
}

func said(name, source, text string) orchestrator.Payload {
	return orchestrator.Payload{Name: name, Args: orchestrator.CommandArgs{Text: text}, Actor: "ann", Source: "issue", SourceID: source}
}

func TestACommandOfOneSourceIsRecordedOnce(t *testing.T) {
	d := newDesk(t)
	for i, c := range []struct {
		p    orchestrator.Payload
		want bool
	}{
		{said("say", "comment/7", "hi"), true}, {said("say", "comment/7", "hi"), false},
		{orchestrator.Payload{Name: "pause"}, true}, {orchestrator.Payload{Name: "pause"}, true},
	} {
		recorded, err := command.Append(d.Dir, c.p)
		if err != nil || recorded != c.want {
			t.Errorf("command %d: recorded %v, %v", i, recorded, err)
		}
	}
	lines := d.lines()
	if len(lines) != 3 || lines[0].Tool != "command" || !strings.Contains(string(lines[0].Payload), `"source_id":"comment/7"`) {
		t.Fatalf("lines are %+v", lines)
	}
}

// A note says what became of a command without the session, which does not read it as one. It is
// written once, and never for a command that the session has.
func TestANoteIsNotForTheSession(t *testing.T) {
	d := newDesk(t)
	note := said("stop", "comment/8", "")
	note.State, note.Reason = orchestrator.NoteRefused, "it was edited"
	for _, want := range []bool{true, false} {
		if recorded, err := command.Note(d.Dir, note); err != nil || recorded != want {
			t.Errorf("recorded %v, %v", recorded, err)
		}
	}
	if _, err := command.Append(d.Dir, said("say", "comment/9", "hi")); err != nil {
		t.Fatal(err)
	}
	note.SourceID = "comment/9"
	if recorded, err := command.Note(d.Dir, note); err != nil || recorded {
		t.Errorf("of a command: recorded %v, %v", recorded, err)
	}
	for source, want := range map[string]string{"comment/8": orchestrator.NoteRefused, "comment/9": ""} {
		if p, ok, err := command.Known(d.Dir, source); !ok || err != nil || p.State != want {
			t.Errorf("%s: %+v, %v, %v", source, p, ok, err)
		}
	}
	if p, ok, err := command.Known(d.Dir, "comment/10"); ok || err != nil {
		t.Errorf("%+v, %v, %v", p, ok, err)
	}
	d.read()
	if d.st.Ended() || len(d.lines()) != 0 {
		t.Errorf("outcome %q, unread %v", d.st.Outcome, d.lines())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	results, err := command.ResultsOf(d.Dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := results.Read(); err != nil {
		t.Fatal(err)
	}
	if c, ok := results.Of("comment/8"); ok {
		t.Errorf("the session decided about a note: %+v", c)
	}
	if c, ok := results.Of("comment/9"); !ok || c.Result != story.CommandQueued {
		t.Errorf("say: %+v, %v", c, ok)
	}
}

func TestResultsNameTheirSource(t *testing.T) {
	d := newDesk(t)
	results, err := command.ResultsOf(d.Dir, d.st.Seq)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []orchestrator.Payload{said("pause", "comment/1", ""), said("pause", "comment/2", ""), said("fly", "comment/3", "")} {
		if _, err := command.Append(d.Dir, p); err != nil {
			t.Fatal(err)
		}
		if _, known := results.Of(p.SourceID); known {
			t.Errorf("%s is known before it was read", p.SourceID)
		}
	}
	d.read()
	if err := results.Read(); err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]story.CommandResult{"comment/1": story.CommandApplied, "comment/2": story.CommandRefused, "comment/3": story.CommandRefused} {
		if c, ok := results.Of(source); !ok || c.Result != want {
			t.Errorf("%s: %+v, %v", source, c, ok)
		}
	}
	if _, ok := results.Of(""); ok {
		t.Error("a command without a source was found")
	}
}

func TestAnApprovalIsBoundToTheOpenGate(t *testing.T) {
	d := newDesk(t)
	var refused *command.RefusedError
	if _, err := command.Append(d.Dir, said("approve", "comment/1", "")); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "no gate is open") {
		t.Errorf("without a gate: %v", err)
	}
	if len(d.lines()) != 0 {
		t.Errorf("lines %v", d.lines())
	}
}

func TestForesee(t *testing.T) {
	d := newDesk(t)
	if err := command.Foresee(d.Dir, d.st, said("say", "", "hi"), false); err != nil {
		t.Errorf("say: %v", err)
	}
	var refused *command.RefusedError
	if err := command.Foresee(d.Dir, d.st, said("answer", "", "yes"), false); !errors.As(err, &refused) || refused.Reason != "no question is open" {
		t.Errorf("answer: %v", err)
	}
	if got := command.TextFault("changes", " \n"); got != "changes needs a text" {
		t.Errorf("%q", got)
	}
	if got := command.TextFault("stop", ""); got != "" {
		t.Errorf("%q", got)
	}
}

// Which commands start a host for a session without one, and which cannot count there.
func TestASessionWithoutAHost(t *testing.T) {
	live, parked, failed := &orchestrator.State{Phase: "planning"}, &orchestrator.State{Phase: "planning", Outcome: orchestrator.OutcomeNeedsHuman}, &orchestrator.State{Phase: orchestrator.PhaseFailed, Outcome: orchestrator.OutcomeFailed}
	done, pull := &orchestrator.State{Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone}, &orchestrator.State{Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone}
	pull.Completion.PRNumber = 7
	for name, c := range map[string]struct {
		s     *orchestrator.State
		wakes string
		unfit map[string]string
	}{
		"live":   {live, "", map[string]string{"stop": "is not running", "pause": "is not running"}},
		"parked": {parked, "changes retry stop", map[string]string{"pause": "is not running"}},
		"failed": {failed, "", map[string]string{"stop": "is not running", "pause": "is not running"}},
		"done": {done, "changes", map[string]string{
			"stop": "is done, there is nothing to stop", "pause": "is done, there is nothing to pause", "say": "is done, there is nothing to say",
			"retry": "is done, there is nothing to retry", "approve": "is done, there is nothing to approve", "changes": "is done without a pull request",
		}},
		"with a pull request": {pull, "changes", map[string]string{
			"stop": "is done, there is nothing to stop", "pause": "is done, there is nothing to pause", "say": "is done, there is nothing to say",
			"retry": "is done, there is nothing to retry", "approve": "is done, there is nothing to approve",
		}},
	} {
		var wakes []string
		for _, command := range []string{"approve", "changes", "pause", "retry", "say", "stop"} {
			if got := unfit(c.s, command); got != c.unfit[command] {
				t.Errorf("%s, %s: %q, want %q", name, command, got, c.unfit[command])
			}
			if wakesIt(c.s, command) {
				wakes = append(wakes, command)
			}
		}
		if got := strings.Join(wakes, " "); got != c.wakes {
			t.Errorf("%s: %q wake it, want %q", name, got, c.wakes)
		}
	}
	if got := command.Unfit(live, true, "stop"); got != "" {
		t.Errorf("with a host: %q", got)
	}
}

func unfit(s *orchestrator.State, name string) string { return command.Unfit(s, false, name) }

func wakesIt(s *orchestrator.State, name string) bool { return command.Wakes(s, name) }
