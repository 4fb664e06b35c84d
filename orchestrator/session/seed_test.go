package session_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// seedFiles are the example files of the earlier tool and where a session has them.
var seedFiles = map[string]string{
	"state.json": "state.json", "tool_events.jsonl": "tool_events.jsonl", "tool_event_state.json": "tool_event_state.json",
	"created_files.log": "created_files.log", "runtime_state.json": "runtime_state.json",
	"plan.yaml": "04_planning/plan.yaml", "execution_plan.yaml": "04_planning/execution_plan.yaml",
	"review.yaml": "07_review/review.yaml", "approval.json": "08_completion/approval.json",
}

// seeded makes a project whose only session holds the named example files, byte for byte.
func seeded(t *testing.T, names ...string) *session.Session {
	t.Helper()
	dir := filepath.Join(session.Dir(t.TempDir()), "20240115-103000-my-feature")
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("testdata", "classic", name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, seedFiles[name])
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, file, string(data))
	}
	s, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// S1: the example files of the earlier tool load as they are.
func TestProtocolS1TheExamplesLoad(t *testing.T) {
	s := seeded(t, "state.json", "tool_events.jsonl", "tool_event_state.json", "created_files.log", "runtime_state.json",
		"plan.yaml", "execution_plan.yaml", "review.yaml", "approval.json")
	entries, err := session.List(s.Project())
	if err != nil || len(entries) != 1 || entries[0].Err != nil || entries[0].Condition() != "interrupted" {
		t.Fatalf("listed %+v, %v", entries, err)
	}
	if e, err := session.Find(s.Project(), "20240115", nil); err != nil || e.State.SessionName != "agentmux-my-feature" {
		t.Errorf("found %+v, %v", e, err)
	}
	if r := s.ReadRuntime(); r.TmuxSession != "agentmux-my-feature" || r.Panes["architect"] != "%1" || r.Panes["coder"] != "%2" {
		t.Errorf("runtime state %+v", r)
	}
	if err := s.Lock(0); err != nil {
		t.Fatal(err)
	}
	st, err := s.Recover(noon)
	if err != nil {
		t.Fatal(err)
	}
	if st.Phase != "implementing" || st.LastEvent != "plan_written" || st.SubplanCount != 2 || st.GroupTotal != 1 || st.GroupIndex != 1 ||
		st.GroupMode != "serial" || !slices.Equal(st.CompletedSubplans, []string{"1"}) || !slices.Equal(st.ActivePlanIDs, []string{"2"}) {
		t.Errorf("state is %+v", st)
	}
	if st.ToolCursor.Offset != 1024 {
		t.Errorf("cursor is %+v", st.ToolCursor)
	}
	lines, _, err := s.Lines(session.ToolEvents, st.ToolCursor, 0)
	if err != nil || len(lines) != 5 || lines[0].Rewound == nil {
		t.Fatalf("a cursor beyond the file: %+v, %v", lines, err)
	}
	for i, tool := range []string{"submit_architecture", "submit_plan", "submit_done", "submit_review"} {
		if l := lines[i+1]; l.Tool != tool || l.Corrupt != "" || l.Visit != nil || l.Launch != "" {
			t.Errorf("line %d is %+v", i, l)
		}
	}
	examplesOfArtifacts(t, s)
	created := read(t, s, "created_files.log")
	if err := s.LogCreated(noon); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, "created_files.log"); !strings.HasPrefix(got, created) || strings.Count(got, "  state.json\n") != 1 {
		t.Errorf("created_files.log is %q", got)
	}
	c, err := s.Classic(st)
	if err != nil || c.Schedule == nil || len(c.Schedule.Groups) != 1 || !slices.Equal(c.Schedule.Groups[0].Plans, []string{"1", "2"}) || c.PlanSHA256 == "" {
		t.Errorf("the directory shows %+v, %v", c, err)
	}
}

func examplesOfArtifacts(t *testing.T, s *session.Session) {
	t.Helper()
	for rel, kind := range map[string]string{
		"04_planning/plan.yaml": duty.ArtifactPlan, "07_review/review.yaml": duty.ArtifactReview,
		"08_completion/approval.json": duty.ArtifactText,
	} {
		if a, err := s.ReadArtifact(rel, kind); err != nil || len(a.Problems) > 0 {
			t.Errorf("%s: %+v, %v", rel, a, err)
		}
	}
	a, problems := artifact.ParseApproval([]byte(read(t, s, "08_completion/approval.json")))
	if problems.Err() != nil || !slices.Equal(a.ExcludeFiles, []string{"tmp/x.txt"}) {
		t.Errorf("approval %+v, %v", a, problems.Lines())
	}
	plan, problems := artifact.ParseExecutionPlan([]byte(read(t, s, "04_planning/execution_plan.yaml")), nil)
	if problems.Err() != nil || plan.Groups[0].Mode != "serial" {
		t.Errorf("execution plan %+v, %v", plan, problems.Lines())
	}
}

// A session of the earlier tool without a plan in either form shows none.
func TestTheExampleWithoutItsPlan(t *testing.T) {
	s := seeded(t, "state.json")
	st := state(t, s)
	c, err := s.Classic(st)
	if err != nil || c.Schedule != nil || c.Execution || c.Architecture || len(c.Markers) > 0 {
		t.Errorf("the directory shows %+v, %v", c, err)
	}
	for rel, text := range map[string]string{
		"06_implementation/done_1": "", "02_architecting/architecture.md": "# A\n", "07_review/review.md": "verdict: pass\n",
		"04_planning/execution_plan.yaml": "groups: [{group_id: a, mode: serial, plans: [{file: plan_1.md, name: x}]}]\n",
	} {
		if err := s.Replace(rel, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	c, err = s.Classic(st)
	if err != nil || c.Schedule != nil || !c.ExecutionAny || !c.Architecture || !c.Passed || !slices.Equal(c.Markers, []string{"1"}) {
		t.Errorf("with a plan whose file is missing: %+v, %v", c, err)
	}
	if err := os.Mkdir(s.Path("04_planning/plan_1.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if c, err = s.Classic(st); err != nil || !c.Execution {
		t.Errorf("with its file: %+v, %v", c, err)
	}
}

// A session of the earlier tool is sound, wherever it ended; it knew no outcomes.
func TestTheExampleIsSoundHoweverItEnded(t *testing.T) {
	for state, condition := range map[string]string{
		`"phase": "failed", "last_event": "run_failed"`:                                               "failed",
		`"phase": "failed", "last_event": "run_canceled"`:                                             "canceled",
		`"phase": "failed", "last_event": "resumed", "interruption_category": "canceled"`:             "canceled",
		`"phase": "done", "last_event": "review_passed"`:                                              "done",
		`"phase": "fixing", "last_event": "review_failed", "implementation_group_mode": "serial"`:     "interrupted",
		`"phase": "completing", "last_event": "review_passed", "implementation_active_plan_ids": [1]`: "interrupted",
	} {
		t.Run(state, func(t *testing.T) {
			s := seeded(t, "state.json", "tool_events.jsonl", "plan.yaml")
			write(t, s.Path("tool_event_state.json"), `{"applied_offset": 0}`)
			write(t, s.Path("state.json"), "{"+state+"}")
			if report := session.CheckDir(s.Dir); report.Err() != nil {
				t.Errorf("%s: %v", state, report.Problems)
			}
			entries, err := session.List(s.Project())
			if err != nil || len(entries) != 1 || entries[0].Condition() != condition {
				t.Errorf("%s: listed %+v, %v, want %s", state, entries, err, condition)
			}
		})
	}
}
