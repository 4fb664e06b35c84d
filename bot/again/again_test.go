package again_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/again"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// ended makes a session that works from the text with a digest, in a state.
func ended(t *testing.T, digest string, change func(*orchestrator.State)) *again.Former {
	t.Helper()
	_, data, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	state := orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "abc", IssueNumber: 3, Repo: "octo/widgets"}
	sess, err := session.Create(session.CreateSpec{Project: t.TempDir(), Now: time.Now(), Source: "tokens", Request: "Refuse them.", Definition: data, State: state})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sess.Close() }()
	text, err := (&ghsync.Snapshot{V: 1, Issue: 3, Digest: digest}).Encode()
	if err == nil {
		err = os.WriteFile(sess.Path(session.SnapshotFile), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := sess.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	s.Phase, s.Outcome, s.InterruptedPhase = orchestrator.PhaseFailed, orchestrator.OutcomeFailed, "planning"
	change(s)
	return &again.Former{Dir: sess.Dir, State: s, Elsewhere: func(context.Context) (bool, error) { return false, nil }}
}

// A label that is set again continues a session that failed or was stopped, if there is nothing else to do for it.
func TestALabelContinuesWhatFailed(t *testing.T) {
	const digest = "d1"
	for name, c := range map[string]struct {
		change  func(*orchestrator.State)
		ask     func(*again.Former, *gate.Asked)
		digest  string
		another bool
		fails   bool
		says    string // of a refusal
	}{
		"failed":                         {},
		"stopped":                        {change: func(s *orchestrator.State) { s.Outcome = orchestrator.OutcomeCanceled }},
		"waits for an agent":             {change: parked(orchestrator.ReasonAgentStalled)},
		"waits for an answer":            {change: parked(orchestrator.ReasonQuestion), another: true, says: "/agentmux answer TEXT"},
		"waits for an approval":          {change: parked(orchestrator.ReasonGateTimeout), another: true, says: "/agentmux approve"},
		"waits, and the text is another": {change: parked(orchestrator.ReasonAgentStalled), digest: "d2", another: true, says: "/agentmux stop and set the label again"},
		"waits, and another workflow": {change: parked(orchestrator.ReasonAgentStalled), another: true, says: "/agentmux resume",
			ask: func(_ *again.Former, a *gate.Asked) { a.Workflow = "feature" }},
		"waits, and went on elsewhere": {change: parked(orchestrator.ReasonQuestion), another: true, ask: func(f *again.Former, _ *gate.Asked) {
			f.Elsewhere = func(context.Context) (bool, error) { return true, nil }
		}},
		"waits, and a comment asks": {change: parked(orchestrator.ReasonQuestion), another: true, ask: func(_ *again.Former, a *gate.Asked) { a.Trigger = gate.CommentTrigger(7) }},
		"same workflow":             {ask: func(f *again.Former, a *gate.Asked) { a.Workflow = f.State.Workflow }},
		"done":                      {change: func(s *orchestrator.State) { s.Phase, s.Outcome = orchestrator.PhaseDone, orchestrator.OutcomeDone }, another: true},
		"of another host": {change: func(s *orchestrator.State) {
			s.Outcome, s.OutcomeReason = orchestrator.OutcomeCanceled, orchestrator.ReasonClaimLost
		}, another: true},
		"another text":     {digest: "d2", another: true},
		"its text is gone": {ask: func(f *again.Former, _ *gate.Asked) { _ = os.Remove(filepath.Join(f.Dir, session.SnapshotFile)) }, another: true},
		"another workflow": {ask: func(_ *again.Former, a *gate.Asked) { a.Workflow = "feature" }, another: true},
		"a comment":        {ask: func(_ *again.Former, a *gate.Asked) { a.Trigger = gate.CommentTrigger(7) }, another: true},
		"it went on elsewhere": {ask: func(f *again.Former, _ *gate.Asked) {
			f.Elsewhere = func(context.Context) (bool, error) { return true, nil }
		}, another: true},
		"where it is is not known": {ask: func(f *again.Former, _ *gate.Asked) {
			f.Elsewhere = func(context.Context) (bool, error) { return false, errors.New("no route") }
		}, another: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.change == nil {
				c.change = func(*orchestrator.State) {}
			}
			if c.digest == "" {
				c.digest = digest
			}
			f := ended(t, digest, c.change)
			asked := &gate.Asked{Trigger: gate.LabelTrigger(ghsync.LabelEvent{Name: "agentmux", At: time.Now(), Actor: ghsync.Account{ID: 9}}), By: ghsync.Permission{Account: ghsync.Account{Login: "mia", ID: 9}}}
			if c.ask != nil {
				c.ask(f, asked)
			}
			home := t.TempDir()
			j, err := journal.Open(home, journal.Options{Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time as after a kill
				d := &gate.Decision{What: gate.Start, Asked: *asked}
				goesOn, err := f.Continue(t.Context(), j, d, &ghsync.Snapshot{Issue: 3, Digest: c.digest})
				if (err != nil) != c.fails || goesOn == c.another {
					t.Fatalf("continues %t, %v", goesOn, err)
				}
				if d.Refused() != (c.says != "") || !strings.Contains(d.Remedy, c.says) {
					t.Errorf("%s: %s", d.What, d.Remedy)
				}
			}
			if got, want := commands(t, f.Dir), map[bool]string{false: "retry by mia from issue " + asked.Trigger.String() + "\n"}[c.another]; got != want {
				t.Errorf("commands %q, want %q", got, want)
			}
			if over, err := f.Elsewhere(t.Context()); !over && err == nil { // the same by what another machine has of it
				d := &gate.Decision{What: gate.Start, Asked: *asked}
				if again.Brings(files(t, f), d, &ghsync.Snapshot{Issue: 3, Digest: c.digest}) == c.another {
					t.Errorf("is brought %t", c.another)
				}
				if d.Refused() != (c.says != "") || !strings.Contains(d.Remedy, c.says) {
					t.Errorf("elsewhere %s: %s", d.What, d.Remedy)
				}
			}
			if n := j.LabelStarts(3, time.Hour); n > 1 || (n > 0) == c.another {
				t.Errorf("%d starts", n)
			}
		})
	}
}

// parked has a session wait for a person.
func parked(reason string) func(*orchestrator.State) {
	return func(s *orchestrator.State) {
		s.Phase, s.Outcome, s.OutcomeReason, s.InterruptedPhase = "planning", orchestrator.OutcomeNeedsHuman, orchestrator.Optional(reason), ""
	}
}

// files are what the checkpoint of the session has that tells what it waits for.
func files(t *testing.T, f *again.Former) map[string][]byte {
	t.Helper()
	state, err := f.State.Encode()
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(f.Dir, session.SnapshotFile))
	return map[string][]byte{session.StateFile: state, session.SnapshotFile: text}
}

func commands(t *testing.T, dir string) (text string) {
	t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	lines, _, err := sess.Lines(session.Commands, orchestrator.Cursor{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		p, bad := l.Decode()
		if bad != nil {
			t.Fatal(bad)
		}
		text += p.Name + " by " + p.Actor + " from " + p.Source + " " + p.SourceID + "\n"
	}
	return text
}
