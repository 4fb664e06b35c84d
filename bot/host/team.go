package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/crew"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// TeamSpec is a run of an agents file that is to be made.
type TeamSpec struct {
	PrepareSpec
	Team   *agents.Team
	Former *orchestrator.State // of a session that is removed first: its places are free then; nil = none
}

// CheckTeam says what keeps a run of an agents file from starting, all of it: branches that
// another work has or that git could not make, directories that are there, programs, logins and
// permissions. Branches that are there and can be continued it returns with their commits, by
// agent. It changes nothing in the clone.
func (h *Host) CheckTeam(ctx context.Context, spec TeamSpec) (problems []string, tips map[string]string, err error) {
	tips = map[string]string{}
	if why := h.workplaceFault(spec); why != "" {
		problems = append(problems, "worktree_base: "+why)
	}
	for i := range spec.Team.Agents {
		a := &spec.Team.Agents[i]
		if unit := spec.Team.Session + "--" + a.Name; !session.ValidName(unit) {
			problems = append(problems, fmt.Sprintf("agents[%d].name: %q is longer than a name may be", i, unit))
		}
		if a.Role == agents.RoleReview {
			continue
		}
		tip, why, err := h.branchOf(ctx, spec, a)
		if err != nil {
			return nil, nil, err
		}
		if why != "" {
			problems = append(problems, fmt.Sprintf("agents[%d].branch: %s", i, why))
		} else if tip != "" {
			tips[a.Name] = tip
		}
		if dir := TeamPlace(spec.Project, spec.Team, a); exists(dir) && !spec.vacates(dir) {
			problems = append(problems, fmt.Sprintf("agents[%d].name: %s is there already; move it away, or choose another session, name or worktree_base", i, dir))
		}
	}
	if names := autoAccepting(spec.Team); names != "" && !spec.Interactive && !h.MayActFreely(spec.Config) {
		problems = append(problems, "auto_accept of "+names+" needs your yes on this machine: add \"sandbox: {unsafe_flags: true}\" to your own configuration")
	}
	err = h.Preflight(spec.Config, workflows.OfTeam(spec.Team), spec.Interactive)
	var preflight *PreflightError
	if errors.As(err, &preflight) {
		return append(problems, preflight.Problems...), tips, nil
	}
	return problems, tips, err
}

// MayActFreely reports whether the owner of this machine lets programs of agents act without
// asking for permission.
func (h *Host) MayActFreely(c *config.Config) bool {
	return crew.NewSandbox(h.crewOptions(), c).MayActFreely()
}

func autoAccepting(team *agents.Team) string {
	var names []string
	for _, a := range team.Agents {
		if a.AutoAccept {
			names = append(names, a.Name)
		}
	}
	return strings.Join(names, ", ")
}

// workplaceFault says why the workspaces cannot be made below worktree_base; "" if they can.
func (h *Host) workplaceFault(spec TeamSpec) string {
	dir := filepath.Join(spec.Project.Clone.Root, filepath.FromSlash(spec.Team.WorktreeBase))
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "" // it is made
	case err != nil:
		return err.Error()
	case info.Mode()&fs.ModeSymlink != 0:
		return dir + " is a link; name the directory itself"
	case !info.IsDir():
		return dir + " is not a directory"
	}
	return ""
}

// vacates reports whether a directory is a workspace of the session that is removed first.
func (spec TeamSpec) vacates(dir string) bool {
	if spec.Former == nil {
		return false
	}
	for _, w := range spec.Former.Workspaces {
		if w.Path == dir {
			return true
		}
	}
	return false
}

// TeamPlace is where an agent of an agents file works.
func TeamPlace(p *project.Project, team *agents.Team, a *agents.Agent) string {
	return filepath.Join(p.Clone.Root, filepath.FromSlash(team.WorktreeBase), team.Session+"-"+a.Name)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// branchOf returns the commit of an agent's branch if it is there and can be continued, or why the
// agent cannot have it. A branch is continued if a run of this agent made its last commit, or if
// it descends from the base.
func (h *Host) branchOf(ctx context.Context, spec TeamSpec, a *agents.Agent) (tip, why string, err error) {
	p := spec.Project
	former := ""
	if spec.Former != nil {
		former = spec.Former.Identity
	}
	if holder := h.register().Holder(p.Store.Dir(), a.Branch); holder != "" && holder != former {
		return "", a.Branch + " belongs to another session; choose another name (agentmux sessions lists them)", nil
	}
	inTheWay := clone.InTheWay(ctx, p.Clone.Root, a.Branch)
	if found := (*clone.ExportError)(nil); errors.As(inTheWay, &found) {
		return "", found.Error(), nil
	} else if inTheWay != nil {
		return "", "", inTheWay
	}
	tip, err = p.Store.FetchClone(ctx, p.Clone.Root, "refs/heads/"+a.Branch)
	switch {
	case errors.Is(err, gitrepo.ErrNoCommit):
		if p.BranchTaken(ctx, a.Branch) {
			return "", a.Branch + " is on the server already; fetch it to continue it, or choose another name", nil
		}
		return "", "", nil
	case err != nil:
		return "", "", err
	case a.Branch == p.Clone.Branch:
		return "", a.Branch + " is checked out in this clone; switch to another one", nil
	}
	ours, err := madeBy(ctx, p, tip, spec.Team.Session+"--"+a.Name)
	if err != nil || ours {
		return tip, "", err
	}
	descends, err := p.Store.IsAncestor(ctx, spec.Base.SHA, tip)
	if err != nil || descends {
		return tip, "", err
	}
	return "", a.Branch + " is there already and does not descend from " + spec.Base.Branch + "; choose another name, or rename it (git branch -m)", nil
}

// madeBy reports whether the unit made a commit: its trailer names it.
func madeBy(ctx context.Context, p *project.Project, commit, unit string) (bool, error) {
	message, err := p.Store.Message(ctx, commit)
	if err != nil {
		return false, err
	}
	_, id, _ := strings.Cut(message[strings.LastIndex(message, "\n")+1:], "Agentmux-Session: ")
	return id == unit || strings.HasPrefix(id, unit+"-"), nil
}

// firstProgress is what the first state of a run of an agents file holds of its agents: those
// whose branches are there begin at their commits.
func firstProgress(tips map[string]string) map[string]agents.Progress {
	if len(tips) == 0 {
		return nil
	}
	team := make(map[string]agents.Progress, len(tips))
	for name, tip := range tips {
		team[name] = agents.Progress{Base: tip}
	}
	return team
}

// reserveTeam keeps the branches of an agents file for its session.
func (h *Host) reserveTeam(spec PrepareSpec, identity string) error {
	def, err := workflows.ParseTeam(session.AgentsFile, spec.Agents)
	if err != nil {
		return err
	}
	for _, a := range def.Team.Agents {
		if a.Branch == "" {
			continue
		}
		ours, err := h.register().Reserve(spec.Project.Store.Dir(), a.Branch, identity)
		if err == nil && !ours {
			err = fmt.Errorf("branch %s was taken by another session meanwhile", a.Branch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
