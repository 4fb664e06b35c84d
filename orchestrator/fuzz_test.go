package orchestrator_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

// FuzzState: a state that is read can be written, and is the same when it is read again.
func FuzzState(f *testing.F) {
	full, err := orchestrator.NewState().Encode()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(full), "{}", "null", "[]", "{", `{"schema_version":2}`, `{"Schema_version":2,"Phase":"planning"}`, `{"schema_version":"1"}`,
		`{"subplan_count":"2","completed_subplans":[1,"plan_2"],"issue_number":"42","colour":{"a":[1]},"\u0007":1}`,
		`{"phase":7,"last_event":"dreamed","pending_effects":[null],"questions":[{}],"updated_at":"noon"}`,
		`{"schema_version":1,"gate":{"name":"plan"},"messages":null,"deadlines":{"x":"2026-01-15T12:00:00Z"}}`,
		`{"updated_at":"1/2"}`, `{"updated_at":"\"","seq":-1}`, `{"updated_at":"noon\n"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := orchestrator.Decode(data)
		var corrupt *orchestrator.CorruptError
		if err != nil {
			if s != nil || !errors.As(err, &corrupt) && !errors.Is(err, orchestrator.ErrNewer) {
				t.Fatalf("state %v, error %v", s, err)
			}
			return
		}
		once, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := orchestrator.Decode(once)
		if err != nil {
			t.Fatalf("own output is refused: %v\n%s", err, once)
		}
		twice, err := back.Encode()
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v\n%s\nbecame\n%s", err, once, twice)
		}
	})
}

// FuzzReadEvent: a record that is read can be written, and is the same when it is read again.
func FuzzReadEvent(f *testing.F) {
	journal, err := os.ReadFile("testdata/journal.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(journal) {
		f.Add(line)
	}
	for _, seed := range []string{
		"null", "[]", "{", `{"seq":"1"}`, `{"seq":1,"type":"verdict","data":[]}`, `{"data":{"role":7,"findings":1.5},"type":"verdict"}`,
		`{"seq":1,"type":"scope_violation","data":{"type":"done","paths":[{"path":1,"added":2},null]}}`, `{"type":"later","data": {"b":1, "a":1e3}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := orchestrator.ReadEvent(data)
		if err != nil {
			return
		}
		once, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := orchestrator.ReadEvent(once)
		if err != nil {
			t.Fatalf("own output is refused: %v\n%s", err, once)
		}
		if twice, err := json.Marshal(back); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v\n%s\nbecame\n%s", err, once, twice)
		}
	})
}
