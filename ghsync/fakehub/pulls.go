package fakehub

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (v viewer) pullJSON(i *issue) any {
	p := i.pull
	api := v.url("repos", i.repo.fullName(), "pulls", i.number)
	body := obj{
		"id": i.id, "node_id": nodeID("PR", i.id), "number": i.number, "title": i.title, "body": orNull(i.body),
		"state": i.state, "locked": i.locked, "draft": p.draft, "user": v.userJSON(i.author), "labels": v.labelsJSON(i),
		"created_at": stamp(i.created), "updated_at": stamp(i.updated), "closed_at": stamp(i.closed),
		"merged_at": stamp(p.mergedAt), "merge_commit_sha": orNull(p.mergeSHA), "assignee": nil, "assignees": []any{},
		"requested_reviewers": v.usersJSON(p.requested), "requested_teams": []any{}, "milestone": nil,
		"head":               v.endJSON(p.headRepo, p.headBranch, p.head()),
		"base":               v.endJSON(i.repo, p.base, i.repo.refs["refs/heads/"+p.base]),
		"author_association": v.association(i.author, i.repo), "active_lock_reason": nil, "auto_merge": nil,
		"url": api, "html_url": i.htmlURL(v.URL()), "issue_url": v.url("repos", i.repo.fullName(), "issues", i.number),
		"comments_url": v.url("repos", i.repo.fullName(), "issues", i.number, "comments"),
		"diff_url":     i.htmlURL(v.URL()) + ".diff", "patch_url": i.htmlURL(v.URL()) + ".patch", "commits_url": api + "/commits",
		"statuses_url": v.url("repos", i.repo.fullName(), "statuses", p.head()),
	}
	return body
}

// fullPullJSON adds what only the answer for one pull request has.
func (v viewer) fullPullJSON(i *issue) obj {
	body := v.pullJSON(i).(obj)
	base := i.repo.resolve(i.pull.base)
	body["merged"], body["merged_by"] = i.pull.merged, v.userJSON(i.pull.mergedBy)
	body["comments"], body["review_comments"] = len(i.comments), 0
	body["commits"] = i.repo.countCommits(base, i.pull.head())
	body["mergeable"], body["mergeable_state"], body["rebaseable"] = true, "clean", true
	body["maintainer_can_modify"] = i.pull.maintainerMayWrite
	body["additions"], body["deletions"], body["changed_files"] = 0, 0, 0
	return body
}

func (v viewer) endJSON(r *repo, branch, sha string) obj {
	return obj{
		"label": r.owner.login + ":" + branch, "ref": branch, "sha": sha, "user": v.userJSON(r.owner), "repo": v.repoJSON(r),
	}
}

// findPull returns the pull request of the route.
func (c *call) findPull() (*issue, *reply) {
	i := c.repo.issues[int(c.param("number"))]
	if i == nil || i.pull == nil || c.tooYoung(i.created) {
		out := notFound()
		return nil, &out
	}
	return i, nil
}

func getPull(c *call) reply {
	i, out := c.findPull()
	if out != nil {
		return *out
	}
	return ok(c.fullPullJSON(i))
}

func getMerged(c *call) reply {
	i, out := c.findPull()
	if out != nil {
		return *out
	}
	if !i.pull.merged {
		return notFound()
	}
	return noContent()
}

// pullRequest is the body of the request that opens one.
type pullRequest struct {
	Title, Body, Head, Base string
	HeadRepo                string `json:"head_repo"`
	Draft                   bool
	MaintainerCanModify     *bool `json:"maintainer_can_modify"`
}

func postPull(c *call) reply {
	var in pullRequest
	if out := c.decode(&in); out != nil {
		return *out
	}
	headRepo, branch := c.headOf(in)
	if out := c.checkPull(in, headRepo, branch); out != nil {
		return *out
	}
	i := c.newIssue(c.repo, c.actor, in.Title, in.Body)
	i.pull = &pull{headRepo: headRepo, headBranch: branch, base: in.Base, draft: in.Draft, maintainerMayWrite: true}
	i.pull.head()
	c.emitPull("opened", i, c.actor)
	return created(c.fullPullJSON(i))
}

// headOf finds the repository of "branch" or "owner:branch".
func (c *call) headOf(in pullRequest) (*repo, string) {
	owner, branch, has := strings.Cut(in.Head, ":")
	if !has {
		return c.repo, in.Head
	}
	if key(owner) == key(c.repo.owner.login) {
		return c.repo, branch
	}
	for _, r := range c.repos {
		if r.parent == c.repo && key(r.owner.login) == key(owner) {
			return r, branch
		}
	}
	return nil, branch
}

// checkPull refuses as GitHub does, in its order.
func (c *call) checkPull(in pullRequest, headRepo *repo, branch string) *reply {
	refuse := func(out reply) *reply { return &out }
	switch {
	case c.token.actions && !c.repo.actionsMayPR:
		return refuse(fail(http.StatusForbidden, "GitHub Actions is not permitted to create or approve pull requests."))
	case headRepo == c.repo && !c.can(Write, "pull_requests"):
		return refuse(fail(http.StatusForbidden, "Resource not accessible by personal access token"))
	case in.Title == "":
		return refuse(missing("PullRequest", "title"))
	case in.Head == "":
		return refuse(missing("PullRequest", "head"))
	case in.Base == "":
		return refuse(missing("PullRequest", "base"))
	case headRepo == nil || headRepo.refs["refs/heads/"+branch] == "":
		return refuse(invalid(fieldError{Resource: "PullRequest", Field: "head", Code: "invalid"}))
	case c.repo.refs["refs/heads/"+in.Base] == "":
		return refuse(invalid(fieldError{Resource: "PullRequest", Field: "base", Code: "invalid"}))
	case tooLong(in.Body, maxText):
		return refuse(invalid(fieldError{Resource: "PullRequest", Code: "custom", Field: "body", Message: "body is too long (maximum is 65536 characters)"}))
	case tooLong(in.Title, maxTitle):
		return refuse(invalid(fieldError{Resource: "PullRequest", Code: "custom", Field: "title", Message: "title is too long (maximum is 256 characters)"}))
	case c.repo.noDrafts && in.Draft:
		out := fail(http.StatusUnprocessableEntity, "Draft pull requests are not supported in this repository.")
		return refuse(out)
	case c.openPull(headRepo, branch, in.Base) != nil:
		return refuse(custom("PullRequest", "A pull request already exists for "+headRepo.owner.login+":"+branch+"."))
	}
	base, head := c.repo.refs["refs/heads/"+in.Base], headRepo.refs["refs/heads/"+branch]
	if headRepo == c.repo && c.repo.countCommits(base, head) == 0 {
		return refuse(custom("PullRequest", "No commits between "+in.Base+" and "+branch))
	}
	return nil
}

func (c *call) openPull(headRepo *repo, branch, base string) *issue {
	for _, i := range c.repo.issues {
		if i.pull != nil && i.state == "open" && i.pull.headRepo == headRepo && i.pull.headBranch == branch && i.pull.base == base {
			return i
		}
	}
	return nil
}

// listPulls filters by state, head ("owner:branch") and base.
func listPulls(c *call) reply {
	state, head, base := c.query.Get("state"), c.query.Get("head"), c.query.Get("base")
	if state == "" {
		state = "open"
	}
	var list []*issue
	for _, i := range c.repo.issues {
		switch {
		case i.pull == nil || !c.lists(i.created):
		case state != "all" && i.state != state:
		case strings.Contains(head, ":") && key(head) != key(i.pull.headRepo.owner.login+":"+i.pull.headBranch):
		case base != "" && base != i.pull.base:
		default:
			list = append(list, i)
		}
	}
	c.order(list)
	return page(c, list, c.pullJSON)
}

// patchPull changes title, body, state and base. A "draft" in the body is ignored, as
// GitHub does.
func patchPull(c *call) reply {
	i, out := c.findPull()
	if out != nil {
		return *out
	}
	var in struct{ Title, Body, State, Base *string }
	if out := c.decode(&in); out != nil {
		return *out
	}
	if c.actor != i.author && !c.can(Write, "pull_requests") {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	if in.Body != nil && tooLong(*in.Body, maxText) {
		return bodyTooLong("PullRequest")
	}
	if in.Base != nil && c.repo.refs["refs/heads/"+*in.Base] == "" {
		return invalid(fieldError{Resource: "PullRequest", Field: "base", Code: "invalid"})
	}
	c.edit(i, c.actor, in.Title, in.Body)
	if in.Base != nil {
		i.pull.base = *in.Base
	}
	if in.State != nil {
		if *in.State == "open" && (i.pull.merged || i.pull.headRepo.refs["refs/heads/"+i.pull.headBranch] == "") {
			return custom("PullRequest", "state cannot be changed. The "+i.pull.headBranch+" branch has been deleted.")
		}
		c.setState(i, c.actor, *in.State, "")
	}
	return ok(c.fullPullJSON(i))
}

// markReady ends the draft.
func (h *hub) markReady(i *issue, by *user) {
	if !i.pull.draft {
		return
	}
	i.pull.draft = false
	h.addEvent(i, event{kind: "ready_for_review", actor: by})
	h.emitPull("ready_for_review", i, by)
}

// merge joins the head into the base with a merge commit made by git.
func (h *hub) merge(i *issue, by *user) error {
	r, p := i.repo, i.pull
	base := "refs/heads/" + p.base
	tree, err := r.git.Run("merge-tree", "--write-tree", r.refs[base], p.head())
	if err != nil {
		return err
	}
	sha, err := r.git.Run("-c", "user.name=GitHub", "-c", "user.email=noreply@github.com",
		"commit-tree", "-m", "Merge pull request #"+itoa(i.number), "-p", r.refs[base], "-p", p.head(), tree)
	if err != nil {
		return err
	}
	if _, err := r.git.Run("update-ref", base, sha, r.refs[base]); err != nil {
		return err
	}
	p.merged, p.mergedAt, p.mergedBy, p.mergeSHA = true, h.now(), by, sha
	i.state, i.closed = "closed", h.now()
	h.addEvent(i, event{kind: "merged", actor: by})
	h.addEvent(i, event{kind: "closed", actor: by})
	h.emitPull("closed", i, by)
	if p.base == r.defaultBranch {
		for _, found := range closing.FindAllStringSubmatch(i.body, -1) {
			number, err := strconv.Atoi(found[1])
			if linked := r.issues[number]; err == nil && linked != nil && linked.pull == nil {
				h.setState(linked, by, "closed", "")
			}
		}
	}
	return r.readRefs()
}

// closing are the words that let a merge into the default branch close an issue.
var closing = regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)\b`)

func (p *pull) isRequested(u *user) bool { return slices.Contains(p.requested, u) }
