package fakehub

import "slices"

// signed is written in place of a permission for routes that take an app's signed claim.
const signed = "signed"

// routes is the table of resources; of two that fit, the first counts.
func routes() []route {
	return slices.Concat(plainRoutes(), issueRoutes(), labelRoutes(), pullRoutes(), commitRoutes())
}

// inRepo starts the pattern of everything in a repository.
const inRepo = "/repos/{owner}/{repo}"

func plainRoutes() []route {
	const r = inRepo
	return []route{
		{"GET", "/meta", None, "", getMeta, 0},
		{"GET", "/rate_limit", None, "", getRateLimit, 0},
		{"GET", "/user", None, "", getViewer, 0},
		{"GET", "/users/{login}", None, "", getUser, 0},
		{"GET", "/user/repos", None, "", listRepos, 0},
		{"GET", "/orgs/{org}/repos", None, "", listRepos, 0},
		{"POST", "/graphql", None, "", postGraphQL, 0},
		{"GET", "/search/issues", None, "", searchIssues, 0},
		{"GET", "/logs/{rid}/{id}", None, "", getLog, 0},

		{"GET", "/app", None, signed, getApp, 0},
		{"GET", "/app/installations", None, signed, listInstallations, 0},
		{"GET", "/app/installations/{id}", None, signed, func(c *call) reply { return installation(c, named(c)) }, 0},
		{"POST", "/app/installations/{id}/access_tokens", None, signed, mint, 0},
		{"GET", "/orgs/{org}/installation", None, signed, getOwnerInstallation, 0},
		{"GET", "/repos/{o}/{r}/installation", None, signed, getRepoInstallation, 0},
		{"GET", "/installation/repositories", None, "", listInstallationRepos, 0},

		{"GET", r, Read, "metadata", getRepo, 0},
		{"GET", r + "/collaborators/{login}/permission", Write, "metadata", getPermission, 0},
		{"GET", r + "/branches/{branch...}", Read, "contents", getBranch, 0},
		{"GET", r + "/git/ref/{ref...}", Read, "contents", getRef, 0},
		{"GET", r + "/compare/{range...}", Read, "contents", getCompare, 0},
		{"GET", r + "/contents/{path...}", Read, "contents", getContents, 0},
	}
}

func issueRoutes() []route {
	const r = inRepo
	return []route{
		{"GET", r + "/issues/comments", Read, "issues", listRepoComments, 0},
		{"GET", r + "/issues/comments/{id}", Read, "issues", getComment, 0},
		{"PATCH", r + "/issues/comments/{id}", Read, "issues", patchComment, 0.5},
		{"DELETE", r + "/issues/comments/{id}", Read, "issues", deleteComment, 0},
		{"GET", r + "/issues/comments/{id}/reactions", Read, "issues", listReactions, 0},
		{"POST", r + "/issues/comments/{id}/reactions", Read, "issues", postReaction, 1},
		{"DELETE", r + "/issues/comments/{id}/reactions/{rid}", Read, "issues", deleteReaction, 0},

		{"GET", r + "/issues", Read, "issues", listIssues, 0},
		{"POST", r + "/issues", Read, "issues", postIssue, 1},
		{"GET", r + "/issues/{number}", Read, "issues", getIssue, 0},
		{"PATCH", r + "/issues/{number}", Read, "issues", patchIssue, 0.5},
		{"GET", r + "/issues/{number}/comments", Read, "issues", listComments, 0},
		{"POST", r + "/issues/{number}/comments", Read, "issues", postComment, 1},
		{"GET", r + "/issues/{number}/timeline", Read, "issues", listTimeline, 0},
		{"GET", r + "/issues/{number}/events", Read, "issues", listEvents, 0},
		{"GET", r + "/issues/{number}/reactions", Read, "issues", listReactions, 0},
		{"POST", r + "/issues/{number}/reactions", Read, "issues", postReaction, 1},
		{"DELETE", r + "/issues/{number}/reactions/{rid}", Read, "issues", deleteReaction, 0},
		{"GET", r + "/issues/{number}/labels", Read, "issues", listIssueLabels, 0},
		{"POST", r + "/issues/{number}/labels", Triage, "issues", addIssueLabels, 0},
		{"PUT", r + "/issues/{number}/labels", Triage, "issues", setIssueLabels, 0},
		{"DELETE", r + "/issues/{number}/labels", Triage, "issues", clearIssueLabels, 0},
		{"DELETE", r + "/issues/{number}/labels/{name}", Triage, "issues", removeIssueLabel, 0},
		{"PUT", r + "/issues/{number}/lock", Write, "issues", lockIssue, 0},
		{"DELETE", r + "/issues/{number}/lock", Write, "issues", unlockIssue, 0},
	}
}

func labelRoutes() []route {
	const r = inRepo
	return []route{
		{"GET", r + "/labels", Read, "issues", listLabels, 0},
		{"POST", r + "/labels", Write, "issues", postLabel, 0},
		{"GET", r + "/labels/{name}", Read, "issues", getLabel, 0},
		{"PATCH", r + "/labels/{name}", Write, "issues", patchLabel, 0},
		{"DELETE", r + "/labels/{name}", Write, "issues", deleteLabel, 0},
	}
}

func pullRoutes() []route {
	const r = inRepo
	return []route{
		{"GET", r + "/pulls", Read, "pull_requests", listPulls, 0},
		{"POST", r + "/pulls", Read, "pull_requests", postPull, 1},
		{"GET", r + "/pulls/{number}", Read, "pull_requests", getPull, 0},
		{"PATCH", r + "/pulls/{number}", Read, "pull_requests", patchPull, 0.5},
		{"GET", r + "/pulls/{number}/merge", Read, "pull_requests", getMerged, 0},
		{"GET", r + "/pulls/{number}/reviews", Read, "pull_requests", listReviews, 0},
		{"GET", r + "/pulls/{number}/reviews/{id}/comments", Read, "pull_requests", listInline, 0},
		{"POST", r + "/pulls/{number}/reviews", Read, "pull_requests", postReview, 1},
		{"GET", r + "/pulls/{number}/requested_reviewers", Read, "pull_requests", listRequested, 0},
		{"POST", r + "/pulls/{number}/requested_reviewers", Triage, "pull_requests", postRequested, 1},
		{"DELETE", r + "/pulls/{number}/requested_reviewers", Triage, "pull_requests", deleteRequested, 0},
	}
}

func commitRoutes() []route {
	const r = inRepo
	return []route{
		{"POST", r + "/statuses/{sha}", Write, "statuses", postStatus, 0},
		{"GET", r + "/commits/{sha}/statuses", Read, "statuses", listStatuses, 0},
		{"GET", r + "/commits/{sha}/status", Read, "statuses", combinedStatus, 0},
		{"GET", r + "/commits/{sha}/check-runs", Read, "checks", listChecks, 0},
		{"GET", r + "/check-runs/{id}", Read, "checks", getCheck, 0},
		{"GET", r + "/check-runs/{id}/annotations", Read, "checks", listAnnotations, 0},
		{"GET", r + "/commits/{sha...}", Read, "contents", getCommit, 0},

		{"GET", r + "/actions/workflows", Read, "actions", listWorkflows, 0},
		{"GET", r + "/actions/runs", Read, "actions", listRuns, 0},
		{"GET", r + "/actions/runs/{id}", Read, "actions", getRun, 0},
		{"GET", r + "/actions/permissions/workflow", Admin, "administration", getWorkflowPermission, 0},

		{"GET", r + "/actions/jobs/{id}/logs", Read, "actions", getJobLogs, 0},
		{"POST", r + "/actions/workflows/{workflow}/dispatches", Write, "actions", postDispatch, 0},
		{"GET", r + "/rules/branches/{branch...}", Read, "metadata", listRules, 0},
		{"GET", r + "/hooks", Admin, "repository_hooks", listHooks, 0},
		{"GET", r + "/hooks/{id}/deliveries", Admin, "repository_hooks", listDeliveries, 0},
	}
}
