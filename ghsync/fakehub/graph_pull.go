package fakehub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/ghsync/fakehub/graphql"
)

type graphPull struct {
	graphSubject
	IsDraft           bool             `graphql:"isDraft"`
	Merged            bool             `graphql:"merged"`
	MergedAt          any              `graphql:"mergedAt"`
	HeadRefName       string           `graphql:"headRefName"`
	HeadRefOid        string           `graphql:"headRefOid"`
	BaseRefName       string           `graphql:"baseRefName"`
	BaseRefOid        string           `graphql:"baseRefOid"`
	Mergeable         string           `graphql:"mergeable"`
	HeadRepository    graphql.Resolver `graphql:"headRepository"`
	StatusCheckRollup graphql.Resolver `graphql:"statusCheckRollup"`
	Commits           graphql.Resolver `graphql:"commits"`
}

func (graphPull) TypeName() string { return "PullRequest" }

func (g graph) pull(i *issue, subject graphSubject) graphPull {
	p := i.pull
	if p.merged {
		subject.State = "MERGED"
	}
	head := p.head()
	commit := func() graphql.Object { return graphPullCommit{ID: nodeID("PRC", i.id), Commit: g.commit(i.repo, head)} }
	return graphPull{
		graphSubject: subject,
		IsDraft:      p.draft, Merged: p.merged, MergedAt: stamp(p.mergedAt), HeadRefName: p.headBranch, HeadRefOid: head,
		BaseRefName: p.base, BaseRefOid: i.repo.refs["refs/heads/"+p.base], Mergeable: "MERGEABLE",
		HeadRepository:    func(graphql.Args) any { return g.repo(p.headRepo) },
		StatusCheckRollup: func(graphql.Args) any { return g.rollup(i.repo, head) },
		Commits:           graphql.Connect(graphql.List[func() graphql.Object]{Type: "PullRequestCommit", Items: []func() graphql.Object{commit}, Show: called}),
	}
}

func called(f func() graphql.Object) graphql.Object { return f() }

type graphPullCommit struct {
	ID     string      `graphql:"id"`
	Commit graphCommit `graphql:"commit"`
}

func (graphPullCommit) TypeName() string { return "PullRequestCommit" }

type graphCommit struct {
	ID                string           `graphql:"id"`
	Oid               string           `graphql:"oid"`
	StatusCheckRollup graphql.Resolver `graphql:"statusCheckRollup"`
}

func (graphCommit) TypeName() string { return "Commit" }

func (g graph) commit(r *repo, sha string) graphCommit {
	return graphCommit{ID: nodeID("C", r.id), Oid: sha, StatusCheckRollup: func(graphql.Args) any { return g.rollup(r, sha) }}
}

type graphRollup struct {
	ID       string           `graphql:"id"`
	State    string           `graphql:"state"`
	Commit   graphql.Resolver `graphql:"commit"`
	Contexts graphql.Resolver `graphql:"contexts"`
}

func (graphRollup) TypeName() string { return "StatusCheckRollup" }

// rollup is null when the commit has neither checks nor statuses.
func (g graph) rollup(r *repo, sha string) any {
	runs := slices.Clone(r.checks[sha])
	slices.Reverse(runs)
	runs = newestChecks(runs)
	statuses := r.latest(sha)
	if len(runs) == 0 && len(statuses) == 0 {
		return nil
	}
	var list []func() graphql.Object // each page of a long list makes its own alone
	var states []string
	for _, k := range runs {
		list = append(list, func() graphql.Object { return g.check(r, k) })
		states = append(states, k.state())
	}
	for _, t := range statuses {
		list = append(list, func() graphql.Object { return g.status(r, t) })
		states = append(states, t.state)
	}
	return graphRollup{
		ID: nodeID("SCR", r.id), State: strings.ToUpper(combine(states)),
		Commit:   func(graphql.Args) any { return g.commit(r, sha) },
		Contexts: graphql.Connect(graphql.List[func() graphql.Object]{Type: "StatusCheckRollupContext", Items: list, Show: called}),
	}
}

// state is the check run's conclusion in the words of statuses.
func (k *checkRun) state() string {
	switch k.spec.Conclusion {
	case "":
		return "pending"
	case "success", "neutral", "skipped":
		return "success"
	}
	return "failure"
}

type graphCheck struct {
	ID          string           `graphql:"id"`
	DatabaseID  int64            `graphql:"databaseId"`
	Name        string           `graphql:"name"`
	Status      string           `graphql:"status"`
	Conclusion  any              `graphql:"conclusion"`
	DetailsURL  any              `graphql:"detailsUrl"`
	StartedAt   any              `graphql:"startedAt"`
	CompletedAt any              `graphql:"completedAt"`
	Title       any              `graphql:"title"`
	Summary     any              `graphql:"summary"`
	Text        any              `graphql:"text"`
	IsRequired  graphql.Resolver `graphql:"isRequired"`
}

func (graphCheck) TypeName() string { return "CheckRun" }

func (g graph) check(r *repo, k *checkRun) graphCheck {
	state := "COMPLETED"
	if k.spec.Conclusion == "" {
		state = "IN_PROGRESS"
	}
	return graphCheck{
		ID: nodeID("CR", k.id), DatabaseID: k.id, Name: k.spec.Name, Status: state,
		Conclusion: orNull(strings.ToUpper(k.spec.Conclusion)), DetailsURL: orNull(k.spec.DetailsURL),
		StartedAt: stamp(k.started), CompletedAt: stamp(k.completed), Title: orNull(k.spec.Title),
		Summary: orNull(k.spec.Summary), Text: orNull(k.spec.Text), IsRequired: isRequired(r, k.spec.Name),
	}
}

type graphStatus struct {
	ID          string           `graphql:"id"`
	Context     string           `graphql:"context"`
	State       string           `graphql:"state"`
	Description any              `graphql:"description"`
	TargetURL   any              `graphql:"targetUrl"`
	CreatedAt   any              `graphql:"createdAt"`
	Creator     graphql.Object   `graphql:"creator"`
	IsRequired  graphql.Resolver `graphql:"isRequired"`
}

func (graphStatus) TypeName() string { return "StatusContext" }

func (g graph) status(r *repo, t *status) graphStatus {
	return graphStatus{
		ID: nodeID("SC", t.id), Context: t.context, State: strings.ToUpper(t.state), Description: orNull(t.desc),
		TargetURL: orNull(t.target), CreatedAt: stamp(t.at), Creator: g.actor(t.creator), IsRequired: isRequired(r, t.context),
	}
}

// isRequired needs the pull request it is asked for.
func isRequired(r *repo, name string) graphql.Resolver {
	return func(a graphql.Args) any {
		if !a.Has("pullRequestNumber") && !a.Has("pullRequestId") {
			return &graphql.Fault{Kind: "UNPROCESSABLE", Message: "Either a pull request ID or number must be provided."}
		}
		return r.required[name]
	}
}

type graphReadyPayload struct {
	ClientMutationID any            `graphql:"clientMutationId"`
	PullRequest      graphql.Object `graphql:"pullRequest"`
}

func (graphReadyPayload) TypeName() string { return "MarkPullRequestReadyForReviewPayload" }

func (g graph) markPullReady(in graphql.Args) any {
	kind, id := parseNodeID(in.Text("pullRequestId"))
	for _, r := range g.repos {
		i := r.byID(kind, id)
		if i == nil || i.pull == nil || !g.sees(r) {
			continue
		}
		g.call.repo = r
		if g.call.actor != i.author && !g.can(Write, "pull_requests") {
			return &graphql.Fault{
				Kind:    "FORBIDDEN",
				Message: fmt.Sprintf("%s does not have the correct permissions to execute `MarkPullRequestReadyForReview`", g.call.actor.login),
			}
		}
		if i.state != "open" {
			return &graphql.Fault{Kind: "UNPROCESSABLE", Message: "Pull request is closed."}
		}
		g.markReady(i, g.call.actor)
		return graphReadyPayload{ClientMutationID: orNull(in.Text("clientMutationId")), PullRequest: g.issue(i)}
	}
	return noNode(in.Text("pullRequestId"))
}
