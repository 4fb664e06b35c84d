package sight_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/sight"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

var widgets = ghsync.Repo{Owner: "acme", Name: "widgets"}

func server(t *testing.T) *fakehub.Server {
	t.Helper()
	s := fakehub.Start(t, fakehub.Options{
		Users: []fakehub.UserSpec{{Login: "robo"}, {Login: "mia"}},
		Repos: []fakehub.RepoSpec{{Owner: "acme", Name: "widgets"}, {Owner: "acme", Name: "gears", Private: true}, {Owner: "mia", Name: "notes"}},
	})
	s.Repo("acme/widgets").SetRole("robo", fakehub.Write)
	return s
}

func client(t *testing.T, s *fakehub.Server, mode transport.Mode, token string) *ghsync.Client {
	t.Helper()
	c, err := ghsync.New(transport.Options{
		APIURL: s.API(), GraphQLURL: s.GraphQL(), ServerURL: s.URL(), Pause: time.Millisecond,
		Token: transport.StaticToken(mode, redact.NewSecret(token), transport.Addresses{API: s.API(), Server: s.URL(), GraphQL: s.GraphQL()}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRepositoriesAreThoseOfTheToken(t *testing.T) {
	s := server(t)
	s.Repo("acme/gears").SetRole("robo", fakehub.Read)
	for name, c := range map[string]struct {
		mode  transport.Mode
		token string
		want  []string
	}{
		"of a person": {transport.ModeToken, s.Token("robo"), []string{"acme/widgets", "acme/gears"}},
		"of a job":    {transport.ModeActions, s.ActionsToken("acme/widgets", map[string]string{"metadata": "read"}, 0), []string{"acme/widgets"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, known, err := sight.Repositories(t.Context(), client(t, s, c.mode, c.token))
			if err != nil || !known || !slices.Equal(got, c.want) {
				t.Errorf("%q, %t, %v", got, known, err)
			}
		})
	}
}

func TestAnOrganisationIsSeen(t *testing.T) {
	s := server(t)
	c := client(t, s, transport.ModeToken, s.Token("robo"))
	for org, seen := range map[string]bool{"acme": true, "mia": false, "nobody": false} {
		if err := sight.Organisation(t.Context(), c, org); (err == nil) != seen || !seen && !transport.IsNotFound(err) {
			t.Errorf("%s: %v", org, err)
		}
	}
}

func TestWebhooksTellOfTheirDeliveries(t *testing.T) {
	s := server(t)
	c := client(t, s, transport.ModeToken, s.Token("robo"))
	if _, known, err := sight.Webhooks(t.Context(), c, widgets); known || err != nil {
		t.Errorf("who may not see them: %t, %v", known, err)
	}
	repo := s.Repo("acme/widgets")
	repo.SetRole("robo", fakehub.Admin)
	if hooks, known, err := sight.Webhooks(t.Context(), c, widgets); len(hooks) != 0 || !known || err != nil {
		t.Errorf("none: %+v, %t, %v", hooks, known, err)
	}
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	hook := fakehub.Webhook{URL: "https://bot.example.com/webhook", Events: []string{"issues"}, Statuses: []int{202, 403, 0}, Newest: at}
	repo.SetWebhooks(hook, fakehub.Webhook{URL: "https://elsewhere.example.com", Inactive: true, Events: []string{"push"}})
	hooks, known, err := sight.Webhooks(t.Context(), c, widgets)
	if err != nil || !known || len(hooks) != 2 {
		t.Fatalf("%+v, %t, %v", hooks, known, err)
	}
	if h := hooks[0]; !h.Active || h.URL != hook.URL || !h.Last.Equal(at) || h.Deliveries != 3 || h.Failures != 2 {
		t.Errorf("%+v", h)
	}
	if h := hooks[1]; h.Active || h.Deliveries != 0 || !h.Last.IsZero() {
		t.Errorf("%+v", h)
	}
}
