package orchestrator_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/lenient"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/seal"
)

func TestProtocolS1SpellingsOfTheEarlierTool(t *testing.T) {
	_, err := orchestrator.Decode([]byte(`{
		"phase": "implementing", "last_event": "never_heard_of", "subplan_count": "2", "review_iteration": " 1 ",
		"completed_subplans": [1, "plan_2", "3"], "implementation_active_plan_ids": ["plan_4"],
		"implementation_completed_group_ids": [7, "core"], "session_name": 42, "updated_by": true,
		"implementation_single_coder": true, "zebra": {"a": [1]}, "colour": "red", "phase_entered_at": "yesterday"}`))
	if err == nil {
		t.Fatal("updated_by: true is no text")
	}
	s, err := orchestrator.Decode([]byte(`{
		"phase": "implementing", "last_event": "never_heard_of", "subplan_count": "2", "review_iteration": " 1 ",
		"completed_subplans": [1, "plan_2", "3"], "implementation_active_plan_ids": ["plan_4"],
		"implementation_completed_group_ids": [7, "core"], "session_name": 42,
		"implementation_single_coder": true, "zebra": {"a": [1]}, "colour": "red", "phase_entered_at": "yesterday"}`))
	if err != nil {
		t.Fatal(err)
	}
	if !s.IsClassic() || s.SubplanCount != 2 || s.ReviewIteration != 1 || s.SessionName != "42" || s.LastEvent != orchestrator.LastResumed ||
		!slices.Equal(s.CompletedSubplans, []string{"1", "2", "3"}) || !slices.Equal(s.ActivePlanIDs, []string{"4"}) ||
		!slices.Equal(s.CompletedGroups, []string{"7", "core"}) || !s.PhaseEnteredAt.IsZero() {
		t.Errorf("state %+v", s)
	}
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "never_heard_of") {
		t.Errorf("warnings %q", s.Warnings)
	}
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if !strings.HasPrefix(text, "{\n  \"phase\": \"implementing\",\n  \"last_event\": \"resumed\",\n") || !strings.HasSuffix(text, "}\n") {
		t.Errorf("form:\n%s", text)
	}
	order := []string{`"phase"`, `"updated_at"`, `"schema_version"`, `"completion"`, `"colour"`, `"implementation_single_coder"`, `"zebra"`}
	at := -1
	for _, key := range order {
		next := strings.Index(text, "\n  "+key)
		if next <= at {
			t.Errorf("%s is at %d, behind %d", key, next, at)
		}
		at = next
	}
	again, err := orchestrator.Decode(data)
	if err != nil || string(again.Unknown["zebra"]) == "" {
		t.Errorf("unknown keys: %v %v", again, err)
	}
}

// S1: every number may be text and every text a number, whoever wrote the file.
func TestProtocolS1EveryKeyMayBeSpelledTheOtherWay(t *testing.T) {
	s, err := orchestrator.Decode([]byte(`{
		"phase": 7, "last_event": 5, "updated_at": 1705312200, "updated_by": 3, "feature_dir": 4, "implementation_group_mode": 1,
		"issue_number": "42", "schema_version": "1", "workflow": 2024, "base_branch": 7, "issue_title": 404, "outcome_reason": 9,
		"seq": "12", "visit": " 3 ", "effect_seq": "30", "resume_count": "1", "change_round": "2", "change_request": 5}`))
	if err != nil {
		t.Fatal(err)
	}
	if s.Phase != "7" || s.LastEvent != orchestrator.LastResumed || len(s.Warnings) != 1 || s.UpdatedAt != "1705312200" || s.UpdatedBy != "3" ||
		s.FeatureDir != "4" || s.GroupMode != "1" || s.IssueNumber != 42 || s.SchemaVersion != 1 || s.Workflow != "2024" ||
		s.BaseBranch != "7" || s.IssueTitle != "404" || s.OutcomeReason != "9" || s.Seq != 12 || s.Visit != 3 ||
		s.EffectSeq != 30 || s.ResumeCount != 1 || s.ChangeRound != 2 || s.ChangeRequest != "5" {
		t.Errorf("state %+v", s)
	}
	for text, want := range map[string]int{`{"seq": "12"}`: 12, `{"seq": 12}`: 12, `{}`: 0, `{"seq": null}`: 0} {
		t.Run(text, func(t *testing.T) {
			if seq, err := lenient.Int([]byte(text), "seq"); err != nil || seq != want {
				t.Errorf("seq of %s is %d, %v", text, seq, err)
			}
		})
	}
	if _, err := lenient.Int([]byte(`{"seq": "many"}`), "seq"); err == nil {
		t.Error("seq of many is a number")
	}
}

// A follower reads one line of a file that is as it was written; of any other it finds the same number.
func TestSeqOfAStateAsItWasWritten(t *testing.T) {
	st := orchestrator.NewState()
	st.Seq, st.UpdatedAt, st.IssueTitle = 47, "now", "a title,\n  \"seq\": 9,\n"
	st.Unknown = map[string]json.RawMessage{"zebra": []byte(`{"seq":8,"list":[{"seq":7}]}`)}
	data, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(",\n  \"seq\": 47,\n")
	if bytes.Count(data, line) != 1 {
		t.Fatalf("written:\n%s", data)
	}
	for name, c := range map[string]struct {
		data []byte
		want int
	}{
		"as written":              {data, 47},
		"edited":                  {bytes.Replace(data, line, []byte(",\n  \"seq\": 48,\n"), 1), 48},
		"written in another form": {bytes.Replace(data, line, []byte(",\n\"seq\":\n\"48\",\n"), 1), 48},
		"without it":              {bytes.Replace(data, line, []byte(",\n"), 1), 0},
		"twice":                   {bytes.Replace(data, line, []byte(",\n  \"seq\": 47,\n  \"seq\": 48,\n"), 1), 48},
	} {
		t.Run(name, func(t *testing.T) {
			if seq, err := seal.Seq(c.data); err != nil || seq != c.want {
				t.Errorf("%d, %v; want %d", seq, err, c.want)
			}
		})
	}
	if seq, err := seal.Seq(data[:len(data)-len("\n}\n")]); err == nil {
		t.Errorf("a file that was cut has the number %d", seq)
	}
}

func TestProtocolS2StatesThatCannotBeRead(t *testing.T) {
	for name, data := range map[string]string{
		"bad JSON":       `{`,
		"no object":      `[1]`,
		"wrong type":     `{"phase": []}`,
		"version":        `{"schema_version": "one"}`,
		"no version":     `{"schema_version": ""}`,
		"half a version": `{"schema_version": 1.5}`,
		"no list":        `{"completed_subplans": "all"}`,
		"no number":      `{"subplan_count": "many"}`,
		"bad duration":   `{"settings": {"limit_phase": "long"}}`,
		"bad span":       `{"settings": {"limit_phase": {}}}`,
		"larger than 8M": strings.Repeat(" ", orchestrator.MaxStateBytes+1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := orchestrator.Decode([]byte(data))
			var corrupt *orchestrator.CorruptError
			if !errors.As(err, &corrupt) || !strings.HasPrefix(err.Error(), "corrupt: ") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for _, version := range []string{`2`, `"2"`, `99999999999999999999`} {
		t.Run("schema "+version, func(t *testing.T) {
			if _, err := orchestrator.Decode([]byte(`{"schema_version": ` + version + `}`)); !errors.Is(err, orchestrator.ErrNewer) {
				t.Errorf("schema %s: %v", version, err)
			}
		})
	}
}

func TestTimesAndSpansInFiles(t *testing.T) {
	at := orchestrator.At(time.Date(2026, 1, 2, 3, 4, 5, 678_999_000, time.FixedZone("x", 3600)))
	data, err := json.Marshal(at)
	if err != nil || string(data) != `"2026-01-02T02:04:05.678Z"` {
		t.Errorf("%s %v", data, err)
	}
	var back orchestrator.Time
	if err := json.Unmarshal(data, &back); err != nil || !back.Equal(at.Time) {
		t.Errorf("%v %v", back, err)
	}
	if unset := orchestrator.At(time.Time{}); !unset.Later(time.Hour).IsZero() {
		t.Error("an unset time moved")
	}
	if got := orchestrator.Classic(at.Time); got != "2026-01-02T02:04:05+00:00" {
		t.Error(got)
	}
	var span orchestrator.Duration
	for text, want := range map[string]time.Duration{`"1h30m"`: 90 * time.Minute, `1000`: time.Microsecond} {
		if err := json.Unmarshal([]byte(text), &span); err != nil || span.D() != want {
			t.Errorf("%s is %s, %v", text, span.D(), err)
		}
	}
}

// An agent whose provider refuses more waits for that, in the file, unless it waits for something else; a file of an
// earlier version says so beside.
func TestTheWaitForAProviderInTheFile(t *testing.T) {
	until := orchestrator.At(time.Date(2026, 5, 1, 15, 0, 0, 0, time.UTC))
	for name, c := range map[string]struct {
		agent   orchestrator.Agent
		written string
		also    string
	}{
		"limited": {orchestrator.Agent{Limited: true, Until: until}, `"waiting":"rate_limit","until":"2026-05-01T15:00:00.000Z"`, `{"waiting":null,"limited":true,"until":"2026-05-01T15:00:00Z"}`},
		"both":    {orchestrator.Agent{Limited: true, Waiting: "question"}, `"waiting":"question","limited":true`, `{"waiting":"question","limited":true}`},
		"asked":   {orchestrator.Agent{Waiting: "ask"}, `"waiting":"ask","heard"`, `{"waiting":"ask"}`},
	} {
		t.Run(name, func(t *testing.T) {
			written, err := json.Marshal(c.agent)
			if err != nil || !strings.Contains(string(written), c.written) {
				t.Errorf("written as %s, %v", written, err)
			}
			for _, text := range []string{string(written), c.also} {
				var read orchestrator.Agent
				if err := json.Unmarshal([]byte(text), &read); err != nil || read != c.agent {
					t.Errorf("%s: read as %+v, %v", text, read, err)
				}
			}
		})
	}
	if _, err := orchestrator.Decode([]byte(`{"schema_version": 1, "agents": {"planner": {"waiting": 7}}}`)); err == nil {
		t.Error("a number is what an agent waits for")
	}
}

// What is off stays off; a session of an earlier version has the default.
func TestSpansThatAreOffAreKept(t *testing.T) {
	spans := func(s *orchestrator.Settings) []*orchestrator.Duration {
		return []*orchestrator.Duration{&s.ProviderWait, &s.AskTimeout, &s.CheckpointEvery, &s.ReviewTimeout, &s.LimitPhase, &s.LimitTotal, &s.LimitStall,
			&s.LimitSummary, &s.LimitHumanWait, &s.LimitRemote, &s.AckTimeout, &s.ParkAfter}
	}
	s := orchestrator.NewState()
	for _, want := range []orchestrator.Duration{0, orchestrator.Duration(7 * time.Hour)} {
		for _, span := range spans(&s.Settings) {
			*span = want
		}
		data, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		read, err := orchestrator.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		for i, span := range spans(&read.Settings) {
			if *span != want {
				t.Errorf("span %d of %s is read as %s", i, want.D(), span.D())
			}
		}
	}
	earlier, err := orchestrator.Decode([]byte(`{"schema_version": 1, "settings": {"limit_phase": "1h"}}`))
	if err != nil || earlier.Settings.ProviderWait != orchestrator.Duration(30*time.Minute) {
		t.Errorf("earlier: %+v, %v", earlier, err)
	}
}

func TestPayloadsMayBeSpelledTwoWays(t *testing.T) {
	for text, want := range map[string]string{`{"subplan_index": 1}`: "1", `{"subplan_index": "1"}`: "1"} {
		t.Run(text, func(t *testing.T) {
			p, err := (&orchestrator.Line{Payload: []byte(text)}).Decode()
			if err != nil || string(*p.SubplanIndex) != want {
				t.Errorf("%s: %+v %v", text, p, err)
			}
			data, err := json.Marshal(p.SubplanIndex)
			if err != nil || string(data) != "1" {
				t.Errorf("%s: written as %s, %v", text, data, err)
			}
		})
	}
	for text, want := range map[string]int{`{"scope_hints": "cmd/"}`: 1, `{"scope_hints": ["a", "b"]}`: 2} {
		t.Run(text, func(t *testing.T) {
			p, err := (&orchestrator.Line{Payload: []byte(text)}).Decode()
			if err != nil || len(p.ScopeHints) != want {
				t.Errorf("%s: %+v %v", text, p, err)
			}
		})
	}
	if p, err := (&orchestrator.Line{}).Decode(); err != nil || p.Role != "" {
		t.Errorf("no payload: %+v %v", p, err)
	}
	other := orchestrator.Index("x")
	if data, err := json.Marshal(&other); err != nil || string(data) != `"x"` {
		t.Errorf("%s %v", data, err)
	}
}

// A file as it was written is read another way than one that somebody edited, which has no checksum.
func TestAFileAsItWasWrittenAndOneWithoutChecksumAreTheSame(t *testing.T) {
	s := orchestrator.NewState()
	s.Seq, s.Phase, s.Kind, s.SessionID, s.MessageSeq = 7, "working", orchestrator.KindAgents, "shop", 2
	s.Agents["build-a"] = orchestrator.Agent{Launch: "1.build.a.1", Limited: true}
	s.Messages = []orchestrator.Message{{Seq: 1, File: "msgs/a.md", Headline: "  \"phase\": \"done\",\n  \"checksum\": \"1/2/3\"", From: "shop/a", To: "shop/b"}}
	s.Questions = []orchestrator.Question{{ID: "q1"}}
	for name, change := range map[string]func(*orchestrator.State){
		"as it is": func(*orchestrator.State) {},
		"key of another": func(s *orchestrator.State) {
			s.Unknown = map[string]json.RawMessage{"Phase": []byte(`"done"`), "x": []byte(`[{"phase": 1}]`)}
		},
		"item with a prefix": func(s *orchestrator.State) { s.CompletedSubplans = []string{"1", "2"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := s.Clone()
			change(s)
			written, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.LastIndex(written, []byte(",\n  \"checksum\""))
			own, err := orchestrator.Decode(written)
			if err != nil {
				t.Fatal(err)
			}
			edited, err := orchestrator.Decode(append(bytes.Clone(written[:at]), "\n}\n"...))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(own, edited) {
				t.Errorf("read as written:\n%+v\nand without its checksum:\n%+v", own, edited)
			}
			if again, err := own.Encode(); err != nil || !bytes.Equal(again, written) {
				t.Errorf("it is written again as\n%s\nand was\n%s, %v", again, written, err)
			}
		})
	}
}
