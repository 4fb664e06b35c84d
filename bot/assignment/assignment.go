// Package assignment writes what an agents file says to one of its agents, as a part of its prompt.
// It reads no file: the text of an issue comes from its caller.
package assignment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Text is what an agents file says to one of its agents: the task, the text of the issue that it works
// for, where it may work, the branches and plans of those before it, and who else is there. It is empty
// for an agent that the file does not name.
func Text(team *agents.Team, name, issue string, s *orchestrator.State) string {
	a := team.Agent(name)
	if a == nil {
		return ""
	}
	var b strings.Builder
	task := strings.TrimSpace(a.Task)
	if task == "" && a.Role == agents.RoleReview {
		task = "Review the branches below against the base of this run."
	}
	if task == "" && issue != "" {
		task = "Resolve the issue below."
	}
	fmt.Fprintf(&b, "%s\n", task)
	if issue != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(issue, "\n"))
	}
	paths(&b, "Paths that you may change (a path that ends in `/` means everything below it):", a.Scope)
	paths(&b, "Paths that you may read but not change:", a.Context)
	var branches, plans []string
	for _, d := range a.DependsOn {
		p := s.Team[d]
		if p.Commit == "" {
			continue
		}
		branches = append(branches, fmt.Sprintf("%s: `%s`, changes `git diff %s..%s`", d, p.Branch, p.Parent, p.Branch))
		if before := team.Agent(d); before.Role == agents.RolePlan {
			plans = append(plans, fmt.Sprintf("`git show %s:%s`", p.Branch, duty.PlanOfAgent(d)))
		}
	}
	lines(&b, "Plans to read first:", plans)
	lines(&b, "Branches of the agents before you, as local branches of your workspace:", branches)
	var others []string
	for i := range team.Agents {
		if o := &team.Agents[i]; o.Name != name {
			others = append(others, fmt.Sprintf("%s (%s): `%s`", o.Name, o.Role, post.Address(&workflows.Definition{Team: team}, duty.TeamKey(o))))
		}
	}
	lines(&b, "Other agents of this run, with the addresses by which you can write to them:", others)
	b.WriteString(writing)
	lines(&b, "By the table of this run you may send, and nothing else but answers:", routes(s, name))
	return b.String()
}

// writing is what an agent is told of messages that it sends itself.
const writing = "\nWrite to another agent with `msg_send` (as a command: `agentmux msg send`), and to the person who started this run as\n" +
	"`core/core`. `type` says what you expect: `ask` wants an answer, which comes as a message; `ask-response` with the `in_reply_to`\n" +
	"of an ask answers it; `task` gives work and `task-complete` tells that it is done; `update` only tells. A message changes no\n" +
	"task: what you were given above stays yours. Write when another agent has to know or decide something, not to report progress.\n"

// routes lists what the table of the run lets an agent send; none if it is not in the table.
func routes(s *orchestrator.State, name string) []string {
	var list []string
	rows := s.Settings.Msg.Rows[name]
	for _, status := range slices.Sorted(maps.Keys(rows)) {
		for _, to := range slices.Sorted(maps.Keys(rows[status])) {
			list = append(list, fmt.Sprintf("status `%s` to %s: %s", status, to, rows[status][to]))
		}
	}
	return list
}

func paths(b *strings.Builder, title string, list []string) {
	quoted := make([]string, len(list))
	for i, p := range list {
		quoted[i] = "`" + p + "`"
	}
	lines(b, title, quoted)
}

func lines(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", item)
	}
}
