package work

import (
	"context"
	"errors"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/orchestrator"
)

// export makes the branch in the person's clone, for work that is not pushed. Another's branch
// of that name stays, and this one gets the next number, unless people know it already by its
// name. What no waiting mends is refused with its reason.
func (r *Work) export(ctx context.Context, a orchestrator.Args) (branch, refused string, err error) {
	branch = a.Branch
	for range pushTries {
		err := clone.Export(ctx, r.repo, r.project.Clone.Root, branch, a.Commit)
		var why *clone.ExportError
		if !errors.As(err, &why) {
			return branch, "", err
		}
		if why.Kind != clone.ExportTaken && why.Kind != clone.ExportCheckedOut {
			return branch, why.Error(), nil
		}
		known, err := r.exported(ctx, a)
		if err != nil || known {
			return branch, why.Error(), err
		}
		if branch, err = r.nextFree(a.Branch, branch); err != nil {
			return branch, "", err
		}
	}
	return branch, "every branch from " + a.Branch + " to " + branch + " is another's; github.branch_prefix sets what branches are called", nil
}

// FetchBranch has the commit of an agent in the person's clone as its branch. One that moved
// meanwhile stays, and the commit gets the next number. A managed project has no such clone.
func (r *Work) FetchBranch(ctx context.Context, e orchestrator.Effect, _ *orchestrator.State) (orchestrator.Result, error) {
	branch := e.Args.Branch
	if !r.project.Managed {
		var refused string
		var err error
		if branch, refused, err = r.export(ctx, e.Args); err != nil || refused != "" {
			return orchestrator.Result{Refused: refused}, err
		}
	}
	crash.Point("fetch branch", "")
	return orchestrator.Result{Branch: branch}, nil
}

// exported reports whether the branch was made in the clone before, in this round or an
// earlier one.
func (r *Work) exported(ctx context.Context, a orchestrator.Args) (bool, error) {
	for n := a.Round; n >= 0; n-- {
		tip, err := r.repo.Ref(ctx, gitrepo.RoundRef(r.place.String(), n, "tip"))
		if err != nil || tip != "" {
			return tip != "", err
		}
	}
	return false, nil
}

// nextFree reserves the next branch that no other session has.
func (r *Work) nextFree(base, taken string) (string, error) {
	for {
		taken = nextBranch(base, taken)
		mine, err := r.register().Reserve(r.repo.Dir(), taken, r.place.ID)
		if err != nil || mine {
			return taken, err
		}
	}
}
