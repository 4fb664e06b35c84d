package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// TeamProblems says what keeps a run of an agents file from starting, all of it: branches that
// are there or that git could not make, directories that are there, programs and logins. It
// changes nothing.
func TeamProblems(ctx context.Context, h *Host, spec PrepareSpec, team *agents.Team) ([]string, error) {
	var found []string
	for i := range team.Agents {
		a := &team.Agents[i]
		if unit := team.Session + "--" + a.Name; !session.ValidName(unit) {
			found = append(found, fmt.Sprintf("agents[%d].name: %q is longer than a name may be", i, unit))
		}
		if a.Role == agents.RoleReview {
			continue
		}
		why, err := branchInTheWay(ctx, spec.Project, a.Branch)
		if err != nil {
			return nil, err
		}
		if why != "" {
			found = append(found, fmt.Sprintf("agents[%d].branch: %s", i, why))
		}
		if dir := TeamPlace(spec.Project, team, a); exists(dir) {
			found = append(found, fmt.Sprintf("agents[%d].name: %s is there already; move it away, or choose another session, name or worktree_base", i, dir))
		}
	}
	err := h.Preflight(spec.Config, workflows.OfTeam(team), spec.Interactive)
	var preflight *PreflightError
	if errors.As(err, &preflight) {
		return append(found, preflight.Problems...), nil
	}
	return found, err
}

// TeamPlace is where an agent of an agents file works.
func TeamPlace(p *project.Project, team *agents.Team, a *agents.Agent) string {
	return filepath.Join(p.Clone.Root, filepath.FromSlash(team.WorktreeBase), team.Session+"-"+a.Name)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// branchInTheWay says why an agent cannot have a branch; "" if it can.
func branchInTheWay(ctx context.Context, p *project.Project, branch string) (string, error) {
	if p.BranchTaken(ctx, branch) {
		return fmt.Sprintf("%s is there already; choose another name, or rename it (git branch -m)", branch), nil
	}
	err := clone.InTheWay(ctx, p.Clone.Root, branch)
	var why *clone.ExportError
	if errors.As(err, &why) {
		return why.Error(), nil
	}
	return "", err
}
