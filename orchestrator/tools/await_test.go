package tools_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
)

// answered calls a tool that waits as long as it takes, and lets the host act once the line is
// there. It returns what the tool said then.
func (r *rig) answered(who tools.Caller, tool string, params map[string]any, host func()) tools.Answer {
	r.Helper()
	who.Wait = time.Hour
	before, answer := len(r.toolLines()), make(chan tools.Answer, 1)
	go func() { answer <- r.call(who, tool, params) }()
	for look := time.NewTicker(time.Millisecond); len(r.toolLines()) == before; {
		select {
		case a := <-answer:
			r.Fatalf("no line, and the answer %+v", a)
		case <-look.C:
		}
	}
	host()
	select {
	case a := <-answer:
		return a
	case <-time.After(time.Minute):
		r.Fatal("the tool does not answer")
	}
	return tools.Answer{}
}

func (r *rig) toolLines() []orchestrator.Line {
	r.Helper()
	lines, _, err := r.s.Lines(session.ToolEvents, orchestrator.Cursor{}, 0)
	if err != nil {
		r.Fatal(err)
	}
	return lines
}

// coding is implementing with its coder at work in a workspace.
func coding(t *testing.T) *rig {
	t.Helper()
	r := implementing(t)
	r.settle()
	return r
}

var first = map[string]any{"subplan_index": 1}

// J11: what the session decides about a submission is the tool's answer.
func TestProtocolJ11TheSessionAnswers(t *testing.T) {
	for name, row := range map[string]struct {
		snapshot *orchestrator.Snapshot
		before   func(r *rig) // the host reads the line
		ok       bool
		text     string
		errors   []string
		warnings []string
	}{
		"taken": {
			snapshot: &orchestrator.Snapshot{Tree: "t1", Files: 1}, ok: true, text: "submitted: submit_done",
		},
		"taken, with warnings": {
			snapshot: &orchestrator.Snapshot{Tree: "t1", Files: 1, Left: []string{"a socket"}}, ok: true,
			text: "Warnings, accepted all the same:\n", warnings: []string{"a socket"},
		},
		"refused": {
			snapshot: &orchestrator.Snapshot{Problem: "the disk is full"}, text: "refused: submit_done was not taken. Correct this and call submit_done again:\n- the disk is full",
			errors: []string{"the disk is full"},
		},
		"handed in by somebody else": {
			before: func(r *rig) {
				r.input(orchestrator.Input{Kind: orchestrator.InTool, Line: &orchestrator.Line{
					Tool: "submit_done", ID: "sha:2:by hand", Payload: []byte(`{"subplan_index":1}`), Cursor: r.st.ToolCursor,
				}})
			},
			snapshot: &orchestrator.Snapshot{Tree: "t1", Files: 1}, ok: true, text: "already submitted: submit_done",
		},
		"replaced": {
			before: func(r *rig) { r.lost("coder/1"); r.now = noon }, text: "refused: submit_done has no effect: stale", errors: []string{"stale"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := coding(t)
			r.snapshot = row.snapshot
			a := r.answered(r.agent("coder", "1"), "submit_done", first, func() {
				if row.before != nil {
					row.before(r)
				}
				r.host()
			})
			if a.OK != row.ok || !strings.Contains(a.Text, row.text) || len(a.Errors) != len(row.errors) || len(a.Warnings) != len(row.warnings) {
				t.Fatalf("the answer is %+v", a)
			}
			for i, want := range append(slices.Clone(row.errors), row.warnings...) {
				if got := append(slices.Clone(a.Errors), a.Warnings...)[i]; !strings.Contains(got, want) {
					t.Errorf("the answer says %q, not %q", got, want)
				}
			}
		})
	}
}

// A file that is broken after the tool checked it is refused with all that is wrong.
func TestProtocolJ11AFileThatBreaksMeanwhile(t *testing.T) {
	r := start(t, "quick")
	r.write("04_planning/plan.yaml", plan)
	a := r.answered(r.agent("planner", ""), "submit_plan", nil, func() {
		r.write("04_planning/plan.yaml", "version: 2\n")
		r.host()
	})
	r.refused(a, "refused: submit_plan was not taken")
	if len(a.Errors) < 5 {
		t.Errorf("errors are %q", a.Errors)
	}
	if len(r.st.Messages) > 0 {
		t.Errorf("the agent is told twice: %+v", r.st.Messages)
	}
}

// J11: where no answer can come, the tool does not wait for one.
func TestProtocolJ11NobodyAnswers(t *testing.T) {
	for name, row := range map[string]struct {
		before func(r *rig)
		wait   time.Duration
		want   string
	}{
		"paused": {
			before: func(r *rig) {
				r.input(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Tool: "command", ID: "1", Payload: []byte(`{"name":"pause","actor":"ann"}`)}})
			},
			wait: time.Hour, want: "The session is paused",
		},
		"no host":   {before: func(r *rig) { r.s.Release() }, wait: time.Hour, want: "No host runs this session now"},
		"no answer": {before: func(*rig) {}, wait: time.Millisecond, want: "The session has not answered"},
	} {
		t.Run(name, func(t *testing.T) {
			r := coding(t)
			row.before(r)
			who := r.agent("coder", "1")
			who.Wait = row.wait
			a := r.call(who, "submit_done", first)
			r.ok(a, "recorded: submit_done is on disk, and not taken yet. "+row.want)
			if !strings.HasSuffix(a.Text, " Stop now.") {
				t.Errorf("the answer is %q", a.Text)
			}
			r.ok(r.call(who, "submit_done", first), "already submitted") // one line, whatever the answer was
		})
	}
}

// uncommitted appends what a host that dies in its commit leaves: the record of a submission
// that no state counts.
func (r *rig) uncommitted(line string) {
	r.Helper()
	record, err := json.Marshal(orchestrator.Event{
		Seq: r.st.Seq + 1, TS: orchestrator.At(r.now), Type: orchestrator.EvSubmission, Visit: r.st.Visit, Phase: r.st.Phase,
		Data: orchestrator.SubmissionRecord{Line: line, Role: "coder", Task: "1", Tool: "submit_done"},
	})
	if err != nil {
		r.Fatal(err)
	}
	f, err := os.OpenFile(r.s.Path(session.EventsFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		r.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(record, '\n')); err != nil {
		r.Fatal(err)
	}
}

// J11: a host dies in the commit that takes the submission, and the next one refuses it. The
// tool heard nothing of the first.
func TestProtocolJ11AHostThatDiesInItsCommitAndComesBack(t *testing.T) {
	r := coding(t)
	r.snapshot = &orchestrator.Snapshot{Problem: "the disk is full"}
	a := r.answered(r.agent("coder", "1"), "submit_done", first, func() {
		lines := r.toolLines()
		r.uncommitted(lines[len(lines)-1].ID)
		r.committedAgain()
		r.s.Release()
		if err := r.s.Lock(0); err != nil {
			r.Fatal(err)
		}
		st, err := r.s.Recover(r.now)
		if err != nil {
			r.Fatal(err)
		}
		r.st = st
		r.host()
	})
	r.refused(a, "the disk is full")
}

// committedAgain replaces the state by itself, as a commit does: who waits for one reads the
// records.
func (r *rig) committedAgain() {
	r.Helper()
	data, err := os.ReadFile(r.s.Path(session.StateFile))
	if err == nil {
		err = r.s.Replace(session.StateFile, data)
	}
	if err != nil {
		r.Fatal(err)
	}
}
