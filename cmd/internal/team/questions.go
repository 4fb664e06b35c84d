package team

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/workflows/agents"
)

// questions fills a team with the answers of a person. An answer that would be a mistake in the
// file is asked for again, with the words in which reading the file would say it.
type questions struct {
	ctx     context.Context
	console *console.Console
	team    *agents.Team
}

// placeholder stands for the agents while the team has none.
var placeholder = agents.Agent{Name: "a", Role: agents.RoleBuild, Branch: "a", Task: "a"}

func (q *questions) ask() error {
	t := q.team
	if err := q.text("Session", "session", &t.Session); err != nil {
		return err
	}
	if err := q.text("Parent of the worktrees, relative to the project", "worktree_base", &t.WorktreeBase); err != nil {
		return err
	}
	if err := q.flag("A pane for you in the project", &t.MainPane); err != nil {
		return err
	}
	for {
		more, err := q.agent()
		if err != nil || !more {
			return err
		}
	}
}

// agent asks for one agent. more is false if the person is done.
func (q *questions) agent() (more bool, err error) {
	i := len(q.team.Agents)
	at := document.Index("agents", i)
	question := "Name of the first agent"
	if i > 0 {
		question = "Name of the next agent, nothing to finish"
	}
	q.team.Agents = append(q.team.Agents, placeholder)
	a := &q.team.Agents[i]
	a.Name, a.Branch, a.Role = "", "", agents.RoleReview // which asks for least, while only the name is known
	err = q.until(question+": ", document.Key(at, "name"), func(answer string) { a.Name = answer }, i > 0)
	if err != nil || a.Name == "" {
		q.team.Agents = q.team.Agents[:i]
		return false, err
	}
	a.Role = agents.RoleBuild
	if err := q.text("Role: build, review or plan", document.Key(at, "role"), &a.Role); err != nil {
		return false, err
	}
	if a.Role != agents.RoleReview {
		a.Branch = a.Name
		if err := q.text("Branch", document.Key(at, "branch"), &a.Branch); err != nil {
			return false, err
		}
	}
	a.Task = ""
	question = "Task: "
	if a.Role == agents.RoleReview {
		question = "Task, nothing to review the branches of the others: "
	}
	if err := q.until(question, document.Key(at, "task"), func(answer string) { a.Task = answer }, false); err != nil {
		return false, err
	}
	if i == 0 {
		return true, nil
	}
	return true, q.until("Depends on ("+q.names(i)+"), nothing to start at once: ", document.Key(at, "depends_on"), func(answer string) {
		a.DependsOn = nil
		for name := range strings.SplitSeq(answer, ",") {
			if name = strings.TrimSpace(name); name != "" {
				a.DependsOn = append(a.DependsOn, name)
			}
		}
	}, false)
}

func (q *questions) names(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = q.team.Agents[i].Name
	}
	return strings.Join(names, ", ")
}

// text asks for a text that has a value already, which an empty answer keeps.
func (q *questions) text(question, at string, value *string) error {
	old := *value
	return q.until(fmt.Sprintf("%s [%s]: ", question, old), at, func(answer string) {
		if *value = answer; answer == "" {
			*value = old
		}
	}, false)
}

// flag asks a question that is answered with yes or no, yes unless the person says otherwise.
func (q *questions) flag(question string, value *bool) error {
	for {
		answer, err := q.console.Answer(q.ctx, question+" [Y/n]: ")
		if err != nil {
			return ended(err)
		}
		switch strings.ToLower(answer) {
		case "", "y", "yes":
			*value = true
			return nil
		case "n", "no":
			*value = false
			return nil
		}
		q.console.Say("expected y or n, found %q", document.Excerpt(answer))
	}
}

// until asks until the answer makes no problem at a path of the file or below it. With optional
// an empty answer is taken without a look.
func (q *questions) until(question, at string, set func(string), optional bool) error {
	for {
		answer, err := q.console.Answer(q.ctx, question)
		if err != nil {
			return ended(err)
		}
		set(answer)
		if optional && answer == "" {
			return nil
		}
		problem := problemAt(q.team, at)
		if problem == "" {
			return nil
		}
		if answer == "" {
			problem = "an answer is needed"
		}
		q.console.Say("%s", problem)
	}
}

// problemAt is what is wrong with a team at a path of its file or below it.
func problemAt(t *agents.Team, at string) string {
	whole := *t
	if len(whole.Agents) == 0 {
		whole.Agents = []agents.Agent{placeholder}
	}
	_, problems := agents.Parse("", whole.Encode(), agents.Known{})
	for _, p := range problems.Errors() {
		if p.Path == at || strings.HasPrefix(p.Path, at+"[") || p.Path == "" {
			return p.Text
		}
	}
	return ""
}
