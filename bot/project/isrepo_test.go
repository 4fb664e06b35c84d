package project_test

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// A session that was made before its repository was renamed is of it all the same; one of another repository is not.
func TestAFormerNameIsThatOfARepository(t *testing.T) {
	t.Parallel()
	hub := fakehub.Start(t, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}, {Owner: "octo", Name: "gears"}},
		Users: []fakehub.UserSpec{{Login: "robo", Roles: map[string]fakehub.Role{"octo/widgets": fakehub.Write, "octo/gears": fakehub.Write}}},
	})
	at := transport.Addresses{API: hub.API(), GraphQL: hub.GraphQL(), Server: hub.URL()}
	client, err := ghsync.New(transport.Options{
		APIURL: at.API, GraphQLURL: at.GraphQL, ServerURL: at.Server, Pause: time.Millisecond,
		Token: transport.StaticToken(transport.ModeToken, redact.NewSecret(hub.Token("robo")), at),
	})
	if err != nil {
		t.Fatal(err)
	}
	hub.Repo("octo/widgets").Rename("sprockets")
	is := project.IsNamed(client, ghsync.Repo{Owner: "octo", Name: "sprockets"})
	for name, want := range map[string]bool{"octo/widgets": true, "Octo/Sprockets": true, "octo/gears": false, "octo/none": false, "sprockets": false, "": false} {
		if got, err := is(t.Context(), name); err != nil || got != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
}
