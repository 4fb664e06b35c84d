// Package fakehub is a stateful stand-in for GitHub: an HTTP server that keeps
// repositories, issues, comments, labels, pull requests, statuses and checks in
// memory and answers the REST and GraphQL calls of a client with GitHub's own shapes,
// status codes, headers and error bodies. Git data are real: each repository is a bare
// repository that the services of git answer for, so clones and pushes are real ones too.
//
// # What it promises
//
// Every request is applied under one lock, so its log is a total order and Log is the
// authoritative list of the writes that took effect, whatever the client was told.
// Faults are injected on purpose only (see Fault), from a seed. Nothing is stored but
// in the root directory (Options.Root, else a temporary directory that Close removes).
//
// New needs no test; Serve runs the fake as a process of its own; Start is for tests
// and checks the invariants at their end. Methods that set up or read state (those of
// Server and Repo) panic when the test itself is wrong: an unknown login, repository
// or number.
//
// # Parts
//
// What GitHub holds is the hub: accounts and repositories, and what happens to them. A call is
// one request on its way; its viewer is who looks at the hub, which decides what an answer
// says. The Server keeps what tests ask for: the journal of what arrived, the faults to come
// and the audit of what a client of ours must not do. Below it, bare is the git side, hook
// sends deliveries, graphql answers documents and session reads the files of a session.
//
// # Addresses
//
// The REST interface answers at the root and below /api/v3, GraphQL at /graphql and
// /api/graphql, git at /<owner>/<repo>.git for the user x-access-token (any name is
// taken) with a token as password. A repository can be named by /repositories/<id>
// in every route as well.
//
// # GraphQL
//
// Queries are validated against schema.graphql, the part of GitHub's schema that the fake
// serves, and answered field by field by ghsync/fakehub/graphql. A field that the schema
// does not have is refused as GitHub refuses an unknown one, before anything is done. The
// documents a client is expected to send carry these operation names:
//
//	Viewer         viewer{login databaseId}
//	Gate           repository(owner,name){... issue(number){... timelineItems comments}}
//	Comments       repository{issue(number){comments(first,after)}}, or node(id){... on Issue}
//	RequiredChecks repository{pullRequest(number){headRefOid state createdAt commits(last:1){nodes{commit{
//	               statusCheckRollup{state contexts(first,after){nodes{...}}}}}}}}
//	MarkReady      markPullRequestReadyForReview(input:{pullRequestId}){pullRequest{...}}
//
// With Options.NoGraphQL both addresses answer 404.
package fakehub
