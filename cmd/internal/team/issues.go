package team

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/internal/sanitize"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// fromIssues adds an agent for each issue of the project's repository.
func fromIssues(ctx context.Context, a *site.Finder, t *agents.Team, args []string) error {
	s, err := a.Open(ctx, &hostlog.Log{Terminal: a.Err})
	if err != nil {
		return err
	}
	p, err := s.OpenProject(ctx)
	if err != nil {
		return site.ExplainProject(err, s.Project)
	}
	numbers, err := numbers(args, p, s.Identity.Bases.Server)
	if err != nil {
		return err
	}
	if s.Host.GitHub == nil {
		detail, hint := s.Identity.NoToken()
		return exit.Usage(fmt.Errorf("%s; %s; agentmux doctor shows what was looked for", detail, hint))
	}
	defer a.Waiting("GitHub")()
	var errs []error
	for _, n := range numbers {
		issue, err := s.Host.GitHub.Issue(ctx, p.Repo, n)
		if err != nil {
			errs = append(errs, site.ExplainGitHub(err, fmt.Sprintf("%s#%d", p.Repo, n), s.Identity.From))
			continue
		}
		if issue.Closed {
			a.Say("issue %d is closed", n)
		}
		add(t, issue, n)
	}
	return errors.Join(errs...)
}

// numbers reads what the flag names, each issue once.
func numbers(args []string, p *project.Project, server string) (numbers []int, err error) {
	if !p.GitHub {
		return nil, exit.Usage(fmt.Errorf("%s; without --from-issue agents are asked for", site.NotOnServer(p, server)))
	}
	var errs []error
	for _, arg := range args {
		ref, err := request.ParseRef(strings.TrimSpace(arg), server)
		if err == nil {
			_, err = ref.In(p.Repo)
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case slices.Contains(numbers, ref.Number):
			errs = append(errs, fmt.Errorf("--from-issue names %d twice", ref.Number))
		default:
			numbers = append(numbers, ref.Number)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, exit.Usage(err)
	}
	return numbers, nil
}

// add gives an issue an agent that is called after its title. The task is the same for every
// issue: the title is a stranger's text, and a task is an instruction.
func add(t *agents.Team, issue ghsync.Issue, number int) {
	title, _ := sanitize.Line(issue.Title)
	branch := session.IssueSlug(number, title.String())
	name := strings.TrimPrefix(branch, fmt.Sprintf("issue-%d-", number)) // the branch itself, if the title has no words
	i := len(t.Agents)
	t.Agents = append(t.Agents, agents.Agent{
		Name: name, Role: agents.RoleBuild, Branch: branch, Task: fmt.Sprintf("Resolve issue %d", number), Issue: number,
	})
	at := document.Key(document.Index("agents", i), "name")
	for n := 2; n < i+4 && problemAt(t, at) != ""; n++ { // the others, and what messages keep for themselves
		t.Agents[i].Name = fmt.Sprintf("%s-%d", name, n)
	}
}
