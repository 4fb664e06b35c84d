package fakehub

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/ghsync/fakehub/graphql"
)

type graphRepository struct {
	ID                 string           `graphql:"id"`
	DatabaseID         int64            `graphql:"databaseId"`
	Name               string           `graphql:"name"`
	NameWithOwner      string           `graphql:"nameWithOwner"`
	URL                string           `graphql:"url"`
	Owner              graphql.Object   `graphql:"owner"`
	IsPrivate          bool             `graphql:"isPrivate"`
	IsFork             bool             `graphql:"isFork"`
	IsArchived         bool             `graphql:"isArchived"`
	IsDisabled         bool             `graphql:"isDisabled"`
	IsLocked           bool             `graphql:"isLocked"`
	Visibility         string           `graphql:"visibility"`
	HasIssuesEnabled   bool             `graphql:"hasIssuesEnabled"`
	ViewerPermission   any              `graphql:"viewerPermission"`
	Parent             graphql.Resolver `graphql:"parent"`
	DefaultBranchRef   graphql.Object   `graphql:"defaultBranchRef"`
	Issue              graphql.Resolver `graphql:"issue"`
	PullRequest        graphql.Resolver `graphql:"pullRequest"`
	IssueOrPullRequest graphql.Resolver `graphql:"issueOrPullRequest"`
}

func (graphRepository) TypeName() string { return "Repository" }

type graphRef struct {
	Name   string      `graphql:"name"`
	Prefix string      `graphql:"prefix"`
	Target graphCommit `graphql:"target"`
}

func (graphRef) TypeName() string { return "Ref" }

// repository finds a repository by a name that it has or had.
func (g graph) repository(owner, name string) any {
	r := g.names[key(owner+"/"+name)]
	if r == nil || !g.sees(r) {
		return &graphql.Fault{Kind: "NOT_FOUND", Message: fmt.Sprintf("Could not resolve to a Repository with the name '%s/%s'.", owner, name)}
	}
	return g.repo(r)
}

func (g graph) repo(r *repo) graphRepository {
	visibility := "PUBLIC"
	if r.private {
		visibility = "PRIVATE"
	}
	out := graphRepository{
		ID: nodeID("R", r.id), DatabaseID: r.id, Name: r.name, NameWithOwner: r.fullName(), URL: g.URL() + "/" + r.fullName(),
		Owner: g.actor(r.owner), IsPrivate: r.private, IsFork: r.parent != nil, IsArchived: r.archived, IsDisabled: r.disabled,
		Visibility: visibility, HasIssuesEnabled: !r.noIssues, ViewerPermission: g.viewerPermission(r),
		Parent: func(graphql.Args) any {
			if r.parent == nil {
				return nil
			}
			return g.repo(r.parent)
		},
		Issue:              g.byNumber(r, "an Issue", func(i *issue) bool { return i.pull == nil }),
		PullRequest:        g.byNumber(r, "a PullRequest", func(i *issue) bool { return i.pull != nil }),
		IssueOrPullRequest: g.byNumber(r, "an issue or pull request", func(*issue) bool { return true }),
	}
	if sha := r.refs["refs/heads/"+r.defaultBranch]; sha != "" {
		out.DefaultBranchRef = graphRef{Name: r.defaultBranch, Prefix: "refs/heads/", Target: g.commit(r, sha)}
	}
	return out
}

// byNumber makes a field that finds an issue or pull request of a repository.
func (g graph) byNumber(r *repo, kind string, fits func(*issue) bool) graphql.Resolver {
	return func(a graphql.Args) any {
		number := a.Number("number")
		i := r.issues[number]
		if i == nil || i.deleted || i.movedTo != nil || !fits(i) || g.tooYoung(i.created) {
			return &graphql.Fault{Kind: "NOT_FOUND", Message: fmt.Sprintf("Could not resolve to %s with the number of %d.", kind, number)}
		}
		return g.issue(i)
	}
}

// viewerPermission is null for an app.
func (g graph) viewerPermission(r *repo) any {
	role := g.roleOf(g.call.actor, r)
	switch {
	case g.token.perms != nil && !g.token.personal:
		return nil
	case role == None && r.private:
		return nil
	case role == None:
		return "READ"
	}
	return strings.ToUpper(string(role.base()))
}
