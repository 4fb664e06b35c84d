package message_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/workflows/message"
)

func testNames(t *testing.T) {
	agents := []string{"brain", "brain-2", "coder", "coder-1-2", "task-runner", "response-team", "team"}
	for file, want := range map[string]string{
		// Names as the tool of the format writes them.
		"1102083000-task-core--brain-abc123.md":          "3 task core brain abc123 ",
		"1102084512-ask-brain--core-req1.md":             "3 ask brain core req1 ",
		"1102091530-task-complete-brain--core-abc123.md": "3 task-complete brain core abc123 ",
		"1102083000-task-core>brain-abc123.md":           "2 task core brain abc123 ",
		"1102091530-task-complete-brain>core-abc123.md":  "2 task-complete brain core abc123 ",
		"1102091530-brain-core-task-complete-abc.md":     "1 task-complete brain core abc ",
		// Stamps of other lengths, and what is added at an end.
		"20261102083000-update-coder--brain-x-done.md":         "3 update coder brain x done",
		"20261102083000123-update-coder--brain-x-failed.md":    "3 update coder brain x failed",
		"1102083000-update-coder--brain-x-orphan":              "3 update coder brain x orphan",
		"1102083000-prompt-system--brain-prompt-1730628000.md": "3 prompt system brain prompt-1730628000 ",
		// The longest known agent is the one that is meant.
		"1102083000-update-coder--brain-2-x.md":          "3 update coder brain-2 x ",
		"1102083000-update-coder-1-2--brain-x-y--z.md":   "3 update coder-1-2 brain x-y--z ",
		"1102083000-update-elsewhere--brain-x.md":        "3 update elsewhere brain x ",
		"1102083000-ask-human-coder--core-x.md":          "3 ask-human coder core x ",
		"1102083000-task-runner-brain-ask-response-7.md": "1 ask-response task-runner brain 7 ",
		// What can be read in several ways, or in none.
		"1102083000-ask-response-team--brain-x.md": "0     ",
		"1102083000-coder-brain-2-ask-x.md":        "1 ask coder brain-2 x ",
		"1102083000-task-core--nobody-abc.md":      "0     ",
		"1102083000-work-core--brain-abc.md":       "0     ",
		"1102083000-task-core--brain.md":           "0     ",
		"1102083000-task--brain-x.md":              "0     ",
		"110208300-task-core--brain-abc.md":        "0     ",
		"task-core--brain-abc-done.md":             "0     done",
		"":                                         "0     ",
		".md":                                      "0     ",
		"1102083000-":                              "0     ",
		strings.Repeat("1", 300):                   "0     ",
	} {
		n := message.ParseName(file, agents)
		got := fmt.Sprintf("%d %s %s %s %s %s", n.Generation, n.Type, n.From, n.To, n.ID, n.End)
		if got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// named is what a name was made of.
type named struct{ kind, from, to, id string }

func (n named) file(generation int) string {
	switch generation {
	case 1:
		return "1102083000-" + n.from + "-" + n.to + "-" + n.kind + "-" + n.id + ".md"
	case 2:
		return "1102083000-" + n.kind + "-" + n.from + ">" + n.to + "-" + n.id + ".md"
	}
	return "1102083000-" + n.kind + "-" + n.from + "--" + n.to + "-" + n.id + ".md"
}

// right fails if a name was read as something that it was not made of.
func (n named) right(t *testing.T, generation int, agents []string) (read bool) {
	t.Helper()
	got := message.ParseName(n.file(generation), agents)
	if got.Generation == 0 {
		return false
	}
	if got.Generation != generation || got.Type != n.kind || got.From != n.from || got.To != n.to || got.ID != n.id {
		t.Errorf("%s of %+v with %q is read as %+v", n.file(generation), n, agents, got)
	}
	return true
}

var kinds = []string{"ask", "ask-response", "task", "task-complete", "update", "prompt", "ask-human"}

// testEveryName reads each generation of each type between agents whose names hold dashes and
// types. An id that continues a type or the name of an agent is read as a part of it, so these
// have none of that kind.
func testEveryName(t *testing.T) {
	agents := []string{"a", "a-b", "a-b-a", "ask", "response-a", "task-a", "complete-task", "update", "human-a", "coder-1", "coder-1-2"}
	read, all := map[int]int{}, 0
	for _, kind := range kinds {
		for _, from := range agents {
			for _, to := range agents {
				all++
				for generation := 1; generation <= 3; generation++ {
					if (named{kind, from, to, "0x7"}).right(t, generation, agents) {
						read[generation]++
					}
				}
			}
		}
	}
	t.Logf("of %d names of each generation %v were read", all, read)
	for generation, atLeast := range map[int]int{1: all / 2, 2: all * 3 / 4, 3: all * 3 / 4} {
		if read[generation] < atLeast {
			t.Errorf("generation %d: only %d of %d names were read", generation, read[generation], all)
		}
	}
}

// A stamp names no year: around new year it has the one that is closest.
func TestTimesOfNames(t *testing.T) {
	for stamp, want := range map[string]string{
		"1231235959":        "2025-12-31T23:59:59Z",
		"0101000000":        "2026-01-01T00:00:00Z",
		"20240229120000":    "2024-02-29T12:00:00Z",
		"20240229120000123": "2024-02-29T12:00:00.123Z",
		"0230000000":        "none",
		"1332000000":        "none",
	} {
		got := "none"
		if at, ok := message.ParseName(stamp+"-x.md", nil).Time(time.Date(2026, 1, 1, 0, 30, 0, 0, time.FixedZone("", 3600))); ok {
			got = at.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", stamp, got, want)
		}
	}
}

func TestFileNamesAreReadBack(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 59, 59, 0, time.FixedZone("", 3600))
	m := &message.Message{Type: "ask-response", From: message.Address{Mesh: "m", Agent: "coder-2"}, To: message.Person, ID: "a.b_c-7"}
	name, err := message.FileName(at, m)
	if err != nil || name != "1231225959-ask-response-coder-2--core-a.b_c-7.md" {
		t.Errorf("%s, %v", name, err)
	}
	if n := message.ParseName(name, []string{"coder-2"}); n.ID != m.ID || n.From != "coder-2" || n.To != "core" {
		t.Errorf("read back as %+v", n)
	}
	for _, id := range []string{"", "a/b", "..", "-a", "a b", "a\x00", strings.Repeat("a", 101)} {
		m.ID = id
		if name, err := message.FileName(at, m); err == nil {
			t.Errorf("the id %q makes %s", id, name)
		}
	}
	m.ID, m.From.Agent, m.To.Agent = strings.Repeat("a", 100), strings.Repeat("b", 100), strings.Repeat("c", 100)
	if name, err := message.FileName(at, m); err == nil {
		t.Errorf("a name of %d bytes", len(name))
	}
}

func FuzzMessageName(f *testing.F) {
	for _, kind := range kinds {
		f.Add(kind, "a", "b-c", "x1", "a b-c ask response-a")
	}
	f.Add("ask", "response-a", "b", "done", "a")
	f.Fuzz(func(t *testing.T, kind, from, to, id, others string) {
		agents := append(strings.Fields(others), from, to)
		_ = message.ParseName(kind, agents) // any text
		message.ParseName(from+id, strings.Fields(others))
		if !slices.Contains(kinds, kind) || !word(id) || slices.ContainsFunc(agents, func(a string) bool { return !word(a) }) {
			return
		}
		// The words that an id could continue.
		for _, w := range append(append([]string{"core", "system", "done", "failed", "orphan"}, kinds...), agents...) {
			if w == id || strings.HasSuffix(id, "-done") || strings.HasSuffix(id, "-failed") || strings.HasSuffix(id, "-orphan") ||
				strings.HasPrefix(w, to+"-") || strings.HasPrefix(w, kind+"-") {
				return
			}
		}
		for generation := 1; generation <= 3; generation++ {
			named{kind, from, to, id}.right(t, generation, agents)
		}
	})
}

// word reports whether an agent may have this name.
func word(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == "" &&
		!strings.Contains(s, "--") && !strings.HasSuffix(s, "-") && s[0] != '-' && s[0] != '_'
}
