package fakehub_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

const gate = `
query Gate($owner: String!, $name: String!, $number: Int!, $after: String) {
  rateLimit { remaining }
  repository(owner: $owner, name: $name) {
    databaseId nameWithOwner isPrivate isFork isArchived defaultBranchRef { name }
    issue(number: $number) {
      id title body state locked lastEditedAt
      editor { login __typename ... on User { databaseId } }
      author { ...who }
      labels(first: 100) { nodes { name } }
      timelineItems(last: 100, itemTypes: [LABELED_EVENT, UNLABELED_EVENT, RENAMED_TITLE_EVENT]) {
        nodes {
          __typename
          ... on LabeledEvent { createdAt actor { ...who } label { name } }
          ... on UnlabeledEvent { createdAt label { name } }
          ... on RenamedTitleEvent { actor { ...who } previousTitle currentTitle }
        }
      }
      comments(first: 2, after: $after) {
        totalCount pageInfo { hasNextPage endCursor }
        nodes { fullDatabaseId body isMinimized lastEditedAt authorAssociation author { ...who } }
      }
    }
  }
}
fragment who on Actor { __typename login ... on User { databaseId } ... on Bot { databaseId } }
`

func gateVariables(number int) map[string]any {
	return map[string]any{"owner": "octo", "name": "widgets", "number": number}
}

func TestGateQueryTellsWhoLabelled(t *testing.T) {
	s := world(t)
	s.AddUser(fakehub.UserSpec{Login: "helper[bot]", Type: "Bot"})
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "old", Body: "b", Author: "read"})
	r.Label(n, "agentmux", "helper[bot]")
	r.Unlabel(n, "agentmux", "write")
	r.Label(n, "agentmux", "write")
	title, body := "new", "b2"
	r.EditIssue(n, "triage", &title, &body)
	for i := range 3 {
		r.Comment(n, fmt.Sprint("c", i), "read")
	}
	got := as(t, s, "write").query(s.GraphQL(), gate, gateVariables(n))
	if got.get("errors") != nil {
		t.Fatal(got.raw)
	}
	const issue = "data.repository.issue."
	equal(t, "bot", got.str(issue+"timelineItems.nodes.0.actor.login"), "helper")
	equal(t, "bot type", got.str(issue+"timelineItems.nodes.0.actor.__typename"), "Bot")
	equal(t, "last label by", got.num(issue+"timelineItems.nodes.2.actor.databaseId"), s.UserID("write"))
	equal(t, "renamed", got.str(issue+"timelineItems.nodes.3.currentTitle"), "new")
	equal(t, "editor", got.str(issue+"editor.login"), "triage")
	equal(t, "association", got.str(issue+"comments.nodes.0.authorAssociation"), "COLLABORATOR")
	equal(t, "total", got.num(issue+"comments.totalCount"), int64(3))
	equal(t, "more", got.get(issue+"comments.pageInfo.hasNextPage"), any(true))

	vars := gateVariables(n)
	vars["after"] = got.str(issue + "comments.pageInfo.endCursor")
	next := as(t, s, "write").query(s.GraphQL(), gate, vars)
	equal(t, "second page", next.str(issue+"comments.nodes.0.body"), "c2")

	s.DeleteUser("write")
	orphaned := as(t, s, "admin").query(s.GraphQL(), gate, gateVariables(n))
	equal(t, "actor of a deleted account", orphaned.get(issue+"timelineItems.nodes.2.actor"), any(nil))
}

func TestGraphQLRefusesWhatTheSchemaDoesNotHave(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	r.Label(n, "a", "write")
	c := as(t, s, "write")
	issue := func(fields string) string {
		return `query Q($number: Int!) { repository(owner: "octo", name: "widgets") { issue(number: $number) { ` + fields + ` } } }`
	}
	for name, q := range map[string]struct{ text, want string }{
		"field of another type":          {issue("nope"), "Field 'nope' doesn't exist on type 'Issue'"},
		"field of an interface":          {issue("author { databaseId }"), "Field 'databaseId' doesn't exist on type 'Actor'"},
		"field of a union":               {issue("timelineItems(first: 1) { nodes { createdAt } }"), "Field 'createdAt' doesn't exist on type 'IssueTimelineItems'"},
		"list without bound":             {issue("comments { totalCount }"), "You must provide a `first` or `last`"},
		"list over the bound":            {issue("comments(first: 101) { totalCount }"), "exceeds the `first` limit of 100"},
		"object without braces":          {issue("author"), "must have selections"},
		"braces on a scalar":             {issue("title { x }"), "Selections can't be made on scalars"},
		"variable that is not declared":  {issue("comments(first: $n) { totalCount }"), "not declared"},
		"variable that is not used":      {`query Q($number: Int!, $x: Int) { viewer { login } node(id: "x") { id } rateLimit { cost } }`, "not used"},
		"argument of another field":      {issue("labels(first: 1, since: 2) { totalCount }"), "doesn't accept argument 'since'"},
		"fragment that is not used":      {issue("title") + " fragment X on Issue { title }", "Fragment X was defined, but not used"},
		"cursor of nothing":              {issue(`comments(first: 1, after: "x") { totalCount }`), "does not appear to be a valid cursor"},
		"brace missing":                  {`query { viewer { login `, "Parse error"},
		"repository that is not visible": {`query { repository(owner: "octo", name: "none") { id } }`, "Could not resolve to a Repository with the name 'octo/none'."},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.query(s.GraphQL(), q.text, map[string]any{"number": n})
			if !strings.Contains(got.str("errors.0.message"), q.want) {
				t.Errorf("got %s, want %q", got.raw, q.want)
			}
		})
	}
}

func TestMarkReadyEndsTheDraft(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	r.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a.txt": "x"}})
	c := as(t, s, "write")
	id := c.want(201, "POST", "/repos/octo/widgets/pulls", pullBody("fix", true)).str("node_id")
	const ready = `mutation MarkReady($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft number } } }`
	vars := map[string]any{"id": id}
	denied := as(t, s, "triage").query(s.GraphQL(), ready, vars)
	equal(t, "denied", denied.str("errors.0.type"), "FORBIDDEN")
	equal(t, "still a draft", r.Pulls()[0].Draft, true)
	got := c.query(s.GraphQL(), ready, vars)
	equal(t, "isDraft", got.get("data.markPullRequestReadyForReview.pullRequest.isDraft"), any(false))
	equal(t, "draft", r.Pulls()[0].Draft, false)
	log := s.Log()
	equal(t, "log", log[len(log)-1].Route, "mutation markPullRequestReadyForReview")
	equal(t, "writes", len(log), 2)
}

func TestRequiredChecksAreMarked(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	sha := r.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a.txt": "x"}})
	c := as(t, s, "write")
	n := c.want(201, "POST", "/repos/octo/widgets/pulls", pullBody("fix", true)).num("number")
	const checks = `query RequiredChecks($number: Int!) { repository(owner: "octo", name: "widgets") { pullRequest(number: $number) {
		headRefOid commits(last: 1) { nodes { commit { oid statusCheckRollup { state contexts(first: 50) { nodes {
		__typename
		... on CheckRun { name conclusion isRequired(pullRequestNumber: $number) }
		... on StatusContext { context state isRequired(pullRequestNumber: $number) }
	} } } } } } } } }`
	vars := map[string]any{"number": n}
	const commit = "data.repository.pullRequest.commits.nodes.0.commit."
	empty := c.query(s.GraphQL(), checks, vars)
	equal(t, "no rollup", empty.get(commit+"statusCheckRollup"), any(nil))
	equal(t, "oid", empty.str(commit+"oid"), sha)
	r.AddCheck(sha, fakehub.CheckSpec{Name: "build", Conclusion: "failure"})
	r.AddStatus(sha, "lint", "success", "admin")
	r.Require("build")
	got := c.query(s.GraphQL(), checks, vars)
	const nodes = commit + "statusCheckRollup.contexts.nodes."
	equal(t, "state", got.str(commit+"statusCheckRollup.state"), "FAILURE")
	equal(t, "build required", got.get(nodes+"0.isRequired"), any(true))
	equal(t, "lint required", got.get(nodes+"1.isRequired"), any(false))
}

func TestViewerOfEachKindOfToken(t *testing.T) {
	s := world(t)
	const viewer = `query Viewer { viewer { login databaseId } }`
	equal(t, "person", as(t, s, "write").query(s.GraphQL(), viewer, nil).num("data.viewer.databaseId"), s.UserID("write"))
	c := as(t, s, "")
	c.want(401, "POST", s.GraphQL(), map[string]any{"query": viewer})
	c.token = s.ActionsToken(widgets, map[string]string{"issues": "write"}, 0)
	equal(t, "actions", c.query(s.GraphQL(), viewer, nil).str("data.viewer.login"), "github-actions[bot]")
	c.want(403, "GET", "/user", nil)
}

func TestServerWithoutGraphQL(t *testing.T) {
	s := world(t, func(o *fakehub.Options) { o.NoGraphQL = true; o.Enterprise = true })
	c := as(t, s, "write")
	c.want(404, "POST", s.GraphQL(), map[string]any{"query": "{viewer{login}}"})
	got := c.want(200, "GET", "/user", nil)
	equal(t, "path", strings.HasSuffix(s.API(), "/api/v3/"), true)
	equal(t, "rate header", got.header.Get("X-RateLimit-Remaining"), "")
	equal(t, "url", strings.HasPrefix(got.str("url"), s.API()), true)
}
