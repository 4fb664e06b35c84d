package origin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/origin"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

const (
	public = "20261121-100512-issue-12-add-retry-0123456789abcdef"
	marker = "<!-- agentmux session=" + public + " kind=status seq=58 -->"
	agent  = "shop--api-0123456789abcdef"
	agents = "Write the API (#12)\n\nAgentmux-Session: " + agent + "\n"
	ours   = "Add a retry\n\nCo-authored-by: mia <1+mia@users.noreply.github.com>\nAgentmux-Session: " + public + "\n"
)

// read is what is found of pull request 88, and how many requests that took. The messages are those of its commits, newest first.
func read(t *testing.T, from, branch, body string, messages ...string) (issue int, session string, requests int) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if strings.HasSuffix(r.URL.Path, "/pulls/88") {
			_ = json.NewEncoder(w).Encode(map[string]any{"number": 88, "body": body, "head": map[string]any{
				"ref": branch, "sha": "0", "repo": map[string]any{"full_name": from},
			}})
			return
		}
		var n int
		if _, err := fmt.Sscanf(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):], "/%d", &n); err != nil {
			t.Error(err)
		}
		c := map[string]any{"parents": []any{map[string]any{"sha": fmt.Sprint(n + 1)}}, "commit": map[string]any{"message": "of the base"}}
		if n < len(messages) {
			c["commit"] = map[string]any{"message": messages[n]}
		}
		_ = json.NewEncoder(w).Encode(c)
	}))
	defer server.Close()
	at := transport.Addresses{API: server.URL + "/", GraphQL: server.URL + "/graphql", Server: server.URL}
	c, err := ghsync.New(transport.Options{
		APIURL: at.API, GraphQLURL: at.GraphQL, ServerURL: at.Server,
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret("0123456789abcdef0123"), at),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	issue, session, err = origin.OfPull(t.Context(), c, ghsync.Repo{Owner: "octo", Name: "widgets"}, 88)
	if err != nil {
		t.Fatal(err)
	}
	return issue, session, requests
}

func TestThePullRequestTellsItsSession(t *testing.T) {
	const (
		widgets = "octo/widgets"
		branch  = "agentmux/issue-12-add-retry"
		body    = "Text\n\nCloses #12\n" + marker
	)
	ofAgent := strings.Replace(body, public, agent, 1)
	for name, c := range map[string]struct {
		from, branch, body string
		messages           []string
		issue, requests    int
		session            string
	}{
		"as it was made":                   {widgets, branch, body, nil, 12, 1, public},
		"a text that a person emptied":     {widgets, branch, "", []string{ours}, 12, 2, public},
		"a text without its marker":        {widgets, branch, "Mine.\n\nCloses #12", []string{ours}, 12, 2, public},
		"a text that names another issue":  {widgets, branch, strings.Replace(body, "#12", "#13", 1), []string{ours}, 12, 2, public},
		"a text of another session":        {widgets, branch, strings.Replace(body, "issue-12", "issue-13", 1), []string{ours}, 12, 2, public},
		"commits of people above":          {widgets, branch, "", []string{"a typo", "Merge branch main", ours}, 12, 4, public},
		"a second branch of the issue":     {widgets, branch + "-2", "", []string{ours}, 12, 2, public},
		"a copy of the text from a fork":   {"eve/widgets", branch, body, []string{ours}, 0, 1, ""},
		"a fork that is gone":              {"", branch, body, []string{ours}, 0, 1, ""},
		"a branch that is stacked on it":   {widgets, "mia/on-top", "", []string{"more", ours}, 0, 1, ""},
		"a branch of people for the issue": {widgets, "issue-12", "", []string{"a", "b"}, 0, 11, ""},
		"a branch of another issue on it":  {widgets, "issue-13-more", "", []string{"more", ours}, 0, 3, ""},
		"an agent of an agents file":       {widgets, "agents/api", ofAgent, []string{agents}, 12, 2, agent},
		"an agent on a branch of an issue": {widgets, branch, ofAgent, []string{"a typo", agents}, 12, 3, agent},
		"an agent's text of another issue": {widgets, "agents/api", strings.Replace(ofAgent, "#12", "#13", 1), []string{agents}, 12, 2, agent},
		"an agent's text without a commit": {widgets, "agents/api", ofAgent, []string{"a", "b"}, 0, 11, ""},
		"an agent's text on an issue's":    {widgets, branch, ofAgent, []string{ours}, 12, 2, public},
		"an agent's text on a session's":   {widgets, "fix", ofAgent, []string{ours}, 0, 2, ""},
		"an agent's text on another one's": {widgets, "fix", ofAgent, []string{strings.Replace(agents, "api", "page", 1)}, 0, 2, ""},
		"an agent's text that was emptied": {widgets, "agents/api", "", []string{agents}, 0, 1, ""},
		"an agent without an issue":        {widgets, "agents/api", ofAgent, []string{strings.Replace(agents, " (#12)", "", 1)}, 0, 2, ""},
		"a branch of a person's name":      {widgets, "retry", body, []string{ours}, 12, 2, public},
		"a text of a session alone":        {widgets, "fix", body, []string{"a"}, 0, 11, ""},
		"nothing of a session":             {widgets, "fix", "Closes #12", nil, 0, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			issue, session, requests := read(t, c.from, c.branch, c.body, c.messages...)
			if issue != c.issue || session != c.session || requests != c.requests {
				t.Errorf("issue %d, session %q, %d requests", issue, session, requests)
			}
		})
	}
}
