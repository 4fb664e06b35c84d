package tools_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
)

func TestASubmissionIsOneLineWithEveryKey(t *testing.T) {
	r := start(t, "quick")
	r.write("04_planning/plan.yaml", plan)
	r.ok(r.call(r.agent("planner", ""), "submit_plan", nil), "recorded: submit_plan is on disk")
	lines := r.lines()
	if len(lines) != 1 {
		t.Fatalf("lines are %q", lines)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"tool": "submit_plan", "timestamp": "2026-01-15T12:00:00+00:00", "role": "planner", "launch": "1.planner.1",
		"session": r.s.Name(), "phase": "planning", "visit": 1.0, "v": 1.0,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if id, _ := got["id"].(string); len(id) != 32 {
		t.Errorf("id is %v", got["id"])
	}
	if sha, _ := got["payload"].(map[string]any)["sha256"].(string); len(sha) != 64 {
		t.Errorf("payload is %v", got["payload"])
	}
	if !strings.HasPrefix(lines[0], `{"tool":"submit_plan","timestamp":"2026-01-15T12:00:00+00:00","payload":{`) {
		t.Errorf("the first three keys are not the classic line: %s", lines[0])
	}
}

// A1: who may call what, and what a refusal names.
func TestProtocolA1RefusalsNameWhatIsExpected(t *testing.T) {
	r := start(t, "quick")
	planner := r.agent("planner", "")
	r.refused(r.call(planner, "submit_design", nil), "not a tool of the planner; yours: research_dispatch_code")
	r.refused(r.call(r.agent("coder", "1"), "submit_done", map[string]any{"subplan_index": 1}), "phase planning")
	r.refused(r.call(planner, "submit_plan", nil), "04_planning/plan.yaml does not exist")
	r.write("04_planning/plan.yaml", "version: 2\n")
	if a := r.call(planner, "submit_plan", nil); a.OK || len(a.Errors) < 5 || !strings.HasPrefix(a.Text, "invalid") {
		t.Errorf("all errors in one answer: %+v", a)
	}
	if a := r.call(planner, "submit_everything", nil); !a.Usage || a.OK {
		t.Errorf("unknown tool: %+v", a)
	}
	if text := strings.Join(r.lines(), ""); text != "" {
		t.Errorf("a refusal was recorded: %s", text)
	}
	r.write("04_planning/plan.yaml", plan)
	r.ok(r.call(planner, "submit_plan", nil), "recorded")
	r.host()
	r.refused(r.call(r.agent("coder", "1"), "submit_done", map[string]any{"subplan_index": 2}), "works on subplan 1")
	r.refused(r.call(r.agent("", ""), "submit_done", map[string]any{"subplan_index": 9}), "active: 1")
	r.refused(r.call(r.agent("reviewer_logic", ""), "submit_review", nil), "phase implementing")
}

// What an agent is told to call has the name by which its program shows it; a person's command has its own.
func TestAnAnswerNamesToolsAsTheCallerSeesThem(t *testing.T) {
	r := start(t, "quick")
	r.input(orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{
		ID: r.pending(orchestrator.EffStartAgent).ID, Result: orchestrator.Result{Provider: "claude", ToolName: "mcp__agentmux__{tool}"},
	}})
	planner := r.agent("planner", "")
	r.refused(r.call(planner, "submit_design", nil), "mcp__agentmux__submit_design is not a tool of the planner; yours: mcp__agentmux__research_dispatch_code")
	r.refused(r.call(planner, "msg_read", map[string]any{"file": "x.md"}), "mcp__agentmux__msg_list shows yours")
	r.input(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Tool: "command", ID: "1",
		Payload: []byte(`{"name":"say","actor":"ann","args":{"text":"submit_plan it"}}`)}})
	if err := r.s.WriteBlob(r.st.Messages[0].File, r.st.Messages[0].SHA256); err != nil {
		t.Fatal(err)
	}
	answer := r.call(planner, "report_status", map[string]any{"message": "reading"})
	if !strings.Contains(answer.Text, "(mcp__agentmux__msg_read file=") || strings.Contains(answer.Text, "agentmux__submit_plan") {
		t.Errorf("the message is announced as %q", answer.Text)
	}
	planner.Launch = ""
	r.refused(r.call(planner, "submit_design", nil), "refused: submit_design is not a tool of the planner; yours: research_dispatch_code")
}

// A2: an ended session, a directory without a session, a session without a host.
func TestProtocolA2SessionsThatDoNotListen(t *testing.T) {
	r := start(t, "quick")
	planner := r.agent("planner", "")
	r.refused(r.call(tools.Caller{Dir: t.TempDir(), Role: "planner"}, "submit_plan", nil), "cannot be read")
	r.write("04_planning/plan.yaml", plan)
	r.s.Release()
	a := r.call(planner, "submit_plan", nil)
	r.ok(a, "recorded")
	if !strings.Contains(a.Text, "No host runs this session") {
		t.Errorf("answer is %q", a.Text)
	}
	if err := r.s.Lock(0); err != nil {
		t.Fatal(err)
	}
	r.input(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Signal: "terminated"}})
	r.refused(r.call(planner, "submit_plan", nil), "has ended (canceled); agentmux resume "+r.s.Name())
}

// A3: callers of the earlier tool pass parameters that no longer exist.
func TestProtocolA3UnknownParametersAreDropped(t *testing.T) {
	r := start(t, "quick")
	r.write("04_planning/plan.yaml", plan)
	a := r.call(r.agent("planner", ""), "submit_plan", map[string]any{"preferences": map[string]any{"a": 1}})
	r.ok(a, "recorded")
	if len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "preferences") {
		t.Errorf("warnings are %v", a.Warnings)
	}
	if strings.Contains(r.lines()[0], "preferences") {
		t.Error("the unknown parameter was recorded")
	}
}

// A4: every answer lists the messages that wait for the agent.
func TestProtocolA4EveryAnswerListsTheMessages(t *testing.T) {
	r := start(t, "quick")
	for i := range 4 {
		r.input(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Tool: "command", ID: fmt.Sprint(i),
			Payload: []byte(fmt.Sprintf(`{"name":"say","actor":"ann","args":{"text":"hint %d"}}`, i))}})
	}
	planner := r.agent("planner", "")
	if a := r.call(planner, "report_status", map[string]any{"message": "reading"}); len(a.Messages) != 0 {
		t.Errorf("shown before there is a file to read: %v", a.Messages)
	}
	if waiting, err := tools.Waiting(planner); err != nil || len(waiting) != 0 {
		t.Errorf("waiting before there is a file to read: %v, %v", waiting, err)
	}
	r.refused(r.call(planner, "msg_read", map[string]any{"file": r.st.Messages[0].File}), "call msg_read again in a moment")
	for _, m := range r.st.Messages {
		if err := r.s.WriteBlob(m.File, m.SHA256); err != nil {
			t.Fatal(err)
		}
	}
	answers := map[string]tools.Answer{
		"refusal":      r.call(planner, "submit_plan", nil),
		"not a tool":   r.call(planner, "nothing", nil),
		"status":       r.call(planner, "report_status", map[string]any{"message": "reading"}),
		"wrong params": r.call(planner, "report_status", nil),
	}
	for name, a := range answers {
		t.Run(name, func(t *testing.T) {
			if len(a.Messages) != 3 || !strings.Contains(a.Text, "4 undelivered messages for you:") || !strings.Contains(a.Text, "msg_read file=") {
				t.Errorf("%s: %+v", name, a)
			}
		})
	}
	if a := r.call(r.agent("coder", "1"), "report_status", map[string]any{"message": "x"}); len(a.Messages) != 0 {
		t.Errorf("another agent was shown %v", a.Messages)
	}
	a := r.call(planner, "msg_read", map[string]any{"file": answers["status"].Messages[0].File})
	r.ok(a, "---\n")
	if !strings.Contains(a.Text, "hint 0") {
		t.Errorf("message is %q", a.Text)
	}
	r.host()
	if a := r.call(planner, "msg_list", map[string]any{"unread": true}); !strings.HasPrefix(a.Text, "3 messages") || len(a.Messages) != 3 {
		t.Errorf("after reading one: %+v", a)
	}
	if notice, err := tools.Notice(planner); err != nil || strings.Count(notice, "\n") != 2 || !strings.Contains(notice, "read @"+r.s.Path("msgs")) {
		t.Errorf("notice is %q, %v", notice, err)
	}
	r.refused(r.call(r.agent("coder", "1"), "msg_read", map[string]any{"file": r.st.Messages[1].File}), "no message")
}

// P5: a repeated submission is not recorded again.
func TestProtocolP5AlreadySubmitted(t *testing.T) {
	r := implementing(t)
	coder := r.agent("coder", "1")
	index := map[string]any{"subplan_index": 1}
	r.ok(r.call(coder, "submit_done", index), "recorded")
	before := len(r.lines())
	r.ok(r.call(coder, "submit_done", map[string]any{"subplan_index": "1"}), "already submitted") // not read yet
	r.host()
	r.ok(r.call(coder, "submit_done", index), "already submitted") // read
	if n := len(r.lines()); n != before {
		t.Errorf("%d lines were added", n-before)
	}
	r.refused(r.call(r.agent("", ""), "submit_done", map[string]any{"subplan_index": 2}), "subplan 2 is not active")
}

// J9: a corrected artifact is a new submission.
func TestProtocolJ9ACorrectedArtifactIsANewLine(t *testing.T) {
	r := start(t, "quick")
	planner := r.agent("planner", "")
	r.write("04_planning/plan.yaml", plan)
	r.ok(r.call(planner, "submit_plan", nil), "recorded")
	r.write("04_planning/plan.yaml", "version: 1\n") // before the host reads it
	r.host()
	if r.st.Phase != "planning" {
		t.Fatalf("phase is %s", r.st.Phase)
	}
	r.refused(r.call(planner, "submit_plan", nil), "version")
	r.write("04_planning/plan.yaml", plan)
	r.ok(r.call(planner, "submit_plan", nil), "recorded")
	r.host()
	if r.st.Phase != "implementing" {
		t.Errorf("phase is %s", r.st.Phase)
	}
}

// J7: a replaced launch is told so instead of "submitted".
func TestProtocolJ7AReplacedLaunchCannotSubmit(t *testing.T) {
	r := implementing(t)
	old := r.agent("coder", "1")
	code := 1
	r.input(orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: r.pending(orchestrator.EffStartAgent).ID}})
	r.input(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{
		Key: "coder/1", Launch: old.Launch, Condition: orchestrator.AgentDead, ExitCode: &code}})
	r.now = noon.Add(time.Minute)
	r.input(orchestrator.Input{Kind: orchestrator.InTimer, Timer: "relaunch/coder/1"})
	if r.agent("coder", "1").Launch == old.Launch {
		t.Fatal("the agent was not launched again")
	}
	r.refused(r.call(old, "submit_done", map[string]any{"subplan_index": 1}), "was replaced")
	r.ok(r.call(r.agent("coder", "1"), "submit_done", map[string]any{"subplan_index": 1}), "recorded")
}

func TestQuestionsGetNumbersAndEndAtThree(t *testing.T) {
	r := start(t, "quick")
	planner := r.agent("planner", "")
	ask := func(text string) tools.Answer {
		return r.call(planner, "ask_human", map[string]any{"question": text, "options": []any{"yes", "no"}})
	}
	r.ok(ask("one?"), "asked: question q1")
	r.host()
	r.ok(ask("two?"), "asked: question q2")
	r.ok(ask("two?"), "asked: question q3") // the same words are another question
	r.refused(ask("four?"), "3 questions open")
	r.host()
	var ids []string
	for _, q := range r.st.Questions {
		ids = append(ids, q.ID)
	}
	if !slices.Equal(ids, []string{"q1", "q2", "q3"}) {
		t.Errorf("questions are %v", ids)
	}
	for _, c := range []struct {
		unread []string
		want   string
	}{{nil, "q4"}, {[]string{"q5"}, "q6"}, {[]string{"q5", "q6"}, "q7"}, {[]string{"q1", "q2", "q7"}, "q8"}} {
		if got := duty.NextQuestion(r.st, c.unread...); got != c.want {
			t.Errorf("after %v: %s, want %s", c.unread, got, c.want)
		}
	}
	r.refused(r.call(r.agent("coder", "1"), "ask_human", map[string]any{"question": "x"}), "not at work")
	r = implementing(t)
	coder := r.agent("coder", "1")
	r.refused(r.call(coder, "ask_human", map[string]any{"question": strings.Repeat("x", 4001)}), "longer than 4000")
	r.refused(r.call(coder, "ask_human", map[string]any{"question": "x", "options": []any{"1", "2", "3", "4", "5", "6", "7"}}), "at most 6")
}

func TestStatusIsRecordedOncePerTenSecondsAndAgent(t *testing.T) {
	r := start(t, "quick")
	status := map[string]any{"message": "reading", "percent": 40.0, "current_task": "the code"}
	r.ok(r.call(r.agent("planner", ""), "report_status", status), "recorded")
	r.ok(r.call(r.agent("coder", "1"), "report_status", status), "recorded")
	r.now = noon.Add(9 * time.Second)
	r.ok(r.call(r.agent("planner", ""), "report_status", status), "not recorded")
	r.now = noon.Add(10 * time.Second)
	r.ok(r.call(r.agent("planner", ""), "report_status", status), "recorded")
	if n := len(r.lines()); n != 3 {
		t.Errorf("%d lines", n)
	}
	r.refused(r.call(r.agent("planner", ""), "report_status", map[string]any{"message": "x", "percent": 101}), "percent: expected 0 to 100")
	r.refused(r.call(r.agent("planner", ""), "report_status", map[string]any{"message": strings.Repeat("x", 501)}), "longer than 500")
}

func TestResearchParameters(t *testing.T) {
	r := start(t, "quick")
	planner := r.agent("planner", "")
	good := map[string]any{"topic": "token-store", "context": "c", "questions": []any{"Where?"}, "scope_hints": "auth/"}
	for problem, edit := range map[string]func(map[string]any){
		"topic: expected":        func(m map[string]any) { m["topic"] = "Token Store" },
		"questions: expected at": func(m map[string]any) { m["questions"] = []any{} },
		"context: required":      func(m map[string]any) { delete(m, "context") },
	} {
		t.Run(problem, func(t *testing.T) {
			row := *r
			row.T = t
			params := maps.Clone(good)
			edit(params)
			row.refused(row.call(planner, "research_dispatch_code", params), problem)
		})
	}
	r.ok(r.call(planner, "research_dispatch_code", good), "dispatched: research token-store")
	r.host()
	r.refused(r.call(planner, "research_dispatch_code", good), "already running")
	researcher := r.agent("code-researcher", "token-store")
	r.refused(r.call(researcher, "submit_research_done", nil), "summary.md does not exist")
	if err := r.s.Replace("03_research/code-token-store/summary.md", []byte("In auth/.\n")); err != nil {
		t.Fatal(err)
	}
	r.ok(r.call(researcher, "submit_research_done", nil), "recorded")
	r.host()
	if r.st.ResearchTasks["token-store"] != "done" {
		t.Errorf("research is %v", r.st.ResearchTasks)
	}
	r.refused(r.call(planner, "research_dispatch_code", good), "is done: read 03_research/code-token-store/summary.md")
}

// Lines that the session has not read yet count: an agent that is told "dispatched" waits
// for a result, and a session that ignores the line never sends one.
func TestUnreadDispatchesCount(t *testing.T) {
	r := start(t, "quick")
	planner := r.agent("planner", "")
	dispatch := func(kind, topic string) tools.Answer {
		return r.call(planner, "research_dispatch_"+kind, map[string]any{"topic": topic, "context": "c", "questions": []any{"Where?"}})
	}
	r.ok(dispatch("code", "t1"), "dispatched")
	r.refused(dispatch("code", "t1"), "already running")
	r.ok(dispatch("web", "t1"), "dispatched")
	for _, topic := range []string{"t2", "t3", "t4"} {
		r.ok(dispatch("code", topic), "dispatched")
	}
	r.refused(dispatch("web", "t5"), "5 research tasks are running, at most 5 may; wait")
	r.host()
	if n := len(r.st.ResearchTasks) + len(r.st.WebResearchTasks); n != 5 || len(r.lines()) != 5 {
		t.Errorf("%d tasks, %d lines", n, len(r.lines()))
	}
}

// J6: many writers; the file holds each answered line once and no other line.
func TestProtocolJ6ManyWriters(t *testing.T) {
	r := start(t, "quick")
	const writers = 8
	each := 10
	if testing.Short() {
		each = 4
	}
	var accepted atomic.Int64
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			who := tools.Caller{Dir: r.s.Dir, Role: "coder", Task: fmt.Sprint(w)}
			for i := range each {
				at := noon.Add(time.Duration(i) * time.Minute)
				who.Now = func() time.Time { return at }
				a := tools.Call(t.Context(), who, "report_status", map[string]any{"message": fmt.Sprintf("%d/%d", w, i)})
				switch {
				case a.OK:
					accepted.Add(1)
				case !slices.Equal(a.Errors, []string{"busy"}): // a slow disk may make it so
					t.Errorf("answer is %+v", a)
				}
			}
		})
	}
	wait.Wait()
	seen := map[string]int{}
	lines, _, err := r.s.Lines(session.ToolEvents, orchestrator.Cursor{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		p, err := l.Decode()
		if err != nil || l.Corrupt != "" {
			t.Fatalf("line is %+v, %v", l, err)
		}
		seen[p.Message]++
	}
	if n := int(accepted.Load()); n == 0 || len(seen) != n || len(lines) != n {
		t.Errorf("%d lines, %d of them different, %d were accepted", len(lines), len(seen), n)
	}
}

// J2, J8: a torn tail is isolated; a call that cannot write its line fails.
func TestProtocolJ8AFailedWriteIsNeverSubmitted(t *testing.T) {
	r := start(t, "quick")
	r.write("04_planning/plan.yaml", plan)
	r.write(session.ToolEvents, `{"tool":"submit_pl`)
	r.ok(r.call(r.agent("planner", ""), "submit_plan", nil), "recorded")
	lines, _, err := r.s.Lines(session.ToolEvents, orchestrator.Cursor{}, 0)
	if err != nil || len(lines) != 2 || lines[0].Corrupt == "" || lines[1].Tool != "submit_plan" {
		t.Fatalf("lines are %+v, %v", lines, err)
	}
	if err := os.Remove(r.s.Path(session.ToolEvents)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(r.s.Path(session.ToolEvents), 0o700); err != nil {
		t.Fatal(err)
	}
	r.refused(r.call(r.agent("planner", ""), "submit_plan", nil), "not recorded")
}
