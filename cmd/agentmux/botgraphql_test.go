package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
)

// behind has the commands of the rig reach the API through a server that may answer GraphQL by itself, and change what
// GitHub answers to it. It returns how many requests of GraphQL came.
func (r *rig) behind(answers func(w http.ResponseWriter) (answered bool), changes func(answer map[string]any)) *atomic.Int32 {
	r.t.Helper()
	to, err := url.Parse(r.github.URL())
	if err != nil {
		r.t.Fatal(err)
	}
	const graphQL = "/graphql"
	asked := &atomic.Int32{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = p.In.Host // addresses in answers are those of the server that is asked
			if p.Out.URL.Path == graphQL {
				p.Out.Header.Del("Accept-Encoding")
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.Request.URL.Path != graphQL || changes == nil {
				return nil
			}
			var answer map[string]any
			if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
				return err
			}
			changes(answer)
			data, err := json.Marshal(answer)
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
			resp.Header.Set("Content-Length", strconv.Itoa(len(data)))
			return err
		},
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == graphQL {
			asked.Add(1)
			if answers != nil && answers(w) {
				return
			}
		}
		proxy.ServeHTTP(w, req)
	}))
	r.t.Cleanup(front.Close)
	r.setEnv("GITHUB_API_URL", front.URL+"/")
	r.setEnv("GITHUB_GRAPHQL_URL", front.URL+graphQL)
	return asked
}

// answersAll answers each request with a status and a text.
func answersAll(status int, kind, text string) func(http.ResponseWriter) bool {
	return func(w http.ResponseWriter) bool {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return true
	}
}

// answeredThenChanged is parkedPlaybook, whose planner does not ask again in a further round.
var answeredThenChanged = func() string {
	const head = "version: 1\nagents:\n"
	planner, _, _ := strings.Cut(strings.TrimPrefix(quickPlaybook, head), "  - role: coder\n")
	return head + strings.Replace(planner, "planner\n", "planner\n    round: 1\n", 1) +
		strings.TrimPrefix(strings.ReplaceAll(againPlaybook, "again", "three"), head) + strings.TrimPrefix(parkedPlaybook, head)
}()

// A label becomes a pull request, the answer in a comment reaches the agent that asked, and a command in a review one more
// round, whatever the server has in the place of GraphQL: receipts of reviews alone stand in the list of commands then, and
// the pull request stays a draft. An answer of GraphQL that tells of a part is read in the other way.
func TestGitHub84ABotOfAServerWithoutGraphQL(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, tc := range map[string]struct {
		answers func(http.ResponseWriter) bool
		changes func(map[string]any)
		reacts  bool // GraphQL takes what only it takes
	}{
		"GraphQL":       {reacts: true},
		"404":           {answers: answersAll(404, "application/json", `{"message":"Not Found"}`)},
		"a page of 403": {answers: answersAll(403, "text/html", "<html><h1>403 Forbidden</h1></html>")},
		"a part of each answer": {reacts: true, changes: func(answer map[string]any) {
			if data, _ := answer["data"].(map[string]any); data["repository"] != nil && answer["errors"] == nil {
				answer["errors"] = []any{map[string]any{
					"type": "FORBIDDEN", "path": []any{"repository", "parent"}, "message": "Resource protected by organization SAML enforcement.",
				}}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: answeredThenChanged, unlabel: true, config: botConfig})
			asked := r.behind(tc.answers, tc.changes)
			repo := r.github.Repo(rigRepo)
			repo.Label(1, "agentmux:quick", rigOwner)
			b := r.background("bot")
			r.eventually("the planner asks", func() bool { return r.says("Reply: `/agentmux answer q1 <number or text>`") }, b.out.String)
			r.said(b, 1, "/agentmux answer 2", "+1")
			r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String)
			pull := repo.Pulls()[0]
			repo.Review(pull.Number, rigOwner, "COMMENTED", "/agentmux changes say three")
			r.eventually("the change is on the branch", func() bool {
				text, _ := repo.File(pull.Head, "a.txt")
				return text == "three\n" && r.isDone(rigRepo, 1)
			}, b.out.String)
			r.eventually("the fold tells", func() bool { return r.says("| `" + rigOwner + "` | changes | ✅ applied |") }, b.out.String)
			got := repo.ReviewReactions(pull.Number)
			if reacts := slices.Equal(got, []string{rigBot + " eyes", rigBot + " +1"}); reacts != tc.reacts || !tc.reacts && len(got) > 0 {
				t.Errorf("receipts of the review %q", got)
			}
			if pull = repo.Pulls()[0]; pull.Draft == tc.reacts || len(repo.Pulls()) != 1 {
				t.Errorf("pull requests %+v", repo.Pulls())
			}
			if n := asked.Load(); !tc.reacts && n > 3 || n == 0 {
				t.Errorf("GraphQL was asked %d times", n)
			}
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d\n%s", code, b.out.String())
			}
			r.done(r.served(rigRepo)[0])
		})
	}
}
