package start

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// movedHere continues the run of another machine from its checkpoint on the server. former is the session that is here of it
// already, which is put aside; nil = none.
func movedHere(ctx context.Context, a *site.Finder, s *site.Site, of teamOf, former *session.Entry, o AgentsOptions) error {
	issues := of.team.Issues()
	switch {
	case o.New:
		return exit.UsageText("--new and --from-checkpoint exclude each other")
	case len(issues) == 0:
		return exit.Usage(fmt.Errorf("no agent of %s works for an issue: such a run claims nothing, and its checkpoints stay on their machine", of.team.Session))
	case !of.project.GitHub:
		return exit.Usage(fmt.Errorf("%s: it has no checkpoints", site.NotOnServer(of.project, s.Identity.Bases.Server)))
	}
	if former != nil { // an earlier try was killed, or this machine had the run last
		latest, err := hosting.IsLatest(ctx, s, former.Dir)
		if err != nil {
			return err
		}
		if latest {
			a.Say("%s is here already, and no other machine went on with it", former.Name)
			return again(ctx, a, *former, of.team, o)
		}
	}
	r := hosting.Restoring{Repo: of.project.Repo, Run: of.team.Session, Overtake: former != nil}
	r.Team = &host.Team{Agents: of.team, Issues: issues, Files: frozenAs(of.team, host.MayActFreely(s.Host, s.Config))}
	spec := roster.Spec{Project: of.project, Team: of.team}
	if former != nil {
		spec.Former = former.State
		r.Session = orchestrator.PublicID(former.State.SessionID, former.State.Identity)
	}
	if problems := roster.Places(spec); len(problems) > 0 {
		return exit.Usage(errors.New(strings.Join(problems, "\n")))
	}
	if err := o.mayAsk(a); err != nil {
		return err
	}
	dir, err := hosting.Restore(ctx, a, s, r)
	if errors.Is(err, checkpoint.ErrNone) {
		return exit.Usage(fmt.Errorf("%w: none of a run called %s; agentmux agents start begins one, with --take also while the issues are claimed by a host that is gone", err, of.team.Session))
	}
	if err != nil {
		return err
	}
	a.Say("%s is restored from its checkpoint", filepath.Base(dir))
	e, err := session.Find(s.Project, dir, nil)
	if err != nil {
		return err
	}
	return resume(ctx, a, resumed{entry: e, spec: host.RunSpec{Resume: true}, headless: o.Headless, take: o.Take})
}

// frozenAs lists what the agents file of a run may hold that is continued here. One whose agents act without asking is
// not continued where the owner of the machine has not allowed it.
func frozenAs(team *agents.Team, free bool) (files [][]byte) {
	if free {
		files = append(files, team.Encode())
	}
	asking := *team
	asking.Agents = slices.Clone(team.Agents)
	for i := range asking.Agents {
		asking.Agents[i].AutoAccept = false
	}
	return append(files, asking.Encode())
}
