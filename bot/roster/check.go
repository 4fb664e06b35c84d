package roster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Spec is a run of an agents file that is to be made.
type Spec struct {
	Project  *project.Project
	Base     project.Base
	Team     *agents.Team
	Register register.Register
	Former   *orchestrator.State // of a session that is removed first: its places are free then; nil = none
}

// Check says what of branches and directories keeps a run from starting, all of it: branches that
// another work has or that git could not make, directories that are there. Branches that are there
// and can be continued it returns with their commits, by agent. It changes nothing in the clone.
func Check(ctx context.Context, spec Spec) (problems []string, tips map[string]string, err error) {
	p := spec.Project
	problems, tips = Places(spec), map[string]string{}
	for i := range spec.Team.Agents {
		a := &spec.Team.Agents[i]
		if unit := spec.Team.Session + "--" + a.Name; !session.ValidName(unit) {
			problems = append(problems, fmt.Sprintf("agents[%d].name: %q is longer than a name may be", i, unit))
		}
		if a.Role == agents.RoleReview {
			continue
		}
		tip, why, err := spec.branchOf(ctx, a)
		if err != nil {
			return nil, nil, err
		}
		if why != "" {
			problems = append(problems, fmt.Sprintf("agents[%d].branch: %s", i, why))
		} else if tip != "" {
			tips[a.Name] = tip
		}
		if dir := Place(p, spec.Team, a); spec.heldByAnother(places, dir) {
			problems = append(problems, fmt.Sprintf("agents[%d].name: an agent of another session works in %s, or is to; choose another session, name or worktree_base", i, dir))
		}
	}
	return problems, tips, nil
}

// Places says what lies where the workspaces of a run are to be made.
func Places(spec Spec) (problems []string) {
	if why := spec.workplaceFault(); why != "" {
		problems = append(problems, "worktree_base: "+why)
	}
	for i := range spec.Team.Agents {
		if spec.Team.Agents[i].Role == agents.RoleReview {
			continue
		}
		dir := Place(spec.Project, spec.Team, &spec.Team.Agents[i])
		if found := workspace.Occupied(dir); found != "" && !spec.vacates(dir) {
			problems = append(problems, fmt.Sprintf("agents[%d].name: %s is there already; move it away, or choose another session, name or worktree_base", i, found))
		}
	}
	return problems
}

// workplaceFault says why the workspaces cannot be made below worktree_base; "" if they can. A link on
// the way to it may be one that the repository brings along.
func (spec Spec) workplaceFault() string {
	dir := spec.Project.Clone.Root
	for part := range strings.SplitSeq(path.Clean(spec.Team.WorktreeBase), "/") {
		if part == ".." || part == "." {
			dir = filepath.Join(dir, part)
			continue // the clone's own place, as the person has it
		}
		dir = filepath.Join(dir, part)
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
	}
	return ""
}

// vacates reports whether a directory is a workspace of the session that is removed first.
func (spec Spec) vacates(dir string) bool {
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

// Place is where an agent of an agents file works.
func Place(p *project.Project, team *agents.Team, a *agents.Agent) string {
	return filepath.Join(p.Clone.Root, filepath.FromSlash(team.WorktreeBase), team.Session+"-"+a.Name)
}

// branchOf returns the commit of an agent's branch if it is there and can be continued, or why the
// agent cannot have it. A branch is continued if a run of this agent made its last commit, or if
// it descends from the base.
func (spec Spec) branchOf(ctx context.Context, a *agents.Agent) (tip, why string, err error) {
	p := spec.Project
	if a.Branch == spec.Base.Branch || a.Branch == p.Clone.DefaultBranch { // a push would skip every review
		return "", a.Branch + " is a branch that others start from; choose another name", nil
	}
	if spec.heldByAnother(p.Store.Dir(), a.Branch) {
		return "", a.Branch + " belongs to another session; choose another name (agentmux sessions lists them)", nil
	}
	inTheWay := clone.InTheWay(ctx, p.Clone.Root, a.Branch)
	if inTheWay == nil && a.Branch != p.Clone.Branch { // in another work tree: the commits could not become the branch
		inTheWay = clone.CheckedOut(ctx, p.Clone.Root, a.Branch)
	}
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

// places is what the directories of agents are reserved under. Two agents of two runs may have one name for it, and
// the later one begins when its dependencies are done, long after its run was checked.
const places = "worktrees"

// heldByAnother reports whether a name is reserved for a session that is not removed first.
func (spec Spec) heldByAnother(of, name string) bool {
	holder := spec.Register.Holder(of, name)
	return holder != "" && (spec.Former == nil || holder != spec.Former.Identity)
}

// ofUnit is what a unit is known by on the server: its name, and what tells its session from another
// one of that name.
var ofUnit = regexp.MustCompile(`-[0-9a-f]{16}$`)

// madeBy reports whether the unit made a commit: its trailer names it.
func madeBy(ctx context.Context, p *project.Project, commit, unit string) (bool, error) {
	message, err := p.Store.Message(ctx, commit)
	if err != nil {
		return false, err
	}
	_, id, _ := strings.Cut(message[strings.LastIndex(message, "\n")+1:], "Agentmux-Session: ")
	return id == unit || ofUnit.MatchString(id) && id[:strings.LastIndex(id, "-")] == unit, nil
}

// Progress is what the first state of a run of an agents file holds of its agents: those
// whose branches are there begin at their commits, which are work of their own if they are not base,
// and those that work for an issue from the text of a blob.
func Progress(base string, tips, issues map[string]string) map[string]agents.Progress {
	var team map[string]agents.Progress
	for name, tip := range tips {
		team = orchestrator.Filled(team)
		p := agents.Progress{Base: tip}
		if tip != base {
			p.Tip = tip
		}
		team[name] = p
	}
	for name, blob := range issues {
		team = orchestrator.Filled(team)
		p := team[name]
		p.Snapshot = blob
		team[name] = p
	}
	return team
}

// Reserve keeps the branches and the directories of the agents of a file for the session with an identity.
func Reserve(r register.Register, p *project.Project, team *agents.Team, identity string) error {
	for i := range team.Agents {
		a := &team.Agents[i]
		if a.Branch == "" {
			continue
		}
		for _, held := range [][2]string{{p.Store.Dir(), a.Branch}, {places, Place(p, team, a)}} {
			ours, err := r.Reserve(held[0], held[1], identity)
			if err == nil && !ours {
				err = fmt.Errorf("%s was taken by another session meanwhile; agentmux sessions lists them", held[1])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
