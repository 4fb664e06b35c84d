package team

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// run is a session of an agents file.
type run struct {
	session.Entry
	team *agents.Team
}

// find returns the run that args name; without a name that of the agents file of the project, else
// the only one.
func find(ctx context.Context, a *site.Finder, args []string) (run, error) {
	if len(args) == 0 {
		if name := named(a); name != "" {
			args = []string{name}
		}
	}
	e, err := a.Find(ctx, args, func(e session.Entry) bool {
		return len(args) > 0 || e.State != nil && e.State.Kind == orchestrator.KindAgents
	})
	none := (*session.NotFoundError)(nil)
	switch {
	case errors.As(err, &none) && none.What == "":
		return run{}, exit.UsageText("no run of an agents file here; agentmux agents start begins one")
	case err != nil:
		return run{}, err
	case e.Err != nil:
		return run{}, e.Err
	case e.State.Kind != orchestrator.KindAgents:
		return run{}, exit.Usage(fmt.Errorf("%s is not a run of an agents file; agentmux status %s shows it", e.Name, e.Name))
	}
	sess, err := session.Open(e.Dir)
	if err != nil {
		return run{}, err
	}
	def, err := sess.Definition()
	if err != nil {
		return run{}, err
	}
	return run{e, def.Team}, nil
}

// named returns the session that the agents file of the project names, if there is one of it.
func named(a *site.Finder) string {
	project, err := a.ProjectDir()
	if err != nil {
		return ""
	}
	file, err := a.AgentsFile(project)
	if err != nil { // another command says so; the runs can be seen all the same
		file = filepath.Join(project, agents.File)
	}
	data, err := site.ReadAgentsFile(file) // nothing of it is shown
	if err != nil {
		return ""
	}
	team, problems := agents.Parse(file, data, agents.Known{})
	if problems.Err() != nil {
		return ""
	}
	if e, err := session.Find(project, team.Session, nil); err != nil || e.Name != team.Session {
		return ""
	}
	return team.Session
}

// member returns an agent of the run.
func (r run) member(name string) (*agents.Agent, error) {
	if m := r.team.Agent(name); m != nil {
		return m, nil
	}
	return nil, exit.Usage(fmt.Errorf("no agent of %s is called %q; agentmux agents status %s lists them", r.Name, name, r.Name))
}
