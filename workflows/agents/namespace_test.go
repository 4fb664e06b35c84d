package agents_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/workflows/agents"
)

// namespace_branches puts a name in front of each branch once, and what git would not take then is said.
func TestProtocolM2BranchesOfAPerson(t *testing.T) {
	parse := func(text string) *agents.Team {
		t.Helper()
		team, problems := agents.Parse("a.yml", []byte(text), agents.Known{})
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		return team
	}
	team := parse(`session: x
namespace_branches: true
agents:
  - {name: a, branch: a, task: t}
  - {name: b, branch: mia/b, task: t}
  - {name: c, role: review}
`)
	named, err := team.Namespaced("mia")
	if err != nil {
		t.Fatal(err)
	}
	if got := named.Agents[0].Branch + " " + named.Agents[1].Branch + " " + named.Agents[2].Branch; got != "mia/a mia/b " {
		t.Errorf("branches %q", got)
	}
	if again := parse(string(named.Encode())); again.NamespaceBranches || again.Agents[0].Branch != "mia/a" {
		t.Errorf("kept as %+v", again)
	}
	if team.Agents[0].Branch != "a" {
		t.Error("the team itself changed")
	}
	if _, err := team.Namespaced(""); err == nil || !strings.Contains(err.Error(), "git config user.name") {
		t.Errorf("without a name: %v", err)
	}
	twice := parse("session: x\nagents:\n  - {name: a, branch: a, task: t}\n  - {name: b, branch: mia/a, task: t}\n")
	if _, err := twice.Namespaced("mia"); err == nil || !strings.Contains(err.Error(), "is the branch of agents[0] too") {
		t.Errorf("a branch twice: %v", err)
	}
}
