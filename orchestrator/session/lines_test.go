package session_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

func lines(t *testing.T, s *session.Session, c orchestrator.Cursor) []orchestrator.Line {
	t.Helper()
	got, more, err := s.Lines(session.ToolEvents, c, 0)
	if err != nil || more {
		t.Fatalf("lines: more %v, %v", more, err)
	}
	return got
}

const good = `{"tool":"submit_plan","timestamp":"2026-01-15T11:05:12+00:00","payload":{"a":1}}`

func TestProtocolJ1HalfALineIsNotConsumed(t *testing.T) {
	s := fresh(t)
	path := s.Path("tool_events.jsonl")
	write(t, path, good[:20])
	if got := lines(t, s, orchestrator.Cursor{}); len(got) != 0 {
		t.Fatalf("consumed half a line: %+v", got)
	}
	write(t, path, good+"\n")
	got := lines(t, s, orchestrator.Cursor{})
	if len(got) != 1 || got[0].Tool != "submit_plan" || string(got[0].Payload) != `{"a":1}` {
		t.Fatalf("lines are %+v", got)
	}
	sum := sha256.Sum256([]byte(good))
	want := orchestrator.Cursor{Offset: int64(len(good)) + 1, LineStart: 0, LineSHA256: hex.EncodeToString(sum[:]), Seq: 1}
	if got[0].Cursor != want || got[0].ID != "sha:"+want.LineSHA256 {
		t.Errorf("cursor is %+v, id %s", got[0].Cursor, got[0].ID)
	}
	if again := lines(t, s, got[0].Cursor); len(again) != 0 {
		t.Errorf("read again: %+v", again)
	}
}

// J3: what a reader makes of bytes.
func TestProtocolJ3BytesOfALine(t *testing.T) {
	cases := map[string]struct{ line, corrupt string }{
		"good":            {good, ""},
		"no payload":      {`{"tool":"submit_plan"}`, ""},
		"null payload":    {`{"tool":"submit_plan","payload":null}`, "payload is not an object"},
		"bad JSON":        {`{"tool":`, "bad JSON"},
		"no object":       {`["tool"]`, "no object"},
		"null":            {`null`, "no object"},
		"no tool":         {`{"payload":{}}`, "no tool"},
		"tool a number":   {`{"tool":7}`, "no tool"},
		"payload a list":  {`{"tool":"x","payload":[1]}`, "payload is not an object"},
		"not UTF-8":       {"{\"tool\":\"x\xe9\"}", "not UTF-8"},
		"too long":        {`{"tool":"x","payload":{"a":"` + strings.Repeat("a", session.MaxLine) + `"}}`, "longer than 256 KiB"},
		"payload long":    {`{"tool":"x","payload":{"a":"` + strings.Repeat("a", session.MaxPayload) + `"}}`, "payload longer than 64 KiB"},
		"role a number":   {`{"tool":"x","role":1}`, "role: found number"},
		"a huge visit":    {`{"tool":"x","visit":99999999999999999999}`, "visit: found number 99999999999999999999"},
		"other letters":   {`{"tool":"x","Visit":"none","LAUNCH":7}`, ""},
		"odd time":        {`{"tool":"x","timestamp":5,"v":"1"}`, ""},
		"CR at the end":   {good + "\r", ""},
		"text after JSON": {good + " x", "bad JSON"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			write(t, s.Path("tool_events.jsonl"), "\n"+c.line+"\n \t\n"+good+"\n")
			got := lines(t, s, orchestrator.Cursor{})
			if len(got) != 2 || got[0].Corrupt != c.corrupt || got[1].Corrupt != "" {
				t.Fatalf("lines are %+v", got)
			}
			if got[0].Visit != nil || got[0].Launch != "" {
				t.Errorf("visit %v, launch %q", got[0].Visit, got[0].Launch)
			}
			if n := len([]rune(got[0].Excerpt)); (c.corrupt != "") != (n > 0) {
				t.Errorf("excerpt has %d characters: %q", n, got[0].Excerpt)
			}
			if got[0].Cursor.LineStart != 1 || got[0].Cursor.Seq != 1 || got[1].Cursor.Seq != 2 {
				t.Errorf("cursors are %+v, %+v", got[0].Cursor, got[1].Cursor)
			}
			info, err := os.Stat(s.Path("tool_events.jsonl"))
			if err != nil || got[1].Cursor.Offset != info.Size() {
				t.Errorf("cursor ends at %d of %d", got[1].Cursor.Offset, info.Size())
			}
		})
	}
}

func TestProtocolJ4AReplacedFileIsReadAgain(t *testing.T) {
	other := `{"tool":"submit_done","payload":{"subplan_index":1}}`
	edits := map[string]func(text string) string{
		"truncated":        func(string) string { return good[:10] },
		"missing":          nil,
		"replaced":         func(text string) string { return strings.Replace(text, `"a":1`, `"a":2`, 1) },
		"line end moved":   func(text string) string { return " " + text },
		"replaced, longer": func(string) string { return other + "\n" + other + "\n" + other + "\n" },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			path := s.Path("tool_events.jsonl")
			text := other + "\n" + good + "\n"
			write(t, path, text)
			read := lines(t, s, orchestrator.Cursor{})
			cursor := read[1].Cursor
			if edit == nil {
				os.Remove(path)
			} else {
				write(t, path, edit(text))
			}
			got := lines(t, s, cursor)
			if len(got) == 0 || got[0].Rewound == nil || got[0].Rewound.From != cursor.Offset || got[0].Cursor != (orchestrator.Cursor{}) {
				t.Fatalf("lines are %+v", got)
			}
			if len(got) > 1 && got[1].Cursor.LineStart > 1 {
				t.Errorf("not read from the start: %+v", got[1].Cursor)
			}
		})
	}
}

func TestAFileThatOnlyGrewIsNotRewound(t *testing.T) {
	s := fresh(t)
	path := s.Path("tool_events.jsonl")
	write(t, path, good+"\n")
	cursor := lines(t, s, orchestrator.Cursor{})[0].Cursor
	write(t, path, good+"\n"+good+"\n")
	got := lines(t, s, cursor)
	if len(got) != 1 || got[0].Rewound != nil || got[0].Cursor.Seq != 2 {
		t.Errorf("lines are %+v", got)
	}
}

func TestProtocolJ5TheCursorOfAnEarlierTool(t *testing.T) {
	side := map[string]struct {
		text string
		want int64
	}{
		"applied_offset":            {`{"applied_offset":12}`, 12},
		"applied_cursor":            {`{"applied_cursor":5}`, 5},
		"both":                      {`{"applied_offset":12,"applied_cursor":5}`, 12},
		"corrupt":                   {`{`, 0},
		"neither":                   {`{}`, 0},
		"negative, older one is it": {`{"applied_offset":-1,"applied_cursor":5}`, 5},
	}
	for name, c := range side {
		t.Run(name, func(t *testing.T) {
			s := classic(t)
			write(t, s.Path("tool_event_state.json"), c.text)
			if err := s.Lock(0); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			st, err := s.Recover(noon)
			if err != nil || st.ToolCursor.Offset != c.want {
				t.Errorf("cursor is %+v, %v, want offset %d", st, err, c.want)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		s := classic(t)
		if err := s.Lock(0); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if st, err := s.Recover(noon); err != nil || st.ToolCursor.Offset != 0 {
			t.Errorf("cursor is %+v, %v", st, err)
		}
	})
	t.Run("state.json wins", func(t *testing.T) {
		s := fresh(t)
		write(t, s.Path("tool_event_state.json"), `{"applied_offset":99}`)
		if st, err := s.Recover(noon); err != nil || st.ToolCursor.Offset != 0 {
			t.Errorf("cursor is %+v, %v", st, err)
		}
	})
}

// classic returns a session as the earlier tool left it: a state of its few
// keys, no definition.
func classic(t *testing.T) *session.Session {
	t.Helper()
	dir := t.TempDir()
	write(t, dir+"/state.json", `{"phase":"planning","last_event":"architecture_written","product_manager":false,"subplan_count":"2","completed_subplans":[1],"review_iteration":0}`)
	write(t, dir+"/tool_events.jsonl", "")
	s, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLinesInPasses(t *testing.T) {
	s := fresh(t)
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, `{"tool":"t%d"}`+"\n\n\n", i)
	}
	write(t, s.Path("tool_events.jsonl"), text.String())
	var cursor orchestrator.Cursor
	n := 0
	for more := true; more; {
		got, again, err := s.Lines(session.ToolEvents, cursor, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range got {
			if l.Tool != fmt.Sprintf("t%d", n) {
				t.Fatalf("line %d is %s", n, l.Tool)
			}
			n++
			cursor = l.Cursor
		}
		more = again
	}
	if n != 50 {
		t.Errorf("%d lines, want 50", n)
	}
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{good, "{", "\x00", `{"tool":"x","payload":{}}` + "\n" + `{"tool`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := session.ParseLine(data)
		if l.Corrupt == "" && (l.Tool == "" || len(l.Payload) == 0 || l.Payload[0] != '{') {
			t.Errorf("accepted %q as %+v", data, l)
		}
	})
}
