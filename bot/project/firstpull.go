package project

import (
	"context"
	"strings"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// FirstPull names, in one line, the workflows that run on branches of sessions with secrets. It says
// nothing without such a workflow, or if another session of the project has an earlier pull request than own: what
// other machines made is not known. It answers the same each time the pull request of own is renewed.
func (p *Project) FirstPull(ctx context.Context, own session.Entry, branch string) ([]string, error) {
	sessions, err := session.List(p.Clone.Root)
	if err != nil || own.State.BaseSHA == "" {
		return nil, err
	}
	number := own.State.Completion.PRNumber
	for _, e := range sessions {
		if e.State == nil || e.Name == own.Name || e.State.Repo != own.State.Repo {
			continue
		}
		if n := e.State.Completion.PRNumber; n > 0 && (number == 0 || n < number) {
			return nil, nil
		}
	}
	survey, err := p.Survey(ctx, own.State.BaseSHA, branch)
	var found []string
	for _, w := range survey.Workflows {
		if len(w.Secrets) > 0 {
			found = append(found, w.File+" ("+strings.Join(w.Events, ", ")+")")
		}
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return []string{"Workflows that run on branches like this one with secrets: " + strings.Join(found, ", ") + ". agentmux doctor says how to keep them apart."}, nil
}
