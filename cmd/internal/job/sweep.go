package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/cmd/internal/daemon"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/dispatch"
)

// sweep starts the workflow once more for each issue whose job was lost: an open one that still has a
// request label, which a claim would have taken off, and one that is claimed by a job that is over
// or that let it go. It runs no session.
func (r *run) sweep(ctx context.Context, c *config.Config, of Request, result *outcome.Result) error {
	file, ref, err := workflowOf(os.Getenv("GITHUB_WORKFLOW_REF"), of.Repo)
	if err != nil {
		return exit.Usage(err)
	}
	id, err := hostID(os.Getenv)
	if err != nil {
		return exit.Usage(err)
	}
	h, act, err := daemon.Reach(ctx, r.finder, c, of.Repo)
	if err != nil {
		return err
	}
	repo, err := act.Client.Repository(ctx, of.Repo.Owner, of.Repo.Name)
	if err != nil {
		return explain(err, of.Repo, act.Name)
	}
	asked := map[int]bool{}
	if err := labelled(ctx, act.Client, of.Repo, c.Bot.Label, asked); err != nil {
		return explain(err, of.Repo, act.Name)
	}
	desk, err := tenure.OpenDesk(ctx, h, tenure.DeskSpec{
		Repo: of.Repo, RepoID: repo.ID, Host: id, SingleHost: c.Bot.SingleHost, Write: c.GitHub.WriteEvery(), Log: h.Log,
	})
	if err != nil {
		return err
	}
	running := func(ctx context.Context) (map[int64]int, error) { return dispatch.Running(ctx, act.Client, of.Repo) }
	if err := left(ctx, desk, running, asked, func(issue int, err error) {
		r.log.Annotate(Warning, "sweep", r.shown(fmt.Sprintf("whether the host of #%d is gone is not known: %v", issue, err)))
	}); err != nil {
		return err
	}
	var errs []error
	for _, issue := range slices.Sorted(maps.Keys(asked)) {
		if r.inputs.On("dry-run") {
			r.finder.Say("%s would be started for #%d", file, issue)
			continue
		}
		if err := dispatch.Issue(ctx, act.Client, of.Repo, dispatch.Workflow{File: file, Ref: ref}, issue); err != nil {
			errs = append(errs, fmt.Errorf("start %s for #%d: %w; the job of the sweep needs the permission actions: write", file, issue, err))
			continue
		}
		r.finder.Say("started %s for #%d", file, issue)
		result.Dispatched = append(result.Dispatched, issue)
	}
	result.Outcome, result.Sentence = OutcomeSwept, fmt.Sprintf("%d of %d lost requests were started once more", len(result.Dispatched), len(asked))
	return errors.Join(errs...)
}

// labelled notes the open issues that still have a request label.
func labelled(ctx context.Context, c *ghsync.Client, repo ghsync.Repo, label string, asked map[int]bool) error {
	all, err := c.Labels(ctx, repo)
	if err != nil {
		return err
	}
	for _, l := range all {
		if _, ok := ghsync.RequestLabel(l.Name, label); !ok {
			continue
		}
		for page, more := 1, true; more; page++ {
			var issues []ghsync.Issue
			if issues, more, err = (ghsync.Intake{Client: c}).LabelledIssues(ctx, repo, l.Name, page); err != nil {
				return err
			}
			for _, i := range issues {
				asked[i.Number] = true
			}
		}
	}
	return nil
}

// left notes the issues whose claim a job left. One that a host works on and that has its label again
// costs a job that does nothing. Jobs whose runs are in progress are not asked for one by one: running lists
// them by run, a hundred in a request. Where it does not, they are.
func left(ctx context.Context, desk claim.Desk, running func(context.Context) (map[int64]int, error), asked map[int]bool, unknown func(issue int, err error)) error {
	all, err := desk.Look(ctx)
	if err != nil {
		return err
	}
	attempts := map[int64]int{}
	if jobs := slices.DeleteFunc(slices.Clone(all), func(s claim.Seen) bool { _, _, isJob := s.Claim.Host.Job(); return !isJob }); len(jobs) > 1 {
		attempts, _ = running(ctx)
	}
	for _, seen := range all {
		if seen.Problem != nil {
			continue
		}
		run, attempt, isJob := seen.Claim.Host.Job()
		if isJob && attempts[run] == attempt && seen.Claim.State != claim.Handover {
			continue
		}
		why, err := desk.Stale(ctx, seen)
		if err != nil {
			unknown(seen.Issue, err)
		}
		_, takes := orphan.ForJob(seen, why)
		if takes && (why == claim.LetGo || why == claim.RunEnded) {
			asked[seen.Issue] = true
		}
	}
	return nil
}

// workflowOf returns the file and the ref of a workflow of a repository, as the runner names it:
// owner/name/.github/workflows/file@refs/heads/main.
func workflowOf(name string, repo ghsync.Repo) (file, ref string, err error) {
	at, ref, ok := strings.Cut(name, "@")
	dir := repo.String() + "/.github/workflows/"
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	if !ok || !isBranch || len(at) <= len(dir) || !strings.EqualFold(at[:len(dir)], dir) || path.Base(at) != at[len(dir):] {
		return "", "", fmt.Errorf("GITHUB_WORKFLOW_REF: expected %sFILE@refs/heads/BRANCH, found %q", dir, cut(name))
	}
	return at[len(dir):], branch, nil
}

// explain words an error of GitHub.
func explain(err error, repo ghsync.Repo, from string) error {
	detail, hint := account.Words(err, repo.String(), from)
	return fmt.Errorf("%s; %s: %w", detail, hint, err)
}
