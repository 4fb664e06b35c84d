package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// S1, P-classic: a directory of the earlier tool is read as it is.
func TestProtocolS1AClassicSessionIsRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/state.json", `{
  "phase": "implementing", "last_event": "plan_written", "product_manager": false,
  "subplan_count": "2", "completed_subplans": [1], "review_iteration": 0,
  "implementation_group_total": 1, "implementation_group_index": "1", "implementation_group_mode": "serial",
  "implementation_active_plan_ids": ["plan_2"], "implementation_completed_group_ids": [],
  "updated_at": "2024-01-15T10:30:00+00:00", "updated_by": "ImplementingHandler",
  "feature_dir": "/home/user/myproject/.agentmux/.sessions/20240115-103000-my-feature",
  "session_name": "agentmux-my-feature", "colour": {"a": [1, 2]}
}`)
	first := `{"tool": "submit_architecture", "timestamp": "2024-01-15T10:15:30+00:00", "payload": {}}` + "\n"
	write(t, dir+"/tool_events.jsonl", first+
		`{"tool": "submit_done", "timestamp": "2024-01-15T11:05:12+00:00", "payload": {"subplan_index": 1}}`+"\n")
	write(t, dir+"/created_files.log", "2024-01-15 10:00:01  state.json\nnonsense\n")
	s, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Lock(0); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write(t, dir+"/tool_event_state.json", `{"applied_offset": 89}`)
	st, err := s.Recover(noon)
	if err != nil {
		t.Fatal(err)
	}
	if !st.IsClassic() || st.SubplanCount != 2 || st.GroupIndex != 1 || !slices.Equal(st.CompletedSubplans, []string{"1"}) ||
		!slices.Equal(st.ActivePlanIDs, []string{"2"}) || len(st.Unknown) != 1 {
		t.Errorf("state is %+v", st)
	}
	if st.ToolCursor.Offset != int64(len(first)) {
		t.Errorf("cursor is %+v, want offset %d", st.ToolCursor, len(first))
	}
	lines, _, err := s.Lines(session.ToolEvents, st.ToolCursor, 0)
	if err != nil || len(lines) != 1 || lines[0].Tool != "submit_done" || lines[0].Visit != nil || lines[0].Rewound != nil {
		t.Errorf("lines are %+v, %v", lines, err)
	}
	if _, err := s.PutBlob([]byte("x")); err != nil {
		t.Errorf("no blobs directory is no reason: %v", err)
	}
	if err := s.LogCreated(noon); err != nil {
		t.Error(err)
	}
	if def, err := s.Definition(); err != nil || def.Name != "feature" {
		t.Errorf("definition is %+v, %v", def, err)
	}
	if e, err := session.Find(t.TempDir(), dir, nil); err != nil || e.State.Phase != "implementing" {
		t.Errorf("found %+v, %v", e, err)
	}
	commit(t, s, next(st, orchestrator.EvResumed))
	again := state(t, s)
	if again.Unknown["colour"] == nil || again.Seq != 1 {
		t.Errorf("written state is %+v", again)
	}
}

// S1: names that a file of the earlier tool lacks are those its directory gives it.
func TestProtocolS1AClassicSessionWithoutItsNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "20240115-103000-my-feature")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, session.StateFile), `{"phase": "architecting"}`)
	s, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.ReadState()
	if err != nil || st.FeatureDir != dir || st.SessionName != "agentmux-my-feature" {
		t.Errorf("%+v, %v", st, err)
	}
}

// S1: what was applied counts however long the file is.
func TestProtocolS1AClassicSessionWithManyLines(t *testing.T) {
	const long = 200_000 // a line of other text, which is read faster than one of a tool
	const lines = session.MaxPass/long + 1
	dir := t.TempDir()
	line := `{"tool": "report_status", "timestamp": "2024-01-15T10:15:30+00:00", "payload": {}}` + "\n" + strings.Repeat("x", long) + "\n"
	text := strings.Repeat(line, lines) + `{"tool": "submit_architecture", "timestamp": "2024-01-15T10:15:30+00:00", "payload": {}}` + "\n"
	write(t, dir+"/state.json", `{"phase": "failed", "last_event": "run_failed", "updated_at": "2024-01-15T10:30:00+00:00", "feature_dir": "/home/user/x"}`)
	write(t, dir+"/tool_events.jsonl", text)
	write(t, dir+"/tool_event_state.json", fmt.Sprintf(`{"applied_offset": %d}`, len(text)))
	s, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Lock(0); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st, err := s.Recover(noon)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Classic(st)
	if err != nil || len(c.Applied) != lines+1 || c.Applied[lines] != "submit_architecture" {
		t.Errorf("%d lines were applied, %v", len(c.Applied), err)
	}
}
