package ghsync_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

const (
	botLogin = "robot"
	widgets  = "octo/widgets"
)

// roles are accounts named by what they may do in octo/widgets.
var roles = []fakehub.Role{"admin", "maintain", "write", "triage", "read", "none", "ops:write"}

// world is a server with octo/widgets, an account of each role, and the robot with write.
func world(t *testing.T, change ...func(*fakehub.Options)) *fakehub.Server {
	t.Helper()
	opt := fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: botLogin, Roles: map[string]fakehub.Role{widgets: fakehub.Write}}},
	}
	for _, role := range roles {
		login, _, _ := strings.Cut(string(role), ":")
		opt.Users = append(opt.Users, fakehub.UserSpec{Login: login, Roles: map[string]fakehub.Role{widgets: role}})
	}
	for _, f := range change {
		f(&opt)
	}
	s := fakehub.Start(t, opt)
	s.Canary(s.Token(botLogin))
	return s
}

func withoutGraphQL(o *fakehub.Options) { o.NoGraphQL = true }

// clientOf is a client that does not wait between requests.
func clientOf(t testing.TB, s *fakehub.Server, login string) *ghsync.Client {
	t.Helper()
	return clientWith(t, s, login, nil)
}

func clientWith(t testing.TB, s *fakehub.Server, login string, network http.RoundTripper) *ghsync.Client {
	t.Helper()
	c, err := ghsync.New(transport.Options{
		APIURL: s.API(), GraphQLURL: s.GraphQL(), ServerURL: s.URL(), Pause: time.Millisecond, HTTP: network,
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(s.Token(login)), transport.Addresses{API: s.API(), GraphQL: s.GraphQL(), Server: s.URL()}),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestViewerIsTheTokensAccount(t *testing.T) {
	for name, change := range map[string]func(*fakehub.Options){"GraphQL": func(*fakehub.Options) {}, "REST": withoutGraphQL} {
		t.Run(name, func(t *testing.T) {
			s := world(t, change)
			c := clientOf(t, s, botLogin)
			for range 2 {
				me, err := c.Viewer(t.Context())
				if err != nil || me.Login != botLogin || me.ID != s.UserID(botLogin) || !me.IsPerson() {
					t.Errorf("viewer %+v, %v", me, err)
				}
			}
			if n := len(s.Calls()); n > 2 {
				t.Errorf("%d requests for one account", n)
			}
		})
	}
}

func TestPermissionFollowsTheRole(t *testing.T) {
	s := world(t)
	c := clientOf(t, s, botLogin)
	for login, want := range map[string]ghsync.Level{
		"admin": ghsync.LevelAdmin, "maintain": ghsync.LevelMaintain, "write": ghsync.LevelWrite, "ops": ghsync.LevelWrite,
		"triage": ghsync.LevelTriage, "read": ghsync.LevelRead, "none": ghsync.LevelNone, "nobody-at-all": ghsync.LevelNone,
	} {
		t.Run(login, func(t *testing.T) {
			p, err := c.Permission(t.Context(), octoWidgets, login)
			if err != nil {
				t.Fatal(err)
			}
			// A public repository is readable by everyone.
			if p.Level != want && (want != ghsync.LevelNone || p.Level > ghsync.LevelRead) {
				t.Errorf("%s has %s, want %s", login, p.Level, want)
			}
			if p.Write() != (want >= ghsync.LevelWrite) {
				t.Errorf("%s: write is %v", login, p.Write())
			}
		})
	}
}

func TestIssueTellsWhatANumberIs(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "Add retry", Body: "b", Author: "read", Labels: []string{"agentmux"}})
	closed := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	r.CloseIssue(closed, "write")
	deleted := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	r.DeleteIssue(deleted)
	r.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a": "b"}})
	c := clientOf(t, s, botLogin)
	pr, err := (&ghsync.PullRequest{Client: c}).Ensure(t.Context(), ghsync.PullRequestSpec{
		Repo: octoWidgets, Branch: "fix", Base: "main", Title: "t", Body: text("b"),
	})
	if err != nil {
		t.Fatal(err)
	}
	issue, err := c.Issue(t.Context(), octoWidgets, n)
	if err != nil || issue.Title != "Add retry" || issue.Closed || !issue.HasLabel("AgentMux") || issue.Author.Login != "read" {
		t.Errorf("issue %+v, %v", issue, err)
	}
	if issue, err = c.Issue(t.Context(), octoWidgets, closed); err != nil || !issue.Closed {
		t.Errorf("closed issue %+v, %v", issue, err)
	}
	if _, err = c.Issue(t.Context(), octoWidgets, pr.Number); !errors.Is(err, transport.ErrPullRequest) {
		t.Errorf("pull request: %v", err)
	}
	if _, err = c.Record(t.Context(), octoWidgets, pr.Number); !errors.Is(err, transport.ErrPullRequest) {
		t.Errorf("record of a pull request: %v", err)
	}
	if _, err = c.Issue(t.Context(), octoWidgets, 999); !transport.IsNotFound(err) {
		t.Errorf("missing: %v", err)
	}
	var missing *transport.NotFound
	if _, err = c.Issue(t.Context(), octoWidgets, deleted); !errors.As(err, &missing) || !missing.Gone {
		t.Errorf("deleted: %v", err)
	}
}

func TestRecordIsTheSameByGraphQLAndREST(t *testing.T) {
	for name, change := range map[string]func(*fakehub.Options){"GraphQL": func(*fakehub.Options) {}, "REST": withoutGraphQL} {
		t.Run(name, func(t *testing.T) {
			s := world(t, change)
			r := s.Repo(widgets)
			n := r.AddIssue(fakehub.IssueSpec{Title: "old", Body: "b", Author: "read"})
			r.Label(n, "agentmux", "triage")
			r.Unlabel(n, "agentmux", "triage")
			r.Label(n, "agentmux", "write")
			title := "new"
			r.EditIssue(n, "triage", &title, nil)
			for range 130 {
				r.Comment(n, "c", "read")
			}
			last := r.Comment(n, "newest", "maintain")
			record, err := clientOf(t, s, botLogin).Record(t.Context(), octoWidgets, n)
			if err != nil {
				t.Fatal(err)
			}
			if record.Repository.ID != r.ID() || record.Repository.DefaultBranch != "main" || !record.Repository.CanPush {
				t.Errorf("repository %+v", record.Repository)
			}
			if record.Issue.Title != "new" || record.Issue.Body != "b" || !record.Issue.HasLabel("agentmux") || record.Issue.Number != n {
				t.Errorf("issue %+v", record.Issue)
			}
			var labels []string
			for _, l := range record.Labels {
				labels = append(labels, map[bool]string{true: "+", false: "-"}[l.Added]+l.Name+" "+l.Actor.Login+" "+l.Actor.Type)
			}
			want := []string{"+agentmux triage User", "-agentmux triage User", "+agentmux write User"}
			if !slices.Equal(labels, want) {
				t.Errorf("label events %q", labels)
			}
			if len(record.Renames) != 1 || record.Renames[0].Actor.Login != "triage" || record.Renames[0].To != "new" {
				t.Errorf("renames %+v", record.Renames)
			}
			if len(record.Comments) != 131 || record.Unread != 0 {
				t.Fatalf("%d comments, %d unread", len(record.Comments), record.Unread)
			}
			if c := record.Comments[130]; c.ID != last || c.Body != "newest" || c.Author.Login != "maintain" || c.Author.ID != s.UserID("maintain") {
				t.Errorf("newest comment %+v, want id %d", c, last)
			}
		})
	}
}

func TestLabelsAreEnsuredAndRemoved(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	c := clientOf(t, s, botLogin)
	for _, want := range []bool{true, false} {
		made, err := c.EnsureLabel(t.Context(), octoWidgets, ghsync.Label{Name: "agentmux", Color: "5319e7"})
		if err != nil || made != want {
			t.Errorf("made %v, %v", made, err)
		}
	}
	for range 2 {
		if _, err := c.AddLabel(t.Context(), octoWidgets, n, "agentmux:running"); err != nil {
			t.Error(err)
		}
	}
	if got := r.Issue(n).Labels; !slices.Equal(got, []string{"agentmux:running"}) {
		t.Errorf("labels %q", got)
	}
	for range 2 {
		if err := c.RemoveLabel(t.Context(), octoWidgets, n, "agentmux:running"); err != nil {
			t.Error(err)
		}
	}
	all, err := c.Labels(t.Context(), octoWidgets)
	if err != nil || len(r.Issue(n).Labels) != 0 || !slices.ContainsFunc(all, func(l ghsync.Label) bool { return l.Name == "agentmux" && l.Color == "5319e7" }) {
		t.Errorf("labels %+v, %v", all, err)
	}
}

// sceneStart is when the issue of most tests was taken.
var sceneStart = time.Date(2026, 11, 21, 10, 5, 12, 0, time.UTC)

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
