package fakehub

import (
	_ "embed"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/ghsync/fakehub/graphql"
)

// schemaText is the part of GitHub's schema that the fake serves.
//
//go:embed schema.graphql
var schemaText string

var schema = sync.OnceValue(func() *graphql.Schema {
	s, err := graphql.Parse(schemaText)
	if err != nil {
		panic("fakehub: " + err.Error())
	}
	return s
})

// graph answers one GraphQL request. What its methods return are the types of the schema.
type graph struct{ *call }

func postGraphQL(c *call) reply {
	c.write = ""
	if c.opt.NoGraphQL {
		return notFound()
	}
	if c.actor == nil {
		return fail(http.StatusUnauthorized, "This endpoint requires you to be authenticated.")
	}
	var in graphql.Request
	if out := c.decode(&in); out != nil {
		return *out
	}
	g := graph{c}
	c.operation = in.OperationName
	out := schema().Execute(in, graphql.Roots{Query: g.query(), Mutation: g.mutation()})
	if len(out.Errors) > 0 {
		c.write = ""
	}
	return ok(out)
}

type queryRoot struct {
	Viewer     graphql.Resolver `graphql:"viewer"`
	Repository graphql.Resolver `graphql:"repository"`
	Node       graphql.Resolver `graphql:"node"`
	RateLimit  graphql.Resolver `graphql:"rateLimit"`
}

func (queryRoot) TypeName() string { return "Query" }

func (g graph) query() queryRoot {
	return queryRoot{
		Viewer:     func(graphql.Args) any { return g.viewer() },
		Repository: func(a graphql.Args) any { return g.repository(a.Text("owner"), a.Text("name")) },
		Node:       func(a graphql.Args) any { return g.node(a.Text("id")) },
		RateLimit:  func(graphql.Args) any { return g.rateLimit() },
	}
}

type mutationRoot struct {
	MarkReady   graphql.Resolver `graphql:"markPullRequestReadyForReview"`
	AddReaction graphql.Resolver `graphql:"addReaction"`
}

func (mutationRoot) TypeName() string { return "Mutation" }

// mutation logs a change that happens by its name.
func (g graph) mutation() mutationRoot {
	logged := func(name string, change func(graphql.Args) any) graphql.Resolver {
		return func(a graphql.Args) any {
			g.write = "mutation " + name
			return change(a.Input("input"))
		}
	}
	return mutationRoot{MarkReady: logged("markPullRequestReadyForReview", g.markPullReady), AddReaction: logged("addReaction", g.addReaction)}
}

type graphRateLimit struct {
	Limit     int `graphql:"limit"`
	Used      int `graphql:"used"`
	Remaining int `graphql:"remaining"`
	ResetAt   any `graphql:"resetAt"`
	Cost      int `graphql:"cost"`
	NodeCount int `graphql:"nodeCount"`
}

func (graphRateLimit) TypeName() string { return "RateLimit" }

func (g graph) rateLimit() graphRateLimit {
	b := meter(g).bucket("graphql")
	return graphRateLimit{Limit: b.max, Used: b.used, Remaining: b.max - b.used, ResetAt: stamp(b.reset), Cost: 1, NodeCount: 1}
}

// graphActor is a Bot or a Mannequin, whose login has no [bot] here.
type graphActor struct {
	typ        string
	ID         string `graphql:"id"`
	DatabaseID int64  `graphql:"databaseId"`
	Login      string `graphql:"login"`
	URL        string `graphql:"url"`
}

func (a graphActor) TypeName() string { return a.typ }

// graphAccount is a User or an Organization.
type graphAccount struct {
	graphActor
	Name any `graphql:"name"`
}

// actor is nil for a deleted account.
func (g graph) actor(u *user) graphql.Object {
	if u == nil || u.deleted {
		return nil
	}
	login := strings.TrimSuffix(u.login, "[bot]")
	a := graphActor{typ: u.kind, ID: nodeID("U", u.id), DatabaseID: u.id, Login: login, URL: g.URL() + "/" + login}
	if u.kind == "User" || u.kind == "Organization" {
		return graphAccount{graphActor: a, Name: orNull(u.name)}
	}
	return a
}

// viewer is a User whatever the token is of, and a bot's login keeps its [bot].
func (g graph) viewer() graphql.Object {
	u := g.call.actor
	a := graphActor{typ: "User", ID: nodeID("U", u.id), DatabaseID: u.id, Login: u.login, URL: g.URL() + "/" + strings.TrimSuffix(u.login, "[bot]")}
	return graphAccount{graphActor: a, Name: orNull(u.name)}
}

// node finds what a global id names.
func (g graph) node(text string) any {
	kind, id := parseNodeID(text)
	for _, r := range g.repos {
		if !g.sees(r) {
			continue
		}
		if kind == "R" && r.id == id {
			return g.repo(r)
		}
		if i := r.byID(kind, id); i != nil {
			return g.issue(i)
		}
	}
	return noNode(text)
}

func noNode(id string) error {
	return &graphql.Fault{Kind: "NOT_FOUND", Message: fmt.Sprintf("Could not resolve to a node with the global id of '%s'.", id)}
}

func (r *repo) byID(kind string, id int64) *issue {
	for _, i := range r.issues {
		if i.id == id && i.kind() == kind && !i.deleted {
			return i
		}
	}
	return nil
}
