package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/workflows/message"
	"github.com/rogpeppe/go-internal/txtar"
)

var mesh = []string{"red", "green", "refactor"}

func TestRoutingTables(t *testing.T) {
	golden(t, "routing.txtar", func(name string, data []byte) string {
		r, problems := message.ParseRouting(name, data, "tdd", mesh)
		var b strings.Builder
		lines(&b, problems)
		if r == nil {
			return b.String()
		}
		for _, from := range mesh {
			for _, status := range []string{"complete", "failed", "blocked", "ready-for-next-iteration"} {
				for _, to := range append(mesh, "core") {
					if r.Refused(from, status, to) == "" {
						fmt.Fprintf(&b, "%s %s %s, in a cycle: %t\n", from, status, to, r.Cycles(from, status, to))
					}
				}
			}
		}
		return b.String()
	})
}

// Cycles of each length are found, and nothing else is one.
func TestCyclesOfEachLength(t *testing.T) {
	for n := 1; n <= 5; n++ {
		var rows, agents []string
		for i := range n {
			agents = append(agents, fmt.Sprintf("a%d", i))
			rows = append(rows, fmt.Sprintf(`"a%d": {"complete": {"a%d": "", "out": ""}}`, i, (i+1)%n))
		}
		text := `{"mesh": "m", "routing": {` + strings.Join(rows, ", ") + `}}`
		r, problems := message.ParseRouting("m.json", []byte(text), "m", append(agents, "out"))
		if r == nil {
			t.Fatal(problems.Lines())
		}
		for i := range n {
			from, to := fmt.Sprintf("a%d", i), fmt.Sprintf("a%d", (i+1)%n)
			if !r.Cycles(from, "complete", to) || r.Cycles(from, "complete", "out") || r.Cycles(from, "failed", to) {
				t.Errorf("length %d, from %s: %t %t %t", n, from, r.Cycles(from, "complete", to), r.Cycles(from, "complete", "out"), r.Cycles(from, "failed", to))
			}
		}
	}
}

func TestRefusedSaysWhatIsAllowed(t *testing.T) {
	text := `{"mesh": "tdd", "routing": {"red": {"complete": {"green": "x"}, "blocked": {"core": "x"}}, "green": {}}}`
	r, problems := message.ParseRouting("tdd.json", []byte(text), "tdd", nil)
	if r == nil {
		t.Fatal(problems.Lines())
	}
	for way, want := range map[[3]string]string{
		{"red", "complete", "green"}:    "",
		{"red", "blocked", "core"}:      "",
		{"refactor", "anything", "red"}: "",
		{"red", "complete", "refactor"}: "red may not send complete to refactor, only blocked to core, complete to green",
		{"red", "failed", "green"}:      "red may not send failed to green, only blocked to core, complete to green",
		{"green", "complete", "red"}:    "green may not send complete to red, only nothing",
	} {
		if got := r.Refused(way[0], way[1], way[2]); got != want {
			t.Errorf("%v: %q, want %q", way, got, want)
		}
	}
	var none *message.Routing
	if none.Refused("a", "b", "c") != "" || none.Cycles("a", "b", "c") {
		t.Error("without a table something is refused")
	}
}

func FuzzRouting(f *testing.F) {
	each(f, "routing.txtar", func(_ string, data []byte, _ *txtar.File) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) {
		r, problems := message.ParseRouting("tdd.json", data, "tdd", mesh)
		if (r == nil) != (problems.Err() != nil) {
			t.Fatalf("table %+v, problems %v", r, problems.Lines())
		}
		for _, from := range mesh {
			for _, to := range mesh {
				if r.Cycles(from, "complete", to) && r.Refused(from, "complete", to) != "" {
					t.Errorf("a way that is not allowed closes a cycle: %s to %s", from, to)
				}
			}
		}
	})
}
