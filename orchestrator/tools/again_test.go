package tools_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// settle lets everything come true that the session wants, as a host would.
func (r *rig) settle() {
	r.Helper()
	for range 100 {
		n := len(r.st.Pending)
		for i := range n {
			e := r.st.Pending[i]
			if len(e.After) > 0 {
				continue
			}
			r.carryOut(e)
			break
		}
		if len(r.st.Pending) == 0 {
			return
		}
	}
	r.Fatalf("effects do not come to rest: %+v", r.st.Pending)
}

func (r *rig) carryOut(e orchestrator.Effect) {
	r.Helper()
	res := orchestrator.Result{}
	switch e.Type {
	case orchestrator.EffEnsureDirs:
		if err := r.s.EnsureDirs(e.Args.Paths...); err != nil {
			r.Fatal(err)
		}
	case orchestrator.EffEnsureWorkspace:
		res.Path = "/w/" + e.Args.Workspace
	case orchestrator.EffIntegrate:
		if r.conflicts[e.Args.Task] {
			delete(r.conflicts, e.Args.Task)
			res.Conflicts = []string{"both.txt"}
			break
		}
		res.Commit, res.Tree, res.Snapshot = "c"+e.ID, "t"+e.ID, "t"+e.ID
	case orchestrator.EffDeliver:
		res.Delivery = orchestrator.DeliverySent
	}
	r.input(orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: e.ID, Result: res}})
}

// submits calls a tool for an agent's current launch and has the host read the line.
func (r *rig) submits(key orchestrator.AgentKey, tool string, params map[string]any) {
	r.Helper()
	role, task := key.Split()
	count := func() int { return len(strings.Join(r.lines(), "\n")) }
	before := count()
	r.ok(r.call(r.agent(role, task), tool, params), "recorded")
	if n := count(); n <= before {
		r.Fatalf("%s of %s left no line", tool, key)
	}
	r.host()
	r.settle()
}

// lost lets an agent's process end, and starts the next one.
func (r *rig) lost(key orchestrator.AgentKey) {
	r.Helper()
	code := 1
	old := r.st.Agents[key].Launch
	r.input(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{
		Key: key, Launch: old, Condition: orchestrator.AgentDead, ExitCode: &code,
	}})
	r.now = r.now.Add(time.Minute)
	if _, armed := r.st.Deadlines[orchestrator.RelaunchTimer(key)]; armed {
		r.input(orchestrator.Input{Kind: orchestrator.InTimer, Timer: orchestrator.RelaunchTimer(key)})
	}
	r.settle()
}

func (r *rig) inPhase(want string) {
	r.Helper()
	if r.st.Phase != want {
		r.Fatalf("phase %s, want %s (%s)", r.st.Phase, want, r.st.Cause)
	}
}

// reviewed brings a feature session, whose plan has one parallel group, to its review.
// The second result does not fit the first one.
func reviewed(t *testing.T) *rig {
	t.Helper()
	r := start(t, "feature")
	r.settle()
	r.write("02_architecting/architecture.md", "# A\n")
	r.submits("architect", "submit_architecture", nil)
	r.write("04_planning/plan.yaml", strings.Replace(plan, "mode: serial", "mode: parallel", 1))
	r.submits("planner", "submit_plan", nil)
	r.conflicts = map[string]bool{"2": true}
	r.submits("coder/1", "submit_done", map[string]any{"subplan_index": 1})
	r.submits("coder/2", "submit_done", map[string]any{"subplan_index": 2})
	return r
}

// Submissions that look like earlier ones and are new: the tool says recorded, the file
// gets a line, and the line counts.
func TestProtocolJ9EachLineIsTaken(t *testing.T) {
	fail := "verdict: fail\nsummary: No.\nfindings: [{issue: a, recommendation: b}]\n"
	t.Run("a coder that resolves, and the fixer after its subplan is done", func(t *testing.T) {
		r := reviewed(t)
		r.inPhase("implementing")
		r.submits("coder/resolve-2", "submit_done", map[string]any{"subplan_index": 2})
		r.inPhase("reviewing")
		r.write("07_review/review_reviewer_logic.yaml", fail)
		r.submits("reviewer_logic", "submit_review", nil)
		r.inPhase("fixing")
		r.submits("coder", "submit_done", map[string]any{"subplan_index": 1})
		r.inPhase("reviewing")
		r.write("07_review/review_reviewer_logic.yaml", fail) // the same words in the next round
		r.submits("reviewer_logic", "submit_review", nil)
		r.inPhase("fixing")
	})
	t.Run("a relaunch", func(t *testing.T) {
		r := start(t, "quick")
		r.settle()
		r.write("04_planning/plan.yaml", plan)
		old := r.agent("planner", "")
		r.ok(r.call(old, "submit_plan", nil), "recorded")
		r.lost("planner") // its line is not read yet
		r.write("04_planning/plan.yaml", plan+"# mended\n")
		r.ok(r.call(r.agent("planner", ""), "submit_plan", nil), "recorded")
		r.host()
		r.inPhase("implementing")
	})
	t.Run("a topic again", func(t *testing.T) {
		r := start(t, "quick")
		r.settle()
		ask := map[string]any{"topic": "store", "context": "c", "questions": []any{"Where?"}}
		dispatch := func() {
			t.Helper()
			r.ok(r.call(r.agent("planner", ""), "research_dispatch_code", ask), "dispatched")
			r.host()
			r.settle()
		}
		dispatch()
		r.lost("code-researcher/store")
		r.lost("code-researcher/store")
		if got := r.st.ResearchTasks["store"]; got != orchestrator.ResearchFailed {
			t.Fatalf("the topic is %s", got)
		}
		dispatch()
		r.write("03_research/code-store/summary.md", "There.\n")
		r.submits("code-researcher/store", "submit_research_done", nil)
		if got := r.st.ResearchTasks["store"]; got != orchestrator.ResearchDone {
			t.Errorf("the topic is %s", got)
		}
	})
	t.Run("the same question twice", func(t *testing.T) {
		r := start(t, "quick")
		r.settle()
		for n := range 2 {
			r.ok(r.call(r.agent("planner", ""), "ask_human", map[string]any{"question": "Which?"}), fmt.Sprintf("asked: question q%d", n+1))
		}
		r.host()
		if len(r.st.Questions) != 2 {
			t.Errorf("questions: %+v", r.st.Questions)
		}
	})
}

// Lines of launches and visits that are over do not count. A line without role and launch
// is judged by the phase.
func TestProtocolJ7LinesOfFormerLaunches(t *testing.T) {
	r := start(t, "quick")
	r.settle()
	former := r.agent("planner", "").Launch
	r.lost("planner")
	r.write("04_planning/plan.yaml", plan)
	line := func(r *rig, more string) {
		r.Helper()
		text := `{"tool":"submit_plan","timestamp":"2026-01-15T11:05:12+00:00","payload":{}` + more + "}\n"
		f, err := os.OpenFile(r.s.Path(session.ToolEvents), os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(text)
			f.Close()
		}
		if err != nil {
			r.Fatal(err)
		}
		r.host()
	}
	for name, more := range map[string]string{
		"a replaced launch": `,"role":"planner","visit":1,"launch":"` + string(former) + `"`,
		"an older visit":    `,"role":"planner","visit":0,"launch":"0.planner.1"`,
	} {
		t.Run(name, func(t *testing.T) {
			outer := r.T
			r.T = t
			defer func() { r.T = outer }()
			line(r, more)
			records, _, err := r.s.Events(r.st.Seq - 1)
			if err != nil || len(records) != 1 || records[0].Type != orchestrator.EvInputIgnored || records[0].Data.(orchestrator.InputIgnoredRecord).Reason != "stale" {
				t.Errorf("%+v, %v", records, err)
			}
			r.inPhase("planning")
		})
	}
	line(r, "")
	r.inPhase("implementing")
}

// An agent that submits a file which is not an artifact is told so, and leaves no line.
func TestProtocolD4TheAnswerNamesWhatIsNotAnArtifact(t *testing.T) {
	const file = "02_architecting/architecture.md"
	for problem, write := range map[string]func(r *rig) error{
		"is a symbolic link":   func(r *rig) error { return os.Symlink(r.s.Path(session.RequirementsFile), r.s.Path(file)) },
		"is larger than 1 MiB": func(r *rig) error { return os.WriteFile(r.s.Path(file), make([]byte, 2<<20), 0o600) },
		"holds a NUL byte":     func(r *rig) error { return os.WriteFile(r.s.Path(file), []byte("a\x00b"), 0o600) },
		"is not valid UTF-8":   func(r *rig) error { return os.WriteFile(r.s.Path(file), []byte("caf\xe9"), 0o600) },
		"is a directory":       func(r *rig) error { return os.Mkdir(r.s.Path(file), 0o700) },
		"is empty":             func(r *rig) error { return os.WriteFile(r.s.Path(file), []byte(" \r\n\t"), 0o600) },
		"does not exist":       func(*rig) error { return nil },
	} {
		t.Run(problem, func(t *testing.T) {
			r := start(t, "feature")
			if err := write(r); err != nil {
				t.Fatal(err)
			}
			r.refused(r.call(r.agent("architect", ""), "submit_architecture", nil), file+" "+problem)
			if lines := r.lines(); len(lines) != 1 || lines[0] != "" {
				t.Errorf("lines are %q", lines)
			}
			_ = os.RemoveAll(r.s.Path(file))
			r.write(file, "\ufeff# Architecture\r\n")
			r.ok(r.call(r.agent("architect", ""), "submit_architecture", nil), "recorded")
		})
	}
}
