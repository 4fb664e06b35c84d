package fakehub_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

func TestRepositoryIsFoundByNameAndID(t *testing.T) {
	s := world(t)
	c := as(t, s, "write")
	byName := c.want(200, "GET", "/repos/Octo/Widgets", nil)
	equal(t, "full_name", byName.str("full_name"), widgets)
	equal(t, "default_branch", byName.str("default_branch"), "main")
	equal(t, "push", byName.get("permissions.push"), any(true))
	equal(t, "admin", byName.get("permissions.admin"), any(false))
	byID := c.want(200, "GET", fmt.Sprintf("/repositories/%d", byName.num("id")), nil)
	equal(t, "body by id", byID.raw, byName.raw)
	c.want(200, "GET", fmt.Sprintf("/repositories/%d/issues?state=all", byName.num("id")), nil)
	equal(t, "unknown", c.want(404, "GET", "/repos/octo/none", nil).str("message"), "Not Found")
}

func TestPrivateRepositoryIsInvisibleWithoutRole(t *testing.T) {
	s := world(t, func(o *fakehub.Options) { o.Repos[0].Private = true })
	as(t, s, "read").want(200, "GET", "/repos/octo/widgets", nil)
	as(t, s, "none").want(404, "GET", "/repos/octo/widgets", nil)
	as(t, s, "").want(404, "GET", "/repos/octo/widgets/issues", nil)
}

func TestWrongTokenIsRefused(t *testing.T) {
	s := world(t)
	c := as(t, s, "write")
	c.want(200, "GET", "/user", nil)
	s.Revoke(c.token)
	equal(t, "message", c.want(401, "GET", "/user", nil).str("message"), "Bad credentials")
	c.want(401, "GET", "/repos/octo/widgets", nil)
	as(t, s, "").want(401, "POST", "/repos/octo/widgets/issues", map[string]any{"title": "x"})
}

func TestPermissionEndpointTellsRolesApart(t *testing.T) {
	s := world(t)
	s.AddUser(fakehub.UserSpec{Login: "ops", Roles: map[string]fakehub.Role{widgets: "ci-ops:write"}})
	c := as(t, s, "write")
	for login, want := range map[string][2]string{
		"admin": {"admin", "admin"}, "maintain": {"write", "maintain"}, "write": {"write", "write"},
		"triage": {"read", "triage"}, "read": {"read", "read"}, "none": {"none", "none"}, "ops": {"write", "ci-ops"},
	} {
		got := c.want(200, "GET", "/repos/octo/widgets/collaborators/"+login+"/permission", nil)
		equal(t, login, [2]string{got.str("permission"), got.str("role_name")}, want)
	}
	got := c.want(200, "GET", "/repos/octo/widgets/collaborators/maintain/permission", nil)
	equal(t, "maintain flag", got.get("user.permissions.maintain"), any(true))
	equal(t, "admin flag", got.get("user.permissions.admin"), any(false))
	c.want(404, "GET", "/repos/octo/widgets/collaborators/nobody/permission", nil)
	as(t, s, "triage").want(403, "GET", "/repos/octo/widgets/collaborators/write/permission", nil)
}

func TestIssueLifeIsVisibleInItsTimeline(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "retry", Body: "please", Author: "read"})
	c := as(t, s, "write")
	path := fmt.Sprintf("/repos/octo/widgets/issues/%d", n)
	c.want(200, "POST", path+"/labels", map[string]any{"labels": []string{"agentmux", "agentmux:quick"}})
	c.want(200, "DELETE", path+"/labels/"+url.PathEscape("agentmux:quick"), nil)
	equal(t, "absent label", c.want(404, "DELETE", path+"/labels/none", nil).str("message"), "Label does not exist")
	c.want(200, "PATCH", path, map[string]any{"title": "retry!"})
	c.want(201, "POST", path+"/comments", map[string]any{"body": "hello"})
	closed := c.want(200, "PATCH", path, map[string]any{"state": "closed", "state_reason": "not_planned"})
	equal(t, "state_reason", closed.str("state_reason"), "not_planned")

	var got []string
	for i := range c.want(200, "GET", path+"/timeline", nil).list() {
		entry := c.want(200, "GET", path+"/timeline", nil)
		got = append(got, entry.str(fmt.Sprintf("%d.event", i))+" "+entry.str(fmt.Sprintf("%d.label.name", i))+entry.str(fmt.Sprintf("%d.rename.to", i)))
	}
	want := "labeled agentmux, labeled agentmux:quick, unlabeled agentmux:quick, renamed retry!, commented , closed "
	equal(t, "timeline", strings.Join(got, ", "), want)
	equal(t, "labels", strings.Join(r.Issue(n).Labels, " "), "agentmux")
}

func TestIssuesAreWrittenOnlyByThoseWhoMay(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	path := fmt.Sprintf("/repos/octo/widgets/issues/%d", n)
	label := map[string]any{"labels": []string{"known"}}
	r.AddLabel("known")
	as(t, s, "read").want(403, "POST", path+"/labels", label)
	as(t, s, "triage").want(200, "POST", path+"/labels", label)
	as(t, s, "triage").want(404, "POST", path+"/labels", map[string]any{"labels": []string{"new"}})
	as(t, s, "triage").want(403, "POST", "/repos/octo/widgets/labels", map[string]any{"name": "new"})
	as(t, s, "write").want(201, "POST", "/repos/octo/widgets/labels", map[string]any{"name": "new", "color": "5319e7"})
	as(t, s, "triage").want(403, "PATCH", path, map[string]any{"title": "other"})
	as(t, s, "read").want(200, "PATCH", path, map[string]any{"title": "mine"})
	id := r.Comment(n, "hi", "read")
	comment := fmt.Sprintf("/repos/octo/widgets/issues/comments/%d", id)
	as(t, s, "triage").want(403, "PATCH", comment, map[string]any{"body": "x"})
	as(t, s, "write").want(200, "PATCH", comment, map[string]any{"body": "x"})
	r.Archive(true)
	as(t, s, "admin").want(403, "POST", path+"/comments", map[string]any{"body": "late"})
}

func TestLimitsOfText(t *testing.T) {
	s := world(t)
	n := s.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	c := as(t, s, "write")
	comments := fmt.Sprintf("/repos/octo/widgets/issues/%d/comments", n)
	c.want(201, "POST", comments, map[string]any{"body": strings.Repeat("ä", 65536)})
	long := c.want(422, "POST", comments, map[string]any{"body": strings.Repeat("ä", 65537)})
	equal(t, "text", long.str("errors.0.message"), "Body is too long (maximum is 65536 characters)")
	equal(t, "message", long.str("message"), "Validation Failed")
	c.want(422, "POST", comments, map[string]any{"body": ""})
	labels := "/repos/octo/widgets/labels"
	c.want(201, "POST", labels, map[string]any{"name": strings.Repeat("l", 50)})
	c.want(422, "POST", labels, map[string]any{"name": strings.Repeat("l", 51)})
	second := c.want(422, "POST", labels, map[string]any{"name": strings.Repeat("L", 50)})
	equal(t, "code", second.str("errors.0.code"), "already_exists")
}

func TestPagesAreLinked(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	for i := range 5 {
		r.Comment(n, fmt.Sprint("c", i), "read")
	}
	c := as(t, s, "write")
	next := fmt.Sprintf("/repos/octo/widgets/issues/%d/comments?per_page=2", n)
	var got []string
	for pages := 0; next != "" && pages < 9; pages++ {
		page := c.want(200, "GET", next, nil)
		for i := range page.list() {
			got = append(got, page.str(fmt.Sprintf("%d.body", i)))
		}
		next = ""
		for _, link := range strings.Split(page.header.Get("Link"), ", ") {
			if target, isNext := strings.CutSuffix(link, `>; rel="next"`); isNext {
				next = strings.TrimPrefix(target, "<")
			}
		}
	}
	equal(t, "bodies", strings.Join(got, " "), "c0 c1 c2 c3 c4")
}

func TestReactionsAreKeptOncePerAccount(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	id := r.Comment(r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"}), "/agentmux", "write")
	c := as(t, s, "write")
	path := fmt.Sprintf("/repos/octo/widgets/issues/comments/%d/reactions", id)
	first := c.want(201, "POST", path, map[string]any{"content": "eyes"})
	c.want(200, "POST", path, map[string]any{"content": "eyes"})
	c.want(422, "POST", path, map[string]any{"content": "white_check_mark"})
	as(t, s, "read").want(404, "DELETE", fmt.Sprintf("%s/%d", path, first.num("id")), nil)
	c.want(204, "DELETE", fmt.Sprintf("%s/%d", path, first.num("id")), nil)
	equal(t, "left", len(c.want(200, "GET", path, nil).list()), 0)
}

func TestLockedIssueTakesNoCommentOfApps(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	r.Lock(n, true)
	path := fmt.Sprintf("/repos/octo/widgets/issues/%d/comments", n)
	body := map[string]any{"body": "x"}
	as(t, s, "write").want(201, "POST", path, body)
	as(t, s, "triage").want(403, "POST", path, body)
	bot := as(t, s, "")
	bot.token = s.ActionsToken(widgets, map[string]string{"issues": "write"}, 0)
	refused := bot.want(403, "POST", path, body)
	equal(t, "text", refused.str("message"), "Unable to create comment because issue is locked.")
	r.Lock(n, false)
	bot.want(201, "POST", path, body)
}

func TestGoneAndMovedThings(t *testing.T) {
	s := world(t)
	if err := s.AddRepo(fakehub.RepoSpec{Owner: "octo", Name: "gadgets"}); err != nil {
		t.Fatal(err)
	}
	r := s.Repo(widgets)
	c := as(t, s, "write")
	deleted := r.AddIssue(fakehub.IssueSpec{Title: "a", Author: "read"})
	moved := r.AddIssue(fakehub.IssueSpec{Title: "b", Author: "read"})
	r.DeleteIssue(deleted)
	there := r.Transfer(moved, "octo/gadgets")
	c.want(410, "GET", fmt.Sprintf("/repos/octo/widgets/issues/%d", deleted), nil)
	away := c.want(301, "GET", fmt.Sprintf("/repos/octo/widgets/issues/%d", moved), nil)
	found := c.want(200, "GET", away.header.Get("Location"), nil)
	equal(t, "number", found.num("number"), int64(there))

	r.Rename("sprockets")
	renamed := c.want(301, "GET", "/repos/octo/widgets/issues?state=all", nil)
	c.want(200, "GET", renamed.header.Get("Location"), nil)
	c.want(307, "POST", "/repos/octo/widgets/issues", map[string]any{"title": "x"})
	equal(t, "name", c.want(200, "GET", "/repos/octo/sprockets", nil).str("name"), "sprockets")
}
