package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/pulltext"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/outgate"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// failedPrefix begins the title of a pull request whose last review failed.
const failedPrefix = "[review failed] "

// EnsurePull makes the pull request of the branch be there.
func (r *Work) EnsurePull(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	return (&proposal{r}).run(ctx, e, s)
}

func (r *proposal) run(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	if r.GitHub == nil || !r.project.GitHub {
		return orchestrator.Result{Skipped: "GitHub is not in use"}, nil
	}
	body, err := r.body(ctx, e.Args, s)
	if err != nil {
		return orchestrator.Result{}, err
	}
	spec := ghsync.PullRequestSpec{
		Repo: r.PullRepo(s), Branch: e.Args.Branch, Base: s.BaseBranch,
		Title: r.title(e.Args, s), Body: markdown.Finish(r.Redactor, pulltext.Render(body)), Ready: !e.Args.Draft,
	}
	if spec.HeadOwner, err = r.headOwner(ctx, spec.Repo); err != nil {
		return orchestrator.Result{}, err
	}
	if snap, err := r.IssueSnapshot(); err == nil {
		spec.Reviewer = snap.Requester.Login
	}
	pull := &ghsync.PullRequest{Client: r.GitHub, Writes: r.Pulls}
	res, err := pull.Ensure(ctx, spec)
	if errors.As(err, new(*transport.Moved)) {
		if spec, err = r.moved(ctx, spec); err == nil {
			res, err = pull.Ensure(ctx, spec)
		}
	}
	if transport.HasCode(err, transport.CodeHeadInvalid) {
		refused, pushErr := r.pushAgain(ctx, e.Args)
		if pushErr != nil || refused != "" {
			return orchestrator.Result{Refused: refused}, pushErr
		}
		res, err = pull.Ensure(ctx, spec)
	}
	if transport.HasCode(err, transport.CodeBaseInvalid) {
		if whole, readErr := r.sess.ReadState(); readErr == nil && whole.BaseBranch != s.BaseBranch {
			s = s.Clone() // the branch of another agent is not on the server, or was merged and removed meanwhile
			s.BaseBranch = whole.BaseBranch
			return r.run(ctx, e, s)
		}
	}
	why := r.pullRefusal(spec, res, err)
	if err == nil && res.State == ghsync.PullRequestMerged {
		why, err = r.mergedWithout(ctx, e.Args.Commit, spec, res)
	}
	if why != "" {
		return orchestrator.Result{Refused: why}, nil
	}
	if err != nil {
		return orchestrator.Result{}, err
	}
	return orchestrator.Result{Number: res.Number, URL: res.URL, Draft: res.Draft, Adopted: res.Adopted}, nil
}

// pushAgain pushes the branch once more if it is not on the server: people tidy up, and what
// the session has pushed is not lost by that.
func (r *proposal) pushAgain(ctx context.Context, a orchestrator.Args) (refused string, err error) {
	if withheld, _ := r.NoPush(); a.Commit == "" || withheld != "" {
		return "", nil
	}
	ref := "refs/heads/" + a.Branch
	there, err := r.project.Remote.Refs(ctx, r.repo, ref)
	if err != nil || len(there) > 0 {
		return "", err
	}
	err = r.push(ctx, remote.RefUpdate{Ref: ref, New: a.Commit})
	var push *remote.PushError
	if errors.As(err, &push) && push.Kind != remote.PushNetwork {
		return "the branch " + a.Branch + " is gone from the server, and it takes it no more: " + push.Text, nil
	}
	return "", err
}

// headOwner is who owns the branch. Where that is not who owns repo, origin is a fork, or
// the clone knows repo by an old name.
func (r *proposal) headOwner(ctx context.Context, repo ghsync.Repo) (string, error) {
	origin := r.project.Repo
	if strings.EqualFold(origin.Owner, repo.Owner) {
		return origin.Owner, nil
	}
	now, err := r.GitHub.Repository(ctx, origin.Owner, origin.Name)
	switch {
	case transport.IsNotFound(err):
		return origin.Owner, nil
	case err != nil:
		return "", fmt.Errorf("read %s: %w", origin, err)
	}
	return now.Owner, nil
}

// moved is the pull request under the name that its repository has now.
func (r *proposal) moved(ctx context.Context, spec ghsync.PullRequestSpec) (ghsync.PullRequestSpec, error) {
	var id int64
	if snap, err := r.IssueSnapshot(); err == nil {
		id = snap.RepoID
	}
	var now ghsync.Repository
	var err error
	if id != 0 {
		now, err = r.GitHub.RepositoryByID(ctx, id)
	} else {
		now, err = r.GitHub.Repository(ctx, spec.Repo.Owner, spec.Repo.Name)
	}
	if err != nil {
		return spec, fmt.Errorf("find the repository that was %s: %w", spec.Repo, err)
	}
	if strings.EqualFold(spec.HeadOwner, spec.Repo.Owner) {
		spec.HeadOwner = now.Owner
	}
	spec.Repo = now.Repo
	return spec, nil
}

// pullRefusal says, for a person, why there is no pull request and never will be without
// one; "" if there is one or may be later.
func (r *proposal) pullRefusal(spec ghsync.PullRequestSpec, res ghsync.PullRequestResult, err error) string {
	var terminal *transport.Terminal
	switch {
	case transport.HasCode(err, transport.CodeNoCommits):
		return "nothing changed: the branch holds nothing that the base does not"
	case transport.HasCode(err, transport.CodePRForbidden) && errors.As(err, &terminal):
		return fmt.Sprintf("GitHub does not let this account open pull requests. Open it at %s, or turn on %s",
			r.compareURL(spec), terminal.Hint)
	case transport.HasCode(err, transport.CodeBaseInvalid):
		return fmt.Sprintf("the branch %s, which the pull request is for, is not on the server any more: agentmux resume --base BRANCH opens it for another one", spec.Base)
	case err == nil && res.State == ghsync.PullRequestClosed:
		return fmt.Sprintf("a person closed pull request #%d: reopen it to go on", res.Number)
	}
	return ""
}

// mergedWithout says, for a person, that a pull request was merged before the commit of this round was in it; "" if it holds the
// commit. A head that the store does not have is younger than what was pushed last, and holds it.
func (r *proposal) mergedWithout(ctx context.Context, commit string, spec ghsync.PullRequestSpec, res ghsync.PullRequestResult) (string, error) {
	if _, err := r.repo.Resolve(ctx, res.Head); err != nil {
		return "", ctx.Err()
	}
	if has, err := r.repo.IsAncestor(ctx, commit, res.Head); err != nil || has {
		return "", err
	}
	return fmt.Sprintf("pull request #%d was merged before this round, whose commit is on the branch %s alone: open another one at %s", res.Number, spec.Branch, r.compareURL(spec)), nil
}

// compareURL is where a person opens the pull request; the branch of a fork has its
// owner in front.
func (r *proposal) compareURL(spec ghsync.PullRequestSpec) string {
	head := spec.Branch
	if !strings.EqualFold(spec.HeadOwner, spec.Repo.Owner) {
		head = spec.HeadOwner + ":" + head
	}
	return r.GitHub.CompareURL(spec.Repo, spec.Base, head)
}

// PullRepo is where the pull request goes: the issue's repository, else origin's.
func (r *Work) PullRepo(s *orchestrator.State) ghsync.Repo {
	if owner, name, ok := strings.Cut(string(s.Repo), "/"); ok {
		return ghsync.Repo{Owner: owner, Name: name}
	}
	return r.project.Repo
}

// PullTitle is the title that the pull request would have.
func (r *Work) PullTitle(a orchestrator.Args, s *orchestrator.State) string {
	return (&proposal{r}).title(a, s)
}

// PullBody is what the pull request would say.
func (r *Work) PullBody(ctx context.Context, a orchestrator.Args, s *orchestrator.State) (pulltext.Body, error) {
	return (&proposal{r}).body(ctx, a, s)
}

func (r *proposal) title(a orchestrator.Args, s *orchestrator.State) string {
	plain := func(text string) string { return markdown.PlainTitle(r.Redactor.Redact(text)) }
	title := r.Redactor.Redact(cmp.Or(plain(string(s.IssueTitle)), cmp.Or(plain(s.Completion.Subject), "changes of "+r.sess.Name())))
	if a.Exhausted {
		title = failedPrefix + title
	}
	return title
}

// body gathers what the pull request says; a part that is not there stays empty.
func (r *proposal) body(ctx context.Context, a orchestrator.Args, s *orchestrator.State) (pulltext.Body, error) {
	b := pulltext.Body{
		Session: orchestrator.PublicID(s.SessionID, s.Identity), Seq: s.Seq, Server: r.GitHub.Server(), Links: r.cfg.GitHub.LinkHosts,
		Exhausted: a.Exhausted, Request: markdown.Raw(r.Request()), Issue: s.IssueNumber,
		Summary:  markdown.Raw(r.Optional(path.Join(r.Dir(workflows.KindComplete), session.SummaryFile))),
		Template: markdown.Raw(r.PullTemplate(ctx, s.BaseSHA)),
	}
	told, err := r.Told(a.Task)
	if err != nil {
		return b, err
	}
	b.Strays, b.Crew, b.Used = told.Strays, told.Crew, told.Used
	if b.NeedsLook, err = r.needsLook(ctx, a, s); err != nil {
		return b, err
	}
	first, err := r.project.FirstPull(ctx, session.Entry{Name: r.sess.Name(), State: s}, a.Branch)
	if err != nil {
		return b, err
	}
	b.Notes = append(b.Notes, first...)
	if snap, err := r.IssueSnapshot(); err == nil {
		b.Request, b.RequestAt, b.Digest, b.Asker = markdown.Raw(snap.Title.String()+"\n\n"+snap.Body.String()), snap.CutOff, snap.Digest, snap.Requester.Login
		b.Notes = append(b.Notes, BaseNotes(snap.Base)...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	if data, err := r.sess.Blob(s.PlanSHA256); err == nil {
		if plan, _ := artifact.ParsePlan(data); plan != nil {
			b.Plan = markdown.Raw(plan.Overview)
		}
	}
	if err := r.verdicts(&b, a, s); err != nil {
		return b, err
	}
	r.redactParts(&b)
	if s.IssueNumber > 0 {
		if b.Closes, err = r.closes(ctx, s); err != nil {
			return b, err
		}
	}
	return b, nil
}

// redactParts takes secrets out of what agents wrote before it is fitted into the body: a
// text that is redacted may be longer. The body as a whole is redacted once more, since
// what stood apart may stand together there.
func (r *proposal) redactParts(b *pulltext.Body) {
	texts := []*markdown.Raw{&b.Request, &b.Summary, &b.Plan}
	for i := range b.Verdicts {
		texts = append(texts, &b.Verdicts[i].Summary)
	}
	for i := range b.Findings {
		f := &b.Findings[i]
		texts = append(texts, &f.Issue)
		f.Location = r.Redactor.Redact(f.Location)
	}
	for _, text := range texts {
		*text = markdown.Raw(r.Redactor.Redact(string(*text)))
	}
}

// closes reports whether a merge into the session's base closes the issue: the base is the
// default branch. That may have another name now than when the session began.
func (r *proposal) closes(ctx context.Context, s *orchestrator.State) (bool, error) {
	snap, _ := r.IssueSnapshot() // without one the server says
	if snap.Default == s.BaseBranch {
		return true, nil
	}
	var now ghsync.Repository
	var err error
	if snap.RepoID != 0 {
		now, err = r.GitHub.RepositoryByID(ctx, snap.RepoID)
	} else {
		now, err = r.GitHub.Repository(ctx, r.PullRepo(s).Owner, r.PullRepo(s).Name)
	}
	if err != nil && snap.Default != "" {
		return false, ctx.Err() // what it was then is good enough
	}
	return now.DefaultBranch == s.BaseBranch, err
}

// needsLook are the paths a person should look at first, in all that the branch changes:
// the held ones, then the named ones.
func (r *proposal) needsLook(ctx context.Context, a orchestrator.Args, s *orchestrator.State) ([]string, error) {
	if a.Tree == "" {
		return slices.Clone(a.Held), nil // a preview: nothing has changed yet
	}
	base, err := r.mergedBase(ctx, a.Commit, s)
	if err != nil {
		return nil, err
	}
	report, err := r.judge(ctx, a, s, base, a.Tree, "")
	if err != nil {
		return nil, err
	}
	paths := slices.Clone(a.Held)
	for _, path := range append(outgate.Paths(report.Held), outgate.Paths(report.Named)...) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// mergedBase is the newest commit of the base that a push merged in, else the one that the
// session began from: what the base got meanwhile is not the branch's change.
func (r *proposal) mergedBase(ctx context.Context, commit string, s *orchestrator.State) (string, error) {
	if s.BaseBranch == "" || commit == "" {
		return s.BaseSHA, nil
	}
	tip, err := r.repo.Ref(ctx, "refs/remotes/origin/"+s.BaseBranch)
	if err != nil || tip == "" {
		return s.BaseSHA, err
	}
	for _, pair := range [][2]string{{s.BaseSHA, tip}, {tip, commit}} {
		if follows, err := r.repo.IsAncestor(ctx, pair[0], pair[1]); err != nil || !follows {
			return s.BaseSHA, err
		}
	}
	return tip, nil
}

// verdicts adds the last result of each role, and what is open after an exhausted review.
func (r *proposal) verdicts(b *pulltext.Body, a orchestrator.Args, s *orchestrator.State) error {
	sources := map[string]string{}
	for role, res := range s.ReviewResults {
		if res.SHA256 != "" { // else taken over from the earlier tool
			sources[role] = res.SHA256
		}
	}
	results, err := r.Reviews(sources)
	if err != nil {
		return err
	}
	for _, res := range results {
		v := pulltext.Verdict{Role: markdown.Raw(res.Role), Verdict: res.Review.Verdict, Summary: markdown.Raw(res.Review.Summary)}
		if s.ReviewResults[res.Role].Tree == a.Tree {
			v.Commit = a.Commit
		}
		b.Verdicts = append(b.Verdicts, v)
		if !a.Exhausted || res.Review.Verdict != artifact.VerdictFail {
			continue
		}
		for _, f := range res.Review.Findings {
			b.Findings = append(b.Findings, pulltext.Finding{
				Role: markdown.Raw(res.Role), Severity: markdown.Raw(f.Severity), Location: f.Location, Issue: markdown.Raw(f.Issue),
			})
		}
	}
	if len(b.Findings) > 0 {
		b.Summary = markdown.Raw(artifact.WithoutFindings(string(b.Summary)))
	}
	return nil
}

// BaseNotes tells what of the repository the agents did not see.
func BaseNotes(n ghsync.BaseNote) []string {
	if line := n.String(); line != "" {
		return []string{line}
	}
	return nil
}
