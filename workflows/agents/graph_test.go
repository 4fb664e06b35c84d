package agents_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/workflows/agents"
)

// order plays a team in which every agent succeeds: each starts once, after its dependencies.
func order(t *testing.T, team *agents.Team) {
	t.Helper()
	of := map[string]agents.Status{}
	for range team.Agents {
		ready := team.Ready(of, 1)
		if len(ready) != 1 {
			t.Fatalf("ready %q after %v", ready, of)
		}
		of[ready[0]] = agents.Done
		if blocks := team.Blocked(of); len(blocks) > 0 {
			t.Fatalf("blocked %v after %v", blocks, of)
		}
	}
	if ready := team.Ready(of, 0); len(ready) > 0 || len(of) != len(team.Agents) {
		t.Errorf("ready %q after all of %v", ready, of)
	}
}

func graph(edges ...string) *agents.Team {
	t := &agents.Team{Session: "s", WorktreeBase: ".."}
	for _, e := range edges {
		name, deps, _ := strings.Cut(e, ":")
		t.Agents = append(t.Agents, agents.Agent{Name: name, DependsOn: strings.Fields(deps)})
	}
	return t
}

// What becomes of an agent, for each status of its own and each of its one dependency.
func TestEachStatusBesideEachOfTheDependency(t *testing.T) {
	const (
		start   = "starts"
		block   = "is blocked"
		nothing = "stays"
	)
	want := map[agents.Status]map[agents.Status]string{
		agents.Waiting: {agents.Waiting: nothing, agents.Running: nothing, agents.Done: start, agents.Failed: block, agents.Blocked: block},
		agents.Running: {agents.Waiting: nothing, agents.Running: nothing, agents.Done: nothing, agents.Failed: nothing, agents.Blocked: nothing},
		agents.Done:    {agents.Waiting: nothing, agents.Running: nothing, agents.Done: nothing, agents.Failed: nothing, agents.Blocked: nothing},
		agents.Failed:  {agents.Waiting: nothing, agents.Running: nothing, agents.Done: nothing, agents.Failed: nothing, agents.Blocked: nothing},
		agents.Blocked: {agents.Waiting: nothing, agents.Running: nothing, agents.Done: nothing, agents.Failed: nothing, agents.Blocked: nothing},
	}
	team := graph("dep:", "agent:dep")
	for own, row := range want {
		for dep, expected := range row {
			of := map[string]agents.Status{"agent": own, "dep": dep}
			got := nothing
			if slices.Contains(team.Ready(of, 0), "agent") {
				got = start
			}
			if blocks := team.Blocked(of); len(blocks) > 0 {
				if got == start || blocks[0] != (agents.Block{Agent: "agent", By: "dep"}) {
					t.Errorf("%s beside %s: blocks %v", own, dep, blocks)
				}
				got = block
			}
			if got != expected {
				t.Errorf("%s beside a dependency that is %s: %s, want %s", own, dep, got, expected)
			}
		}
	}
}

func TestReadyGoesByFileOrderAndLimit(t *testing.T) {
	team := graph("late:a", "a:", "b:", "c:", "both:a b")
	for _, tt := range []struct {
		name  string
		of    map[string]agents.Status
		limit int
		want  string
	}{
		{"at the start", nil, 0, "a b c"},
		{"two places", nil, 2, "a b"},
		{"one of two places taken", map[string]agents.Status{"a": agents.Running}, 2, "b"},
		{"no place", map[string]agents.Status{"a": agents.Running, "b": agents.Running}, 2, ""},
		{"one of two dependencies done", map[string]agents.Status{"a": agents.Done}, 0, "late b c"},
		{"all done", map[string]agents.Status{"a": agents.Done, "b": agents.Done}, 0, "late c both"},
		{"an agent that ended frees its place", map[string]agents.Status{"a": agents.Failed, "b": agents.Running}, 2, "c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(team.Ready(tt.of, tt.limit), " "); got != tt.want {
				t.Errorf("ready %q, want %q", got, tt.want)
			}
		})
	}
}

func TestBlockedIsPassedOn(t *testing.T) {
	team := graph("end:join", "join:left right", "left:top", "right:top", "top:", "alone:")
	for _, tt := range []struct{ name, failed, want string }{
		{"top", "top", "end<join join<left left<top right<top"},
		{"one side", "right", "end<join join<right"},
		{"the last", "end", ""},
		{"another", "alone", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			of := map[string]agents.Status{tt.failed: agents.Failed}
			var got []string
			for _, b := range team.Blocked(of) {
				got = append(got, b.Agent+"<"+b.By)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("blocked %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMarkersMean(t *testing.T) {
	for content, want := range map[string]string{
		"":      "done 0",
		"\n":    "done 0",
		"0\n":   "done 0",
		"99\n":  "blocked 99",
		"7":     "failed 7",
		"1":     "failed 1",
		"255\n": "failed 255",
		"256":   "failed 1 corrupt",
		"x":     "failed 1 corrupt",
		"-1":    "failed 1 corrupt",
		"+7":    "failed 1 corrupt",
		"0x1":   "failed 1 corrupt",
		"1 2":   "failed 1 corrupt",
		"\x00":  "failed 1 corrupt",
	} {
		m := agents.ParseMarker([]byte(content))
		got := fmt.Sprintf("%s %s", m.Status(), m)
		if m.Corrupt {
			got += " corrupt"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", content, got, want)
		}
		if again := agents.ParseMarker([]byte(m.String() + "\n")); again.Exit != m.Exit {
			t.Errorf("%q: written as %q, read as %d", content, m, again.Exit)
		}
	}
}
