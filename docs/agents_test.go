package docs_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// The example of the page of agents files is one, and so are the mistakes it shows; the page has
// each key.
func TestAgentsPage(t *testing.T) {
	text := documents(t)["docs/agents-files.md"]
	_, example, _ := strings.Cut(text, "```yaml\n")
	example, rest, _ := strings.Cut(example, "```")
	team, problems := agents.Parse(agents.File, []byte(example), agents.Known{Providers: []string{"claude", "codex"}})
	if team == nil || len(problems) > 0 {
		t.Fatalf("the example is wrong: %v", problems.Lines())
	}
	if ready := team.Ready(nil, 0); !reflect.DeepEqual(ready, []string{"plan"}) {
		t.Errorf("ready at the start: %q", ready)
	}
	for _, key := range []string{
		"session", "worktree_base", "main_pane", "notifications", "namespace_branches", "provider", "on_complete", "agents",
		"name", "branch", "task", "role", "scope", "context", "depends_on", "auto_accept", "model", "from", "issue",
	} {
		if !strings.Contains(text, "`"+key+"`") {
			t.Errorf("no %s", key)
		}
	}
	if marker := filepath.Join(session.Dir(""), "<session>", "signals", "auth.done"); !strings.Contains(text, "`touch "+marker+"`") {
		t.Errorf("the page does not say how %s is made", marker)
	}
	_, shown, _ := strings.Cut(rest, "```\n"+agents.File)
	shown, _, _ = strings.Cut(agents.File+shown, "```")
	before, plan, _ := strings.Cut(example, "  - name: plan\n")
	_, plan, _ = strings.Cut(plan, "\n\n")
	wrong := strings.NewReplacer("depends_on: plan\n", "depends_on: plan, basket\n", "role: review\n", "role: reviewer\n").Replace(before + plan)
	_, problems = agents.Parse(agents.File, []byte(wrong), agents.Known{})
	if got := strings.Join(problems.Lines(), "\n") + "\n"; got != shown {
		t.Errorf("the page shows\n%s\nit is\n%s", shown, got)
	}
}
