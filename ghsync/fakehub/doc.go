// Package fakehub is a stateful stand-in for GitHub: an HTTP server that keeps
// repositories, issues, comments, labels, pull requests, statuses and checks in
// memory and answers the REST and GraphQL calls of a client with GitHub's own shapes,
// status codes, headers and error bodies. Git data are real: each repository is a bare
// repository behind `git http-backend`, so clones and pushes are real ones too.
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
// # Addresses
//
// The REST interface answers at the root and below /api/v3, GraphQL at /graphql and
// /api/graphql, git at /<owner>/<repo>.git for the user x-access-token (any name is
// taken) with a token as password. A repository can be named by /repositories/<id>
// in every route as well.
//
// # GraphQL
//
// Queries are parsed and answered field by field, with aliases, variables, fragments
// and connections (first/last, after/before, pageInfo, totalCount, nodes, edges). A
// field that is not listed here is an error, as an unknown field is on GitHub. The
// documents a client is expected to send carry these operation names:
//
//	Viewer         viewer{login databaseId}
//	Gate           repository(owner,name){... issue(number){... timelineItems comments}}
//	Comments       repository{issue(number){comments(first,after)}}, or node(id){... on Issue}
//	RequiredChecks repository{pullRequest(number){headRefOid commits(last:1){nodes{commit{
//	               statusCheckRollup{state contexts(first,after){nodes{...}}}}}}}}
//	MarkReady      markPullRequestReadyForReview(input:{pullRequestId}){pullRequest{...}}
//
// Fields by type:
//
//	Query           viewer rateLimit repository(owner,name) node(id)
//	Actor types     (User, Bot, Mannequin, Organization) id databaseId login url, User: name
//	Repository      id databaseId name nameWithOwner url owner isPrivate isFork isArchived
//	                isDisabled isLocked visibility hasIssuesEnabled viewerPermission parent
//	                defaultBranchRef{name target{oid}} issue pullRequest issueOrPullRequest
//	Issue           id databaseId fullDatabaseId number title body state stateReason locked
//	                activeLockReason url createdAt updatedAt closedAt lastEditedAt editor author
//	                authorAssociation repository labels comments timelineItems userContentEdits
//	PullRequest     those of Issue, and isDraft merged mergedAt headRefName headRefOid
//	                baseRefName baseRefOid headRepository mergeable commits statusCheckRollup
//	IssueComment    id databaseId fullDatabaseId body url author authorAssociation createdAt
//	                updatedAt lastEditedAt editor isMinimized minimizedReason
//	timelineItems   (first,last,after,before,since,itemTypes) LabeledEvent, UnlabeledEvent:
//	                id createdAt actor label; RenamedTitleEvent: id createdAt actor
//	                previousTitle currentTitle; ClosedEvent, ReopenedEvent: id createdAt actor;
//	                IssueComment
//	UserContentEdit id createdAt editedAt editor diff
//	Commit          oid id statusCheckRollup{id state contexts commit}
//	contexts        CheckRun: id databaseId name status conclusion detailsUrl startedAt
//	                completedAt title summary text isRequired(pullRequestNumber);
//	                StatusContext: id context state description targetUrl createdAt creator
//	                isRequired
//	RateLimit       limit remaining used resetAt cost nodeCount
//
// With Options.NoGraphQL both addresses answer 404.
package fakehub
