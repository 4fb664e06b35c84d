package work

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/outgate"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// tips are the branch's commits before the present round.
type tips struct {
	own string // the last commit this program made; the base before the first
	tip string // what the branch was at, own or a merge on top of it
}

func (r *Work) before(ctx context.Context, s *orchestrator.State, round int, base string) (tips, error) {
	mine, err := r.recorded(s)
	if err != nil {
		return tips{}, err
	}
	for n := round - 1; n >= 0; n-- {
		own, err := r.repo.Ref(ctx, gitrepo.RoundRef(r.place.String(), n, "own"))
		if err != nil {
			return tips{}, err
		}
		if own == "" {
			continue
		}
		tip, err := r.repo.Ref(ctx, gitrepo.RoundRef(r.place.String(), n, "tip"))
		if err != nil {
			return tips{}, err
		}
		// The output gate looks at what differs from here: a ref that somebody moved would have
		// the rest pass unseen.
		for _, id := range []string{own, cmp.Or(tip, own)} {
			if !mine[id] {
				return tips{}, engine.Never(fmt.Errorf("the ref of round %d is at %s, which no record of %s names", n, id, r.sess.Name()))
			}
		}
		return tips{own: own, tip: cmp.Or(tip, own)}, nil
	}
	return tips{own: base, tip: base}, nil
}

// EnsureCommit makes the one commit of a change round, see committing.
func (r *Work) EnsureCommit(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	return (&committing{r}).run(ctx, e, s)
}

// run makes the one commit of a change round: the integrated tree on top of the
// branch, less what the person left out. The same effect gives the same commit.
func (r *committing) run(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	a := e.Args
	if a.Tree == "" {
		a.Tree = a.Base
	}
	former, err := r.before(ctx, s, a.Round, a.Base)
	if err != nil {
		return orchestrator.Result{}, err
	}
	tree, files, err := r.committedTree(ctx, a, former)
	if err != nil {
		return orchestrator.Result{}, err
	}
	if files == 0 {
		return orchestrator.Result{Empty: true, Tree: tree}, nil
	}
	message := r.CommitMessage(a.Message, s)
	if tree, err = r.onTop(ctx, a, former, tree, message); err != nil || tree == "" {
		return orchestrator.Result{Refused: "the changes of people on the branch conflict with the new work"}, err
	}
	report, err := r.judge(ctx, a, s, former.tip, tree, message)
	if err != nil {
		return orchestrator.Result{}, err
	}
	if report.Blocked() {
		return orchestrator.Result{Findings: report.Texts()}, nil
	}
	if err := r.takeEarlier(ctx, a, s, former.tip); err != nil {
		return orchestrator.Result{}, err
	}
	commit, onto, err := r.published(ctx, a.Round, tree, former.tip)
	if err != nil {
		return orchestrator.Result{}, err
	}
	if commit == "" {
		commit, err = r.roundCommit(ctx, a, tree, onto, message)
	}
	if err == nil {
		err = r.keepRound(ctx, a.Round, commit)
	}
	if err != nil {
		return orchestrator.Result{}, err
	}
	subject, _, _ := strings.Cut(message, "\n")
	return orchestrator.Result{
		Commit: commit, Tree: tree, Parent: former.tip, Subject: subject, Files: files, Held: outgate.Paths(report.Held),
	}, nil
}

func (r *committing) roundCommit(ctx context.Context, a orchestrator.Args, tree, parent, message string) (string, error) {
	author, err := r.signature(ctx)
	if err != nil {
		return "", err
	}
	return r.repo.Commit(ctx, gitrepo.CommitSpec{
		Tree: tree, Parents: []string{parent}, Message: message, Author: author, Date: a.Date.Time,
	})
}

// published looks for what people have of this round already: a session that went back to an
// earlier state does its last steps again. done is the commit that they have, if it is the one
// to be made but for its words and its date. Any other content goes onto it, because history is
// never rewritten.
func (r *committing) published(ctx context.Context, round int, tree, parent string) (done, onto string, err error) {
	key := r.place.String()
	tip, err := r.repo.Ref(ctx, gitrepo.RoundRef(key, round, "tip"))
	if err != nil || tip == "" {
		return "", parent, err
	}
	own, err := r.repo.Ref(ctx, gitrepo.RoundRef(key, round, "own"))
	if err != nil || own == "" {
		return "", parent, err
	}
	// One on top of it was made by a host that was killed. Else commits of people are in it: the push merges.
	if onTop, err := r.repo.IsAncestor(ctx, tip, own); err != nil || !onTop {
		return "", parent, err
	}
	now, err := r.repo.Tree(ctx, tip)
	if err != nil {
		return "", "", err
	}
	if now == tree {
		return tip, parent, nil
	}
	return "", tip, nil
}

// committedTree is the integrated tree without what never leaves: the paths the person
// left out, our own files, and notes of agents to themselves.
func (r *committing) committedTree(ctx context.Context, a orchestrator.Args, former tips) (tree string, files int, err error) {
	changes, err := r.repo.Changes(ctx, former.own, a.Tree)
	if err != nil {
		return "", 0, err
	}
	for _, file := range a.Exclude {
		if !slices.ContainsFunc(changes, func(c gitrepo.Change) bool { return c.Path == file }) {
			r.Log.Warn("a path that is to be left out is not changed", "session", r.sess.Name(), "path", file)
		}
	}
	kept := slices.DeleteFunc(changes, func(c gitrepo.Change) bool {
		return slices.Contains(a.Exclude, c.Path) || ours(c.Path)
	})
	tree, err = r.repo.Apply(ctx, former.own, kept)
	return tree, len(kept), err
}

// ownPaths never leave: notes of agents to themselves, our own files, and the earlier
// tool's note of its session.
var ownPaths = []string{"AGENT_SUMMARY.md", ".agentmux/.last_completion.json", ".agentmux/.sessions", ".agentmux/.active_session"}

func ours(path string) bool {
	return slices.ContainsFunc(ownPaths, func(own string) bool { return path == own || strings.HasPrefix(path, own+"/") })
}

// onTop merges the tree with what people put on the branch since; "" is a conflict.
func (r *committing) onTop(ctx context.Context, a orchestrator.Args, former tips, tree, message string) (string, error) {
	if former.tip == former.own {
		return tree, nil
	}
	commit, err := r.repo.Commit(ctx, gitrepo.CommitSpec{
		Tree: tree, Parents: []string{former.own}, Message: message, Author: robot, Date: a.Date.Time,
	})
	if err != nil {
		return "", err
	}
	merged, err := r.repo.Merge(ctx, former.tip, commit)
	return merged.Tree, err
}

// judge asks the output gate. What a person was shown and then approved may pass: what looks like a
// secret, and paths if the person was at hand.
func (r *Work) judge(ctx context.Context, a orchestrator.Args, s *orchestrator.State, base, tree, message string) (outgate.Report, error) {
	spec := r.gate(base, tree)
	spec.Texts = map[string]string{"commit message": message, "branch": a.Branch}
	if !a.Allowed && !a.Matches {
		return outgate.Check(ctx, r.repo, spec)
	}
	return outgate.CheckApproved(ctx, r.repo, spec, outgate.Approval{Shown: s.Completion.Findings, Paths: a.Allowed})
}

// gate is what the output gate is asked about the difference of two trees.
func (r *workspaces) gate(base, tree string) outgate.Spec {
	spec := Gate(r.cfg, r.Redactor)
	spec.Base, spec.Tree = base, tree
	return spec
}

// Gate is what the output gate is asked with a configuration.
func Gate(c *config.Config, secrets *redact.Redactor) outgate.Spec {
	return outgate.Spec{
		Allow: c.Output.Allow, Protected: c.GitHub.ProtectedPaths,
		MaxFiles: c.Output.MaxFiles, MaxBytes: int64(c.Output.MaxBytes), Secrets: secrets,
	}
}

// keepRound remembers the commit of a round. A commit made again with other words
// replaces one that was not pushed.
func (r *committing) keepRound(ctx context.Context, round int, commit string) error {
	own := gitrepo.RoundRef(r.place.String(), round, "own")
	old, err := r.repo.Ref(ctx, own)
	if err != nil || old == commit {
		return err
	}
	if err := r.repo.UpdateRef(ctx, own, commit, old); err != nil {
		return fmt.Errorf("keep commit of round %d: %w", round, err)
	}
	return nil
}
