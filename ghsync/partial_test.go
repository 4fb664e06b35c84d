package ghsync_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// GraphQL answers with data and with errors about parts of it, such as the parent of a fork in an
// organisation that asks for a login of its own. The record is read in the other way then, whole; that
// an issue is not there is told in the same form, and is final.
func TestARecordIsReadWholeWhenGraphQLGivesAPart(t *testing.T) {
	s := fakehub.Start(t, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: "robo", Roles: map[string]fakehub.Role{"octo/widgets": fakehub.Write}}, {Login: "mia", Roles: map[string]fakehub.Role{"octo/widgets": fakehub.Write}}},
	})
	n := s.Repo("octo/widgets").AddIssue(fakehub.IssueSpec{Title: "Add retry", Author: "mia"})
	s.Repo("octo/widgets").Label(n, "agentmux", "mia")
	asked := 0
	c, err := ghsync.New(transport.Options{
		APIURL: s.API(), GraphQLURL: s.GraphQL(), ServerURL: s.URL(), Token: transport.StaticToken(transport.ModeToken, redact.NewSecret(s.Token("robo")), transport.Addresses{API: s.API(), GraphQL: s.GraphQL(), Server: s.URL()}),
		HTTP: between{func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err != nil || !strings.HasSuffix(req.URL.Path, "graphql") {
				return resp, err
			}
			asked++
			var body map[string]any
			if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
				return nil, err
			}
			if body["errors"] == nil {
				body["errors"] = []any{map[string]any{
					"type": "FORBIDDEN", "path": []any{"repository", "parent"}, "message": "Resource protected by organization SAML enforcement.",
				}}
			}
			data, err := json.Marshal(body)
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
			return resp, err
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	repo := ghsync.Repo{Owner: "octo", Name: "widgets"}
	r, err := c.Record(t.Context(), repo, n)
	if err != nil || len(r.Labels) != 1 || r.Labels[0].Actor.Login != "mia" || r.Issue.Title != "Add retry" || r.EditorsKnown {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.Record(t.Context(), repo, n+1); !transport.IsNotFound(err) || asked != 2 {
		t.Errorf("an issue that is not there: %v; asked %d times", err, asked)
	}
}
