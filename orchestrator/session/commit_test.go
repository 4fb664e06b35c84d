package session_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// next returns a step with one record more.
func next(st *orchestrator.State, kind string) decide.Step {
	c := st.Clone()
	c.Seq++
	c.UpdatedBy = "engine:" + c.Phase
	e := orchestrator.Event{Seq: c.Seq, TS: orchestrator.At(noon), Type: kind, Phase: c.Phase, Visit: c.Visit, Data: orchestrator.ReadRecord(kind, []byte("{}"))}
	return decide.Step{State: c, Events: []orchestrator.Event{e}, Changed: true}
}

func commit(t *testing.T, s *session.Session, step decide.Step) *orchestrator.State {
	t.Helper()
	if err := s.Commit(step); err != nil {
		t.Fatal(err)
	}
	return step.State
}

func TestCommitKeepsBlobsRecordsStateAndCursor(t *testing.T) {
	s := fresh(t)
	step := next(state(t, s), orchestrator.EvPhaseEntered)
	text := []byte("a text")
	name, err := s.PutBlob(text)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(s.Path("blobs", name))
	step.Blobs = map[string][]byte{name: text}
	step.State.ToolCursor = orchestrator.Cursor{Offset: 10, LineStart: 2, LineSHA256: "ff", Seq: 3}
	before := read(t, s, "state.json")
	commit(t, s, step)
	if got, err := s.Blob(name); err != nil || string(got) != "a text" {
		t.Errorf("blob is %q, %v", got, err)
	}
	if got := state(t, s); got.Seq != 3 || got.ToolCursor != step.State.ToolCursor {
		t.Errorf("state is %+v", got)
	}
	if got := read(t, s, "tool_event_state.json"); got != `{"applied_offset":10,"version":2,"applied_seq":3,"line_sha256":"ff"}`+"\n" {
		t.Errorf("cursor copy is %s", got)
	}
	if got := read(t, s, "state.json.bak"); got != before {
		t.Error("the backup is not the state before the phase entry")
	}
	if records, _, err := s.Events(2); err != nil || len(records) != 1 || records[0].Type != "phase_entered" {
		t.Errorf("records are %+v, %v", records, err)
	}
}

func TestCommitNeedsTheLock(t *testing.T) {
	s := fresh(t)
	step := next(state(t, s), orchestrator.EvPaused)
	s.Release()
	if err := s.Commit(step); err == nil {
		t.Error("committed without the lock")
	}
}

func TestProtocolS3AStateWithAnotherLastEventIsNotWritten(t *testing.T) {
	s := fresh(t)
	before, records := read(t, s, "state.json"), read(t, s, "events.jsonl")
	step := next(state(t, s), orchestrator.EvPaused)
	step.State.LastEvent = "plan_accepted"
	if err := s.Commit(step); err == nil || !strings.Contains(err.Error(), "last_event") {
		t.Errorf("commit: %v", err)
	}
	if read(t, s, "state.json") != before || read(t, s, "events.jsonl") != records {
		t.Error("a refused state was written")
	}
}

func TestFailedCommitLeavesNothingAndCanBeRepeated(t *testing.T) {
	s := fresh(t)
	st := state(t, s)
	events, before := read(t, s, "events.jsonl"), read(t, s, "state.json")
	// A directory in its place makes the replacement of the state fail.
	if err := os.Rename(s.Path("state.json"), s.Path("kept")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.Path("state.json", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	step := next(st, orchestrator.EvPaused)
	if err := s.Commit(step); err == nil {
		t.Fatal("the commit did not fail")
	}
	if got := read(t, s, "events.jsonl"); got != events {
		t.Errorf("a failed commit left records: %q", strings.TrimPrefix(got, events))
	}
	if err := os.RemoveAll(s.Path("state.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.Path("kept"), s.Path("state.json")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, "state.json"); got != before {
		t.Error("the state changed")
	}
	commit(t, s, step)
	if records, bad, err := s.Events(0); err != nil || bad > 0 || len(records) != 3 {
		t.Errorf("records are %+v, %d bad, %v", records, bad, err)
	}
}

// Whatever a kill leaves behind the last commit is cut off.
func TestProtocolC3RecoverCutsWhatWasNotCommitted(t *testing.T) {
	tails := map[string]string{
		"appended, state not replaced": `{"seq":4,"ts":"2026-01-15T12:00:00.000Z","type":"paused","phase":"architecting","visit":1,"data":{}}` + "\n",
		"torn line":                    `{"seq":4,"ts":"2026-`,
		"orphan and torn":              `{"seq":4,"type":"paused"}` + "\n" + `{"seq":5,"type":"pau`,
		"no record":                    "garbage\n",
	}
	for name, tail := range tails {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			commit(t, s, next(state(t, s), orchestrator.EvPaused))
			committed := read(t, s, "events.jsonl")
			write(t, s.Path("events.jsonl"), committed+tail)
			os.Remove(s.Path("tool_event_state.json"))
			st, err := s.Recover(noon)
			if err != nil || st.Seq != 3 {
				t.Fatalf("recover: %+v, %v", st, err)
			}
			if got := read(t, s, "events.jsonl"); got != committed {
				t.Errorf("events.jsonl ends %q", strings.TrimPrefix(got, committed))
			}
			if _, err := os.Stat(s.Path("tool_event_state.json")); err != nil {
				t.Error("the copy of the cursor was not written again")
			}
			commit(t, s, next(st, orchestrator.EvUnpaused))
			if records, bad, _ := s.Events(0); bad > 0 || len(records) != 4 || records[3].Seq != 4 {
				t.Errorf("records are %+v, %d bad", records, bad)
			}
		})
	}
}

func TestProtocolC3RecoverRecordsLostRecords(t *testing.T) {
	losses := map[string]func(*testing.T, *session.Session){
		"file missing": func(t *testing.T, s *session.Session) { os.Remove(s.Path("events.jsonl")) },
		"file too short": func(t *testing.T, s *session.Session) {
			first, _, _ := strings.Cut(read(t, s, "events.jsonl"), "\n")
			write(t, s.Path("events.jsonl"), first+"\n")
		},
	}
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			lose(t, s)
			for range 2 { // the loss is recorded once
				st, err := s.Recover(noon)
				if err != nil || st.Seq != 3 {
					t.Fatalf("recover: %+v, %v", st, err)
				}
			}
			records, _, err := s.Events(1)
			if err != nil || len(records) != 1 || records[0].Type != "input_rewound" || records[0].Seq != 3 {
				t.Errorf("records are %+v, %v", records, err)
			}
		})
	}
}

func TestProtocolS4OverwrittenStateIsNoticedOnce(t *testing.T) {
	s := fresh(t)
	st := state(t, s)
	if s.Overwritten() {
		t.Error("noticed a change nobody made")
	}
	write(t, s.Path("state.json"), "{}")
	if !s.Overwritten() {
		t.Error("did not notice the change")
	}
	if s.Overwritten() {
		t.Error("noticed the same change again")
	}
	commit(t, s, next(st, orchestrator.EvStateOverwritten))
	if s.Overwritten() || state(t, s).Seq != 3 {
		t.Error("the host's own version did not win")
	}
	os.Remove(s.Path("state.json"))
	if !s.Overwritten() {
		t.Error("did not notice the removal")
	}
}

func TestProtocolS2FromBackupRestoresTheStateBeforeThePhase(t *testing.T) {
	s := fresh(t)
	if err := s.FromBackup(); err == nil {
		t.Error("restored without a backup")
	}
	st := commit(t, s, next(state(t, s), orchestrator.EvPhaseEntered))
	commit(t, s, next(st, orchestrator.EvPaused))
	write(t, s.Path("state.json"), "{")
	if err := s.FromBackup(); err != nil {
		t.Fatal(err)
	}
	got, err := s.Recover(noon)
	if err != nil || got.Seq != 2 {
		t.Fatalf("recovered %+v, %v", got, err)
	}
	if records, _, _ := s.Events(0); len(records) != 2 {
		t.Errorf("%d records are left", len(records))
	}
}

func TestFollowerSeesOnlyCommittedRecordsAndEachOnce(t *testing.T) {
	s := fresh(t)
	f := s.Follow(0)
	if records, err := f.Read(); err != nil || len(records) != 2 {
		t.Fatalf("first read: %+v, %v", records, err)
	}
	orphan := `{"seq":3,"type":"paused"}` + "\n"
	write(t, s.Path("events.jsonl"), read(t, s, "events.jsonl")+orphan)
	if records, err := f.Read(); err != nil || len(records) != 0 {
		t.Errorf("saw what is not committed: %+v, %v", records, err)
	}
	st, err := s.Recover(noon)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, next(st, orchestrator.EvUnpaused))
	if records, err := f.Read(); err != nil || len(records) != 1 || records[0].Type != "unpaused" {
		t.Errorf("second read: %+v, %v", records, err)
	}
	if records, err := f.Read(); err != nil || len(records) != 0 {
		t.Errorf("third read: %+v, %v", records, err)
	}
}

func TestALongRecordKeepsItsNumberAndItsKeys(t *testing.T) {
	s := fresh(t)
	step := next(state(t, s), orchestrator.EvQuestionAsked)
	long := strings.Repeat("ü", 3000)
	step.Events[0].Data = orchestrator.QuestionAskedRecord{ID: "q7", Text: long, Options: []string{long, long, long, long, long, long}}
	strayed := next(step.State, orchestrator.EvScopeViolation)
	strayed.Events[0].Data = orchestrator.ScopeViolationRecord{
		ID: "1", Policy: "report", Paths: []orchestrator.ScopePath{{Path: strings.Repeat("p", 70<<10), Added: 3}},
	}
	commit(t, s, step)
	commit(t, s, strayed)
	records, bad, err := s.Events(2)
	if err != nil || bad > 0 || len(records) != 2 || records[0].Seq != 3 || records[1].Seq != 4 {
		t.Fatalf("records are %+v, %d bad, %v", records, bad, err)
	}
	asked := records[0].Data.(orchestrator.QuestionAskedRecord)
	if asked.ID != "q7" || len(asked.Options) != 6 || !strings.HasPrefix(asked.Text, "üüü") {
		t.Errorf("data is %.300v", asked)
	}
	found := records[1].Data.(orchestrator.ScopeViolationRecord)
	if found.Policy != "report" || len(found.Paths) != 1 || !strings.HasPrefix(found.Paths[0].Path, "ppp") || found.Paths[0].Added != 3 {
		t.Errorf("data is %.300v", found)
	}
	for line := range strings.Lines(read(t, s, "events.jsonl")) {
		if len(line) > 64<<10 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}
