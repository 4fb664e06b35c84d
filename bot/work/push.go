package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/lineage"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/outgate"
	"github.com/agentmux/agentmux/orchestrator"
)

// pushTries bounds how often a push follows a branch that moves under it.
const pushTries = 5

// pushing is one ensure_push at work.
type pushing struct {
	*Work
	args   orchestrator.Args
	branch string
	commit string // what is to be pushed; becomes a merge when people pushed too
	pushed string // what this session pushed last, empty for nothing
	merged bool
	based  bool   // the base's tip was merged in
	base   string // branch
	date   time.Time
}

// EnsurePush brings the branch to where people find it: the server, else their clone.
// History is never rewritten; commits of people on top of ours are merged.
func (r *Work) EnsurePush(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	if withheld, why := r.NoPush(); withheld != "" {
		branch := e.Args.Branch
		if !r.project.Managed {
			var refused string
			var err error
			if branch, refused, err = r.export(ctx, e.Args); err != nil || refused != "" {
				return orchestrator.Result{Refused: refused}, err
			}
		}
		return orchestrator.Result{Skipped: why, Withheld: withheld, Branch: branch}, r.keepTip(ctx, e.Args.Round, e.Args.Commit)
	}
	p := &pushing{Work: r, args: e.Args, branch: e.Args.Branch, commit: e.Args.Commit, base: s.BaseBranch, date: s.Completion.AuthorDate.Time}
	var err error
	if p.pushed, err = r.repo.Ref(ctx, r.pushedRef()); err != nil {
		return orchestrator.Result{}, err
	}
	if e.Args.Head != "" && p.pushed == "" { // no gate has judged what the branch had before
		if found, err := new(checkpoint.Away).Inspect(ctx, r.repo, r.gate(s.BaseSHA, ""), e.Args.Head); err != nil || len(found) > 0 {
			return orchestrator.Result{Findings: found}, err
		}
	}
	if r.MayPush != nil && p.pushed != p.commit {
		if refused, err := r.MayPush(ctx); err != nil || refused != "" {
			return orchestrator.Result{Refused: refused}, err
		}
	}
	return p.run(ctx)
}

// pushedRef remembers what this session pushed last.
func (r *Work) pushedRef() string { return gitrepo.PushedRef(r.place.String()) }

// NoPush tells why nothing is pushed, also in words; "" if something is.
func (r *workspaces) NoPush() (withheld orchestrator.Withheld, why string) {
	switch {
	case !r.cfg.GitHub.Push:
		return orchestrator.PushOff, "github.push is off"
	case r.project.Remote == nil:
		return orchestrator.PushElsewhere, "the project has no repository on " + r.ServerName
	case r.ReadOnly:
		return orchestrator.PushReadOnly, "no write permission"
	case r.Token == nil:
		return orchestrator.PushNoToken, "no GitHub token"
	}
	return "", ""
}

func (p *pushing) run(ctx context.Context) (orchestrator.Result, error) {
	old := p.pushed
	for range pushTries {
		if refused, err := p.mergeOnto(ctx, old); err != nil || refused != "" {
			return orchestrator.Result{Refused: refused}, err
		}
		err := p.push(ctx, remote.RefUpdate{Ref: "refs/heads/" + p.branch, New: p.commit, Old: old})
		if err == nil {
			return p.done(ctx)
		}
		var push *remote.PushError
		if !errors.As(err, &push) {
			return orchestrator.Result{}, err
		}
		if push.Kind == remote.PushSecret {
			return secretFound(push), nil
		}
		if push.Kind == remote.PushWorkflows {
			res, err := p.withBase(ctx, push.Text)
			if err != nil || res.Refused != "" {
				return res, err
			}
			continue
		}
		var refused string
		switch push.Kind {
		case remote.PushStale:
			old, refused, err = p.follow(ctx)
		case remote.PushNetwork:
			return orchestrator.Result{}, err
		case remote.PushRule:
			refused, err = push.Text+"\ngithub.branch_prefix sets what branches are called", nil
		case remote.PushDenied:
			refused, err = push.Text+"\nthe token needs contents: write, and an archived repository takes nothing", nil
		default:
			refused, err = push.Text, nil
		}
		if err != nil || refused != "" {
			return orchestrator.Result{Refused: refused}, err
		}
	}
	return orchestrator.Result{}, fmt.Errorf("push %s: it moved %d times meanwhile", p.branch, pushTries)
}

// push moves one ref on the server.
func (r *Work) push(ctx context.Context, u remote.RefUpdate) error {
	if r.Guard != nil {
		if err := r.Guard(ctx); err != nil {
			return err
		}
	}
	_, err := r.project.Remote.Push(ctx, r.repo, remote.PushSpec{Updates: []remote.RefUpdate{u}})
	return err
}

// secretFound tells where the server saw a secret, as it names the place.
func secretFound(push *remote.PushError) orchestrator.Result {
	found := "secret: the server found one at " + cmp.Or(push.Place, "a place it does not name")
	return orchestrator.Result{Refused: found, Findings: []string{found}}
}

// withBase merges the base's tip, once. A token that may not change workflow files is refused
// also for a branch that only lacks what the base has got there since. Whose own changes
// touch such files, that needs a person.
func (p *pushing) withBase(ctx context.Context, text string) (orchestrator.Result, error) {
	changes, err := p.repo.Changes(ctx, p.args.Base, p.args.Commit)
	if err != nil {
		return orchestrator.Result{}, err
	}
	var found []string
	for _, c := range changes {
		if strings.HasPrefix(c.Path, ".github/workflows/") {
			found = append(found, outgate.Finding{Rule: "path.blocked", Path: c.Path, Text: "the server takes no change of it with this token"}.String())
		}
	}
	if len(found) > 0 {
		return orchestrator.Result{Refused: text, Findings: found}, nil
	}
	refused := orchestrator.Result{Refused: text}
	tip, err := p.baseTip(ctx)
	if err != nil || tip == "" || p.based {
		return refused, err
	}
	if there, err := p.repo.IsAncestor(ctx, tip, p.commit); err != nil || there {
		return refused, err
	}
	p.based = true
	refused.Refused, err = p.mergeWith(ctx, tip, "Merge "+p.base+"\n", text+"\n"+p.base+" has moved on and conflicts with the new work")
	return refused, err
}

// baseTip is where the base is on the server now, "" if it is not there.
func (p *pushing) baseTip(ctx context.Context) (string, error) {
	ref := "refs/heads/" + p.base
	refs, err := p.project.Remote.Refs(ctx, p.repo, ref)
	if err != nil || len(refs) == 0 {
		return "", err
	}
	return refs[0].ID, p.project.Remote.Fetch(ctx, p.repo, "+"+ref+":refs/remotes/origin/"+p.base)
}

// follow looks where the branch is now. One that this session never pushed is somebody
// else's, and the session takes another name, unless what it continues has all of it.
func (p *pushing) follow(ctx context.Context) (old, refused string, err error) {
	ref := "refs/heads/" + p.branch
	refs, err := p.project.Remote.Refs(ctx, p.repo, ref)
	if err != nil || len(refs) == 0 {
		return "", "", err
	}
	tip := refs[0].ID
	if err := p.project.Remote.Fetch(ctx, p.repo, "+"+ref+":refs/remotes/origin/"+p.branch); err != nil {
		return "", "", err
	}
	if p.pushed == "" {
		if own, err := lineage.Continues(ctx, p.repo, p.commit, p.args.Base, tip); err != nil || own {
			return tip, "", err
		}
		if p.args.Head != "" { // the branch that the clone had is continued
			if has, err := p.repo.IsAncestor(ctx, tip, p.args.Head); err != nil || has {
				return tip, "", err
			}
		}
		p.branch, err = p.nextFree(p.args.Branch, p.branch)
		return "", "", err
	}
	follows, err := p.repo.IsAncestor(ctx, p.pushed, tip)
	if err == nil && !follows {
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
	return p.mergeWith(ctx, old, "Merge the work of "+p.sess.Name()+"\n", "the commits of people on "+p.branch+" conflict with the new work")
}

// mergeWith makes the commit to push one that has other for a parent, too; conflict is what
// to say if it cannot be.
func (p *pushing) mergeWith(ctx context.Context, other, message, conflict string) (refused string, err error) {
	m, err := p.repo.Merge(ctx, other, p.commit)
	if err != nil {
		return "", err
	}
	if len(m.Conflicts) > 0 {
		return conflict, nil
	}
	author, err := p.signature(ctx)
	if err != nil {
		return "", err
	}
	p.commit, err = p.repo.Commit(ctx, gitrepo.CommitSpec{
		Tree: m.Tree, Parents: []string{other, p.commit}, Message: message,
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
func (r *Work) keepTip(ctx context.Context, round int, commit string) error {
	ref := gitrepo.RoundRef(r.place.String(), round, "tip")
	old, err := r.repo.Ref(ctx, ref)
	if err != nil || old == commit {
		return err
	}
	return r.repo.UpdateRef(ctx, ref, commit, old)
}
