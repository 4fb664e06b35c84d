package tools_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

const plan = `version: 2
plan_overview: Refuse expired tokens.
needs_design: false
needs_docs: false
doc_files: []
groups:
  - {group_id: core, mode: serial, plans: [{index: 1, name: Token check}, {index: 2, name: Page}]}
subplans:
  - {index: 1, title: Token check, scope: Validate expiry, owned_files: [auth/], dependencies: none,
     implementation_approach: Compare, acceptance_criteria: Refused, tasks: [Test, Implement]}
  - {index: 2, title: Page, scope: Show, owned_files: [web/], dependencies: none,
     implementation_approach: Template, acceptance_criteria: Visible, tasks: [Page]}
`

// rig is a session with its host played by hand: lines become inputs, effects
// are never carried out.
type rig struct {
	*testing.T
	s   *session.Session
	def *workflows.Definition
	st  *orchestrator.State
	now time.Time

	conflicts map[string]bool        // tasks whose work does not fit when it is merged
	snapshot  *orchestrator.Snapshot // of the work that is handed in; nil = it is not taken before
}

func start(t *testing.T, workflow string) *rig {
	t.Helper()
	_, data, problems := workflows.Load(workflow, nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: noon, Source: "tokens", Request: "Refuse expired tokens.", Definition: data,
		State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "abc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	def, err := s.Definition()
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Recover(noon)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, s: s, def: def, st: st, now: noon}
	r.input(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
	for _, p := range def.Phases {
		if err := s.EnsureDirs(p.Dir); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rig) input(in orchestrator.Input) {
	r.Helper()
	in.At = r.now
	step, err := decide.Reduce(r.def, r.st, in)
	if err != nil {
		r.Fatal(err)
	}
	if err := errors.Join(postbox.File(r.s.Path(session.MessagesLog), step.Filed), r.s.Commit(step)); err != nil {
		r.Fatal(err)
	}
	r.st = step.State
}

// host consumes what was appended.
func (r *rig) host() {
	r.Helper()
	lines, _, err := r.s.Lines(session.ToolEvents, r.st.ToolCursor, 0)
	if err != nil {
		r.Fatal(err)
	}
	for _, l := range lines {
		p, _ := l.Decode()
		call := duty.Call{Tool: l.Tool, Role: l.Role, Task: l.Task, Launch: l.Launch, Visit: l.Visit, Payload: p}
		if path, kind := duty.ArtifactOf(r.def, r.st, call); path != "" {
			if l.Artifact, err = r.s.ReadArtifact(path, kind); err != nil {
				r.Fatal(err)
			}
		}
		if l.Tool == toolset.SubmitDone {
			l.Snapshot = r.snapshot
		}
		r.input(orchestrator.Input{Kind: orchestrator.InTool, Line: &l})
	}
}

func (r *rig) agent(role, task string) tools.Caller {
	launch := r.st.Agents[orchestrator.KeyOf(role, task)].Launch
	return tools.Caller{Dir: r.s.Dir, Role: role, Task: task, Launch: launch, Now: func() time.Time { return r.now }, Wait: time.Nanosecond}
}

func (r *rig) call(who tools.Caller, tool string, params map[string]any) tools.Answer {
	return tools.Call(r.Context(), who, tool, params)
}

// ok expects an answer that begins with want.
func (r *rig) ok(a tools.Answer, want string) {
	r.Helper()
	if !a.OK || !strings.HasPrefix(a.Text, want) {
		r.Fatalf("answer is %v %q %v, want ok %q", a.OK, a.Text, a.Errors, want)
	}
}

func (r *rig) refused(a tools.Answer, want string) {
	r.Helper()
	if a.OK || !strings.Contains(a.Text, want) || len(a.Errors) == 0 {
		r.Fatalf("answer is %v %q %v, want a refusal with %q", a.OK, a.Text, a.Errors, want)
	}
}

func (r *rig) write(rel, text string) {
	r.Helper()
	if err := os.WriteFile(r.s.Path(rel), []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) lines() []string {
	r.Helper()
	data, err := os.ReadFile(r.s.Path(session.ToolEvents))
	if err != nil {
		r.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// implementing brings a quick session to its first coder.
func implementing(t *testing.T) *rig {
	t.Helper()
	r := start(t, "quick")
	r.write("04_planning/plan.yaml", plan)
	r.ok(r.call(r.agent("planner", ""), "submit_plan", nil), "recorded")
	r.host()
	if r.st.Phase != "implementing" {
		t.Fatalf("phase is %s", r.st.Phase)
	}
	return r
}

func (r *rig) pending(kind string) orchestrator.Effect {
	r.Helper()
	i := slices.IndexFunc(r.st.Pending, func(e orchestrator.Effect) bool { return e.Type == kind })
	if i < 0 {
		r.Fatalf("no pending %s in %+v", kind, r.st.Pending)
	}
	return r.st.Pending[i]
}
