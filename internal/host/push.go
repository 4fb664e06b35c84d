package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
)

// pushTries bounds how often a push follows a branch that moves under it.
const pushTries = 5

// pushing is one ensure_push at work.
type pushing struct {
	*runner
	args   orchestrator.Args
	branch string
	commit string // what is to be pushed; becomes a merge when people pushed too
	pushed string // what this session pushed last, empty for nothing
	merged bool
	date   time.Time
}

// ensurePush brings the branch to where people find it: the server, else their clone.
// History is never rewritten; commits of people on top of ours are merged.
func (r *runner) ensurePush(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	if why := r.noPush(); why != "" {
		if !r.project.Managed {
			if err := r.repo.ExportToClone(ctx, r.project.Clone.Root, e.Args.Branch, e.Args.Commit); err != nil {
				return orchestrator.Result{}, err
			}
		}
		return orchestrator.Result{Skipped: why, Branch: e.Args.Branch}, r.keepTip(ctx, e.Args.Round, e.Args.Commit)
	}
	p := &pushing{runner: r, args: e.Args, branch: e.Args.Branch, commit: e.Args.Commit, date: s.Completion.AuthorDate.Time}
	var err error
	if p.pushed, err = r.repo.Ref(ctx, r.pushedRef()); err != nil {
		return orchestrator.Result{}, err
	}
	return p.run(ctx)
}

// pushedRef remembers what this session pushed last.
func (r *runner) pushedRef() string { return "refs/agentmux/pushed/" + r.sess.Name() }

// noPush tells why nothing is pushed, or "".
func (r *runner) noPush() string {
	switch {
	case !r.cfg.GitHub.Push:
		return "github.push is off"
	case r.project.remote == nil:
		return "the project has no repository on " + r.serverHost(r.cfg)
	case r.ReadOnly:
		return "no write permission"
	case r.Token == nil:
		return "no GitHub token"
	}
	return ""
}

func (p *pushing) run(ctx context.Context) (orchestrator.Result, error) {
	old := p.pushed
	for range pushTries {
		if refused, err := p.mergeOnto(ctx, old); err != nil || refused != "" {
			return orchestrator.Result{Refused: refused}, err
		}
		_, err := p.repo.Push(ctx, *p.project.remote, gitrepo.PushSpec{Updates: []gitrepo.RefUpdate{
			{Ref: "refs/heads/" + p.branch, New: p.commit, Old: old},
		}})
		if err == nil {
			return p.done(ctx)
		}
		var push *gitrepo.PushError
		if !errors.As(err, &push) {
			return orchestrator.Result{}, err
		}
		if push.Kind == gitrepo.PushSecret {
			return secretFound(push), nil
		}
		var refused string
		switch push.Kind {
		case gitrepo.PushStale:
			old, refused, err = p.follow(ctx)
		case gitrepo.PushNetwork:
			return orchestrator.Result{}, err
		case gitrepo.PushRule:
			refused, err = push.Text+"\ngithub.branch_prefix sets what branches are called", nil
		default:
			refused, err = push.Text, nil
		}
		if err != nil || refused != "" {
			return orchestrator.Result{Refused: refused}, err
		}
	}
	return orchestrator.Result{}, fmt.Errorf("push %s: it moved %d times meanwhile", p.branch, pushTries)
}

// secretFound tells where the server saw a secret, as it names the place.
func secretFound(push *gitrepo.PushError) orchestrator.Result {
	found := "secret: the server found one at " + or(push.Place, "a place it does not name")
	return orchestrator.Result{Refused: found, Findings: []string{found}}
}

// follow looks where the branch is now. One that this session never pushed is somebody
// else's, and the session takes another name.
func (p *pushing) follow(ctx context.Context) (old, refused string, err error) {
	ref := "refs/heads/" + p.branch
	refs, err := p.repo.RemoteRefs(ctx, *p.project.remote, ref)
	if err != nil {
		return "", "", err
	}
	if len(refs) == 0 {
		return "", "", nil
	}
	tip := refs[0].ID
	if p.pushed == "" {
		p.branch = nextBranch(p.args.Branch, p.branch)
		return "", "", nil
	}
	if err := p.repo.FetchRemote(ctx, *p.project.remote, "+"+ref+":refs/remotes/origin/"+p.branch); err != nil {
		return "", "", err
	}
	ours, err := p.repo.IsAncestor(ctx, p.pushed, tip)
	if err == nil && !ours {
		refused = "somebody rewrote the branch " + p.branch
	}
	return tip, refused, err
}

// nextBranch is base-2 after base, base-3 after that.
func nextBranch(base, taken string) string {
	n := 1
	_, _ = fmt.Sscanf(taken, base+"-%d", &n)
	return fmt.Sprintf("%s-%d", base, n+1)
}

// mergeOnto makes the commit to push descend from where the branch is.
func (p *pushing) mergeOnto(ctx context.Context, old string) (refused string, err error) {
	if old == "" {
		return "", nil
	}
	descends, err := p.repo.IsAncestor(ctx, old, p.commit)
	if err != nil || descends {
		return "", err
	}
	m, err := p.repo.Merge(ctx, old, p.commit)
	if err != nil {
		return "", err
	}
	if len(m.Conflicts) > 0 {
		return "the commits of people on " + p.branch + " conflict with the new work", nil
	}
	author, err := p.signature(ctx)
	if err != nil {
		return "", err
	}
	p.commit, err = p.repo.Commit(ctx, gitrepo.CommitSpec{
		Tree: m.Tree, Parents: []string{old, p.commit}, Message: "Merge the work of " + p.sess.Name() + "\n",
		Author: author, Date: p.date,
	})
	p.merged = true
	return "", err
}

func (p *pushing) done(ctx context.Context) (orchestrator.Result, error) {
	if err := p.repo.UpdateRef(ctx, p.pushedRef(), p.commit, p.pushed); err != nil {
		return orchestrator.Result{}, err
	}
	if err := p.keepTip(ctx, p.args.Round, p.commit); err != nil {
		return orchestrator.Result{}, err
	}
	res := orchestrator.Result{Branch: p.branch}
	if !p.merged {
		return res, nil
	}
	tree, err := p.repo.Tree(ctx, p.commit)
	res.Commit, res.Tree = p.commit, tree
	return res, err
}

// keepTip remembers what the branch was brought to in a round.
func (r *runner) keepTip(ctx context.Context, round int, commit string) error {
	ref := roundRef(r.sess.Name(), round, "tip")
	old, err := r.repo.Ref(ctx, ref)
	if err != nil || old == commit {
		return err
	}
	return r.repo.UpdateRef(ctx, ref, commit, old)
}
