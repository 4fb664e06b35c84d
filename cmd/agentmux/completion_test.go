package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// completions are the words that a shell is offered behind what was typed, with the number
// that says what else it may offer: 4 is nothing.
func (r *rig) completions(typed ...string) (words []string, directive string) {
	r.t.Helper()
	res := r.expect(0, append([]string{"__complete"}, typed...)...)
	if strings.Count(res.err, "\n") != 1 || !strings.HasPrefix(res.err, "Completion ended") {
		r.t.Errorf("%q: it says %s", typed, res.err)
	}
	for _, line := range strings.Split(strings.TrimSpace(res.out), "\n") {
		word, _, _ := strings.Cut(line, "\t")
		words = append(words, word)
	}
	last := len(words) - 1
	return words[:last], words[last]
}

// A shell offers what a command could take here: sessions it applies to, workflows,
// providers. No server is asked for it.
func TestShellsCompleteWhatIsThere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.expect(0, append(issueRun, "--name", "one", "--no-mirror")...)
	state := filepath.Join(r.held("two"), session.StateFile)
	working := strings.Replace(r.read(state), `"outcome": "done"`, `"outcome": ""`, 1)
	r.write(state, strings.Replace(working, `"phase": "done"`, `"phase": "reviewing"`, 1))
	r.write(filepath.Join(session.Dir(r.clone), "three", session.StateFile), "{")
	r.write(filepath.Join(session.Dir(r.clone), "$(touch x)", session.StateFile), "{")
	r.write(filepath.Join(r.clone, ".agentmux", "workflows", "mine.yaml"), "version: 1\n")
	r.write(filepath.Join(r.clone, ".agentmux", "workflows", "$(touch x).yaml"), "version: 1\n")
	home := filepath.Join(r.dir, "home")
	asked := len(r.github.Calls())
	for _, c := range []struct {
		typed []string
		want  string
	}{
		{[]string{"status", ""}, "one three two :4"},
		{[]string{"status", "t"}, "three two :4"},
		{[]string{"status", "one", ""}, ":4"},
		{[]string{"status", "./"}, ":16"},
		{[]string{"logs", "tw"}, "two :4"},
		{[]string{"doctor", "o"}, "one :4"},
		{[]string{"attach", ""}, "two :4"},
		{[]string{"attach", "two", "planner"}, "planner :4"},
		{[]string{"attach", "--role", "coder"}, "coder :4"},
		{[]string{"stop", ""}, "two :4"},
		{[]string{"retry", ""}, "two :4"},
		{[]string{"resume", ""}, "one three :4"},
		{[]string{"approve", ""}, ":4"},
		{[]string{"changes", ""}, ":4"},
		{[]string{"changes", "more", ""}, "one :4"},
		{[]string{"changes", "more", "--session", ""}, "one :4"},
		{[]string{"say", "more", "--session", ""}, "two :4"},
		{[]string{"submit", "plan", "--session", ""}, "two :4"},
		{[]string{"issue", ""}, ":4"},
		{[]string{"issue", "1", "--workflow", ""}, "feature quick mine :4"},
		{[]string{"run", "more", "--workflow", "q"}, "quick :4"},
		{[]string{"run", ""}, "md :8"},
		{[]string{"workflows", "show", "m"}, "mine :4"},
		{[]string{"providers", "show", "cl"}, "claude :4"},
		{[]string{"providers", "login", "q"}, ":4"}, // qwen has none
		{[]string{"--log-level", ""}, "debug info warn error :4"},
		{[]string{"--project", ""}, ":16"},
		{[]string{"--project", home, "status", ""}, ":4"},
		{[]string{"--project", filepath.Join(home, "nowhere"), "status", ""}, ":4"},
		{[]string{"--project", home, "run", "x", "--workflow", ""}, "feature quick :4"},
	} {
		r.row(strings.Join(c.typed, " "), func(t *testing.T) {
			words, directive := r.completions(c.typed...)
			if got := strings.Join(append(words, directive), " "); got != c.want {
				t.Errorf("%q: %s, want %s", c.typed, got, c.want)
			}
		})
	}
	r.write(filepath.Join(r.clone, ".agentmux", "config.yaml"), "version: 2\nlimit: {}\n")
	if words, _ := r.completions("providers", "show", "cl"); !slices.Equal(words, []string{"claude"}) {
		t.Errorf("with a bad configuration: %q", words)
	}
	if calls := r.github.Calls(); len(calls) != asked {
		t.Errorf("GitHub was asked: %+v", calls[asked:])
	}
}
