package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/mcp"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

const answerPlan = `version: 2
plan_overview: Refuse expired tokens.
needs_design: false
needs_docs: false
doc_files: []
groups:
  - {group_id: core, mode: serial, plans: [{index: 1, name: Token check}]}
subplans:
  - {index: 1, title: Token check, scope: Validate expiry, owned_files: [auth/], dependencies: none,
     implementation_approach: Compare, acceptance_criteria: Refused, tasks: [Test, Implement]}
`

// desk is a session whose planner is at work. The test is its host, which reads when it is told to.
type desk struct {
	*rig
	s   *session.Session
	def *workflows.Definition
	st  *orchestrator.State
}

func (r *rig) desk(plan string) *desk {
	r.t.Helper()
	s, err := session.Create(session.CreateSpec{
		Project: r.clone, Now: time.Now(), Source: "tokens", Request: "Refuse expired tokens.", Definition: []byte(definitionText(r.t.(*testing.T))),
		State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "abc"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	d := &desk{rig: r, s: s}
	if d.def, err = s.Definition(); err != nil {
		r.t.Fatal(err)
	}
	if d.st, err = s.Recover(time.Now()); err != nil {
		r.t.Fatal(err)
	}
	d.input(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
	r.write(s.Path("04_planning/plan.yaml"), plan)
	return d
}

func (d *desk) input(in orchestrator.Input) {
	d.t.Helper()
	in.At = time.Now()
	step, err := decide.Reduce(d.def, d.st, in)
	if err == nil {
		err = d.s.Commit(step)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.st = step.State
}

// take reads the lines of the tools as a host does.
func (d *desk) take() {
	d.t.Helper()
	lines, _, err := d.s.Lines(session.ToolEvents, d.st.ToolCursor, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, l := range lines {
		p, _ := l.Decode()
		call := duty.Call{Tool: l.Tool, Role: l.Role, Task: l.Task, Launch: l.Launch, Visit: l.Visit, Payload: p}
		if path, kind := duty.ArtifactOf(d.def, d.st, call); path != "" {
			if l.Artifact, err = d.s.ReadArtifact(path, kind); err != nil {
				d.t.Fatal(err)
			}
		}
		d.input(orchestrator.Input{Kind: orchestrator.InTool, Line: &l})
	}
}

// lines are the ids of the lines of the tools.
func (d *desk) lines() (ids []string) {
	d.t.Helper()
	lines, _, err := d.s.Lines(session.ToolEvents, orchestrator.Cursor{}, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, l := range lines {
		ids = append(ids, l.ID)
	}
	return ids
}

// records counts the records that decide about each line.
func (d *desk) records() map[string]int {
	d.t.Helper()
	events, bad, err := d.s.Events(0)
	if err != nil || bad > 0 {
		d.t.Fatalf("%d bad records, %v", bad, err)
	}
	n := map[string]int{}
	for _, e := range events {
		switch r := e.Data.(type) {
		case orchestrator.SubmissionRecord:
			n[r.Line]++
		case orchestrator.InputRejectedRecord:
			n[r.Line]++
		case orchestrator.InputIgnoredRecord:
			n[r.Line]++
		}
	}
	return n
}

// called is one call of a tool in a process of its own.
type called struct {
	text string
	ok   bool
}

// ways are how an agent calls submit_plan, or the tool of another role.
var ways = map[string]func(d *desk, other bool) called{
	"mcp": func(d *desk, other bool) called {
		program, err := d.program("mcp")
		if err != nil {
			d.t.Fatal(err)
		}
		argv := append(append([]string{"env", "-i"}, d.env...), program, "mcp")
		client, err := mcp.Dial(d.t.Context(), append(argv, d.caller()...))
		if err != nil {
			d.t.Fatal(err)
		}
		defer client.Close()
		tool := "submit_plan"
		if other {
			tool = "submit_design"
		}
		text, refused, err := client.Call(d.t.Context(), tool, nil)
		if err != nil {
			d.t.Fatal(err)
		}
		return called{text, !refused}
	},
	"twin": func(d *desk, other bool) called {
		what := "plan"
		if other {
			what = "design"
		}
		res := d.agentmux(append([]string{"submit", what}, d.caller()...)...)
		if res.code != exit.Done && res.code != exit.Failed {
			d.t.Errorf("exit %d: %s", res.code, res.err)
		}
		return called{res.out, res.code == exit.Done}
	},
}

func (d *desk) caller() []string {
	return []string{"--session", d.s.Dir, "--role", "planner", "--launch", string(d.st.Agents["planner"].LastLaunch)}
}

// meanwhile lets the host read the line that the call leaves, once it is there, and maybe the file behind it
// is broken.
func (d *desk) meanwhile(call func() called, breaks bool) called {
	d.t.Helper()
	answer, look := make(chan called, 1), time.NewTicker(time.Millisecond)
	defer look.Stop()
	go func() { answer <- call() }()
	for len(d.lines()) == 0 {
		select {
		case a := <-answer:
			return a
		case <-look.C:
		}
	}
	if breaks {
		d.write(d.s.Path("04_planning/plan.yaml"), "version: 2\n")
	}
	d.take()
	return <-answer
}

// Each answer that a tool may give is the same by MCP and by command, and each line that a call leaves is
// decided once.
func TestProtocolA6EachAnswerByBothWays(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	for name, row := range map[string]struct {
		plan   string // default: a good one
		before func(d *desk, call func() called)
		other  bool // the tool of another role
		hosted bool // the host reads while the tool waits
		breaks bool // the file, before the host reads it
		ok     bool
		says   []string
		lines  int
	}{
		"submitted": {hosted: true, ok: true, says: []string{"submitted: submit_plan"}, lines: 1},
		"recorded, no host": {
			before: func(d *desk, _ func() called) { d.s.Release() }, ok: true,
			says: []string{"recorded: submit_plan is on disk, and not taken yet. No host runs this session now", "Stop now."}, lines: 1,
		},
		"recorded, paused": {
			before: func(d *desk, _ func() called) {
				d.input(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Tool: "command", ID: "1", Payload: []byte(`{"name":"pause","actor":"ann"}`)}})
			}, ok: true, says: []string{"recorded: submit_plan", "The session is paused", "Stop now."}, lines: 1,
		},
		"warnings": {
			plan: answerPlan + "mood: good\n", hosted: true, ok: true,
			says: []string{"submitted: submit_plan", "Warnings, accepted all the same:\n", "mood"}, lines: 1,
		},
		"already submitted": {
			before: func(d *desk, call func() called) { d.meanwhile(call, false) }, ok: true, says: []string{"already submitted: submit_plan"}, lines: 1,
		},
		"refused": {other: true, says: []string{"refused: submit_design is not a tool of the planner"}},
		"refused by the session": {
			hosted: true, breaks: true, lines: 1,
			says: []string{"refused: submit_plan was not taken. Correct this and call submit_plan again:\n", "plan_overview"},
		},
		"invalid": {plan: "version: 2\n", says: []string{"invalid: nothing was recorded. Correct this and call submit_plan again:\n", "plan_overview"}},
		"busy": {
			before: func(d *desk, _ func() called) { d.hold() },
			says:   []string{"busy: other writers hold the file, nothing was recorded; call submit_plan again"},
		},
	} {
		for way, call := range ways {
			r.row(name+" by "+way, func(t *testing.T) {
				if name == "busy" && testing.Short() {
					t.Skip("a tool waits 10 seconds for other writers")
				}
				if row.plan == "" {
					row.plan = answerPlan
				}
				d := r.desk(row.plan)
				do := func() called { return call(d, row.other) }
				if row.before != nil {
					row.before(d, do)
				}
				var got called
				if row.hosted {
					got = d.meanwhile(do, row.breaks)
				} else {
					got = do()
				}
				for _, want := range row.says {
					if !strings.Contains(got.text, want) || got.ok != row.ok {
						t.Errorf("ok %v, want %q: %s", got.ok, want, got.text)
					}
				}
				d.eachDecidedOnce(row.lines)
			})
		}
	}
}

// eachDecidedOnce has a host read what is left, and checks that there is one record a line.
func (d *desk) eachDecidedOnce(want int) {
	d.t.Helper()
	if d.st.Paused {
		d.input(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Tool: "command", ID: "2", Payload: []byte(`{"name":"resume","actor":"ann"}`)}})
	}
	if !session.Running(d.s.Dir) {
		if err := d.s.Lock(0); err != nil {
			d.t.Fatal(err)
		}
	}
	d.take()
	ids, records := d.lines(), d.records()
	if len(ids) != want || len(records) != want {
		d.t.Errorf("lines %q, records %v", ids, records)
	}
	for _, id := range ids {
		if records[id] != 1 {
			d.t.Errorf("line %s has %d records", id, records[id])
		}
	}
}

// hold keeps the file of the tools' lines locked until the test is over.
func (d *desk) hold() {
	d.t.Helper()
	f, err := os.OpenFile(d.s.Path(session.ToolEvents), os.O_RDONLY, 0)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { f.Close() })
}
