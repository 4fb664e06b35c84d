package request_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// One request tells a job its repository, its account and its issue. What is asked after that is read anew: a label that
// was taken off, a repository that has another name.
func TestAnIssueThatIsMetAnswersOnce(t *testing.T) {
	octo := ghsync.Repo{Owner: "octo", Name: "widgets"}
	server := fakehub.Start(t, fakehub.Options{
		Users: []fakehub.UserSpec{{Login: "mia"}, {Login: "robo", Roles: map[string]fakehub.Role{octo.String(): fakehub.Write}}},
		Repos: []fakehub.RepoSpec{{Owner: octo.Owner, Name: octo.Name}},
	})
	repo := server.Repo(octo.String())
	for range 2 {
		repo.AddIssue(fakehub.IssueSpec{Title: "Add retry", Author: "mia", Labels: []string{"agentmux"}})
	}
	asked := func() int { return server.Requests("robo") }
	meet := func(t *testing.T) (request.Server, *request.Met, ghsync.Repository) {
		addresses := transport.Addresses{API: server.API(), GraphQL: server.GraphQL(), Server: server.URL()}
		c, err := ghsync.New(transport.Options{
			APIURL: addresses.API, GraphQLURL: addresses.GraphQL, ServerURL: addresses.Server, Pause: time.Millisecond,
			Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(server.Token("robo")), addresses),
			Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
		})
		if err != nil {
			t.Fatal(err)
		}
		met, found, err := request.Meet(t.Context(), c, octo, 1)
		if err != nil {
			t.Fatal(err)
		}
		return request.Server{Client: c, Met: met}, met, found
	}
	labels := func(t *testing.T, s request.Server, issue int) []string {
		r, err := s.Record(t.Context(), octo, issue)
		if err != nil {
			t.Fatal(err)
		}
		return r.Issue.Labels
	}

	t.Run("once", func(t *testing.T) {
		before := asked()
		s, met, found := meet(t)
		again, err := met.Repository(t.Context(), s.Client, octo)
		own, viewed := s.Viewer(t.Context())
		if err != nil || viewed != nil || again != found || found.Repo != octo || found.ID == 0 || own.Login != "robo" || own.Type != "User" {
			t.Errorf("%+v, %+v, %+v, %v, %v", found, again, own, err, viewed)
		}
		if got := labels(t, s, 1); !slices.Equal(got, []string{"agentmux"}) || asked() != before+1 {
			t.Errorf("labels %q after %d requests, want 1", got, asked()-before)
		}
		repo.Unlabel(1, "agentmux", "mia")
		repo.Rename("gadgets")
		if got := labels(t, s, 1); len(got) != 0 {
			t.Errorf("labels %q, read anew", got)
		}
		if now, err := met.Repository(t.Context(), s.Client, octo); err != nil || now.Name != "gadgets" {
			t.Errorf("%+v, %v, read anew", now, err)
		}
		repo.Rename("widgets")
		repo.Label(1, "agentmux", "mia")
	})
	t.Run("another issue", func(t *testing.T) {
		s, _, _ := meet(t)
		before := asked()
		if labels(t, s, 2); asked() != before+1 {
			t.Error("it was not read")
		}
	})
	t.Run("later", func(t *testing.T) {
		s, _, _ := meet(t)
		now := s.Now
		s.Client.Now = func() time.Time { return now().Add(15 * time.Second) }
		before := asked()
		if labels(t, s, 1); asked() != before+1 {
			t.Error("it was not read")
		}
	})
	t.Run("not met", func(t *testing.T) {
		s, _, _ := meet(t)
		s.Met = nil
		before := asked()
		if labels(t, s, 1); asked() != before+1 {
			t.Error("it was not read")
		}
		if _, err := s.Met.Repository(t.Context(), s.Client, octo); err != nil || asked() != before+2 {
			t.Errorf("it was not read: %v", err)
		}
	})
}
