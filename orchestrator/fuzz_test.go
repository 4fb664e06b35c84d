package orchestrator_test

import (
	"bytes"
	"errors"
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
