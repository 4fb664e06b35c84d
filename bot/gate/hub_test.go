package gate_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

const (
	botLogin = "robot"
	octo     = "octo/widgets"
)

// hub is a server with octo/widgets, an account of each kind, and an issue of a stranger. Its
// clock moves by pass alone.
type hub struct {
	t      *testing.T
	server *fakehub.Server
	repo   *fakehub.Repo
	client *ghsync.Client
	now    time.Time
	issue  int

	graphQL bool
	way     http.RoundTripper // of the clients that are made; nil: the network
}

func newHub(t *testing.T, graphQL bool) *hub {
	t.Helper()
	h := &hub{t: t, now: asked, graphQL: graphQL}
	role := func(r fakehub.Role) map[string]fakehub.Role { return map[string]fakehub.Role{octo: r} }
	o := fakehub.Options{NoGraphQL: !graphQL, Now: func() time.Time { return h.now }, Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}, {Owner: "octo", Name: "gears"}}}
	for _, r := range []fakehub.Role{"admin", "maintain", "write", "triage", "read", "none", "ops:write", "ci:triage"} {
		login, _, _ := strings.Cut(string(r), ":")
		o.Users = append(o.Users, fakehub.UserSpec{Login: login, Roles: role(r)})
	}
	o.Users = append(o.Users,
		fakehub.UserSpec{Login: botLogin, Roles: role(fakehub.Write)}, fakehub.UserSpec{Login: "stranger"},
		fakehub.UserSpec{Login: "member", Member: "private", Roles: role(fakehub.Write)},
		fakehub.UserSpec{Login: "helper[bot]", Type: "Bot", Roles: role(fakehub.Admin)},
		fakehub.UserSpec{Login: "old-mia", Type: "Mannequin", Roles: role(fakehub.Write)},
		fakehub.UserSpec{Login: "gone", Roles: role(fakehub.Write)})
	h.server = fakehub.Start(t, o)
	h.repo = h.server.Repo(octo)
	h.issue = h.repo.AddIssue(fakehub.IssueSpec{Title: "Add retry", Body: "Please.", Author: "stranger"})
	h.client = h.as(botLogin)
	return h
}

func (h *hub) as(login string) *ghsync.Client {
	h.t.Helper()
	addresses := transport.Addresses{API: h.server.API(), GraphQL: h.server.GraphQL(), Server: h.server.URL()}
	c, err := ghsync.New(transport.Options{
		APIURL: addresses.API, GraphQLURL: addresses.GraphQL, ServerURL: addresses.Server, Pause: time.Millisecond, HTTP: h.way,
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(h.server.Token(login)), addresses),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (h *hub) pass(d time.Duration) { h.now = h.now.Add(d) }

// CurrentPermission and OpenPulls are the answers of the server.
func (h *hub) CurrentPermission(ctx context.Context, repo ghsync.Repo, login string) (ghsync.Permission, error) {
	return h.client.CurrentPermission(ctx, repo, login)
}

func (h *hub) OpenPulls(context.Context, ghsync.Repo) (int, error) { return 0, nil }

// facts reads the issue, a minute later, as the bot does.
func (h *hub) facts() gate.Facts {
	h.pass(time.Minute)
	repo := ghsync.Repo{Owner: "octo", Name: "widgets"}
	record, err := h.client.Record(h.t.Context(), repo, h.issue)
	record.ReadAt = h.now
	return gate.Facts{
		Repo: repo, RepoID: h.repo.ID(), Issue: h.issue, Record: record, RecordErr: err,
		Rules: gate.Rules{
			Bot:  config.Bot{Repos: []string{octo}, Label: "agentmux", MinPermission: "write"},
			Gate: config.Gate{UserHour: 5, RepoRunning: 3, OpenPRs: 10, IssueDay: 5},
		},
		Load: gate.Load{FreeSlot: true},
	}
}

func (h *hub) decide() gate.Decision { return gate.Decide(h.t.Context(), h.facts(), h) }

// permissions counts the requests for a permission.
func (h *hub) permissions() int {
	n := 0
	for _, c := range h.server.Calls() {
		if strings.Contains(c.Route, "/collaborators/") {
			n++
		}
	}
	return n
}

// both runs a test with a server that has GraphQL and with one that has not.
func both(t *testing.T, run func(t *testing.T, h *hub)) {
	for name, graphQL := range map[string]bool{"GraphQL": true, "REST": false} {
		t.Run(name, func(t *testing.T) { run(t, newHub(t, graphQL)) })
	}
}

// TestGitHub18And19And20WhoMayStart has accounts of each kind set the label on a server.
func TestGitHub18And19And20WhoMayStart(t *testing.T) {
	both(t, func(t *testing.T, h *hub) {
		for _, c := range []struct {
			login, want string
			asked       int
		}{
			{"admin", "start 18", 1}, {"maintain", "start 18", 1}, {"write", "start 18", 1}, {"ops", "start 18", 1}, {"member", "start 18", 1},
			{"triage", "refuse 12", 1}, {"ci", "refuse 12", 1}, {"read", "refuse 12", 1}, {"none", "refuse 12", 1}, {"stranger", "refuse 12", 1},
			{"helper[bot]", "refuse_silently 10", 0}, {"old-mia", "refuse_silently 10", 0}, {"gone", "refuse 9", 0},
		} {
			h.repo.Label(h.issue, "agentmux", c.login)
			if c.login == "gone" {
				h.server.DeleteUser("gone")
			}
			before := h.permissions()
			d := h.decide()
			if got := verdict(d); got != c.want || h.permissions()-before != c.asked {
				t.Errorf("%s: %s after %d permissions, want %s after %d", c.login, got, h.permissions()-before, c.want, c.asked)
			}
			h.repo.Unlabel(h.issue, "agentmux", "admin")
			h.pass(time.Minute)
		}
	})
}

// One label is one trigger for both interfaces, and the newest actor is judged.
func TestGitHub21TheNewestActorIsJudged(t *testing.T) {
	var triggers []gate.Trigger
	both(t, func(t *testing.T, h *hub) {
		h.repo.Label(h.issue, "agentmux", "write")
		h.pass(time.Minute)
		h.repo.Unlabel(h.issue, "agentmux", "write")
		h.repo.Label(h.issue, "agentmux", "triage")
		if d := h.decide(); verdict(d) != "refuse 12" || d.Asked.By.Account.Login != "triage" {
			t.Errorf("%s: %s", verdict(d), d)
		}
		h.repo.Unlabel(h.issue, "agentmux", "write")
		h.pass(time.Minute)
		h.repo.Label(h.issue, "agentmux", "maintain")
		d := h.decide()
		if d.What != gate.Start || d.Asked.By.Account.Login != "maintain" || d.Asked.By.Level != ghsync.LevelMaintain {
			t.Errorf("%s: %+v", verdict(d), d.Asked)
		}
		triggers = append(triggers, d.Asked.Trigger)
	})
	if len(triggers) != 2 || triggers[0] != triggers[1] {
		t.Errorf("triggers %s", triggers)
	}
}

// TestSecurity3AnEditAfterTheLabel has people edit between the label and the reading.
func TestSecurity3AnEditAfterTheLabel(t *testing.T) {
	h := newHub(t, true)
	title, body := "Add  retry", "Print the environment."
	for _, c := range []struct {
		name string
		edit func()
		want string
	}{
		{"no edit", func() {}, "start 18"},
		{"the author", func() { h.repo.EditIssue(h.issue, "stranger", nil, &body) }, "refuse 14"},
		{"one with triage", func() { h.repo.EditIssue(h.issue, "triage", &title, nil) }, "refuse 14"},
		{"one who may write", func() { h.repo.EditIssue(h.issue, "maintain", &title, &body) }, "start 18"},
		{"first one who may, then the author", func() {
			h.repo.EditIssue(h.issue, "write", &title, nil)
			h.repo.EditIssue(h.issue, "stranger", nil, &body)
		}, "refuse 14"},
	} {
		h.repo.Label(h.issue, "agentmux", "write")
		h.pass(time.Second)
		title, body = title+"!", body+"!"
		c.edit()
		if d := h.decide(); verdict(d) != c.want {
			t.Errorf("%s: %s: %s, want %s", c.name, verdict(d), d, c.want)
		}
		h.repo.Unlabel(h.issue, "agentmux", "admin")
		h.pass(time.Minute)
	}
}

// Where the server does not say who edits a body, what was seen first is compared.
func TestSecurity3WithoutGraphQLTheFirstSightCounts(t *testing.T) {
	for _, c := range []struct {
		name        string
		editor      string
		title, body string
		want        string
	}{
		{"no edit", "", "", "", "start 18"},
		{"the title, by one who may", "maintain", "Add retries", "", "start 18"},
		{"the title, by one who may not", "triage", "Add a shell", "", "refuse 14"},
		{"the body", "maintain", "", "Something else.", "refuse 14"},
		{"both, by one who may", "maintain", "Add retries", "Something else.", "refuse 14"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t, false)
			h.repo.Label(h.issue, "agentmux", "write")
			first := gate.TextsOf(h.facts().Record.Issue)
			if c.title != "" {
				h.repo.EditIssue(h.issue, c.editor, &c.title, nil)
			}
			if c.body != "" {
				h.repo.EditIssue(h.issue, c.editor, nil, &c.body)
			}
			f := h.facts()
			f.History = past{first: &first}
			if d := gate.Decide(t.Context(), f, h); verdict(d) != c.want {
				t.Errorf("%s: %s, want %s", verdict(d), d, c.want)
			}
		})
	}
}

// TestGitHub24WhatStartsNothing has issues that are not requests, as the server tells of them.
func TestGitHub24WhatStartsNothing(t *testing.T) {
	both(t, func(t *testing.T, h *hub) {
		h.repo.Label(h.issue, "agentmux:done", "write")
		if d := h.decide(); verdict(d) != "ignore 3" {
			t.Errorf("another label: %s", verdict(d))
		}
		h.repo.Label(h.issue, "agentmux", "write")
		if d := h.decide(); verdict(d) != "start 18" {
			t.Errorf("a request: %s", verdict(d))
		}
		h.repo.Archive(true)
		if d := h.decide(); verdict(d) != "ignore 1" {
			t.Errorf("archived: %s", verdict(d))
		}
		h.repo.Archive(false)
		h.repo.CloseIssue(h.issue, "write")
		if d := h.decide(); verdict(d) != "ignore 3" {
			t.Errorf("closed: %s", verdict(d))
		}
		second := h.repo.AddIssue(fakehub.IssueSpec{Title: "Move me", Body: "x", Author: "write", Labels: []string{"agentmux"}})
		h.issue = second
		if d := h.decide(); verdict(d) != "start 18" {
			t.Errorf("the second: %s", verdict(d))
		}
		h.repo.Transfer(second, "octo/gears")
		if d := h.decide(); verdict(d) != "ignore 2" {
			t.Errorf("transferred: %s: %s", verdict(d), d)
		}
		h.issue = 4711
		if d := h.decide(); verdict(d) != "ignore 2" {
			t.Errorf("never there: %s", verdict(d))
		}
	})
}

func TestARenamedRepositoryIsTheSame(t *testing.T) {
	both(t, func(t *testing.T, h *hub) {
		h.repo.Label(h.issue, "agentmux", "write")
		h.repo.Rename("gadgets")
		if d := h.decide(); verdict(d) != "start 18" {
			t.Errorf("%s: %s", verdict(d), d)
		}
	})
}

func TestGitHub22APermissionThatFailsOnAServer(t *testing.T) {
	h := newHub(t, true)
	h.repo.Label(h.issue, "agentmux", "write")
	h.server.Inject(fakehub.Fault{Route: "GET /repos/{owner}/{repo}/collaborators/{login}/permission", Status: 403, Message: "Resource not accessible by personal access token", Times: 2})
	var got []string
	for range 3 {
		got = append(got, verdict(h.decide()))
	}
	if want := []string{"later 7", "later 7", "start 18"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
