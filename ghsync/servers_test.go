package ghsync_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// at answers by method and path; what is not named is not there.
func at(answers map[string]string, req *http.Request) (*http.Response, error) {
	body, ok := answers[req.Method+" "+req.URL.Path]
	if !ok {
		return respond(http.StatusNotFound, `{"message":"Not Found"}`)
	}
	return respond(http.StatusOK, body)
}

// small is over with a server that has these answers alone.
func small(t *testing.T, answers map[string]string, f func(*testing.T, *ghsync.Client, *wire)) {
	t.Helper()
	over(t, func(_ int, req *http.Request) (*http.Response, error) { return at(answers, req) }, f)
}

const (
	issueJSON = `{"number":12,"title":"Add retry","state":"open","repository_url":"https://api.github.com/repos/octo/widgets"}`
	octoDev   = `{"login":"octo-dev","id":9,"type":"User"}`
	labelled  = `[{"event":"labeled","created_at":"2026-11-21T10:04:31Z","actor":` + octoDev + `,"label":{"name":"agentmux"}},
		{"event":"renamed","created_at":"2026-11-21T10:05:31Z","actor":` + octoDev + `,"rename":{"from":"Retry","to":"Add retry"}}]`
)

// issueAnswers is what a small server without GraphQL has of one issue.
func issueAnswers() map[string]string {
	return map[string]string{
		"GET /repos/octo/widgets":                    repoJSON,
		"GET /repos/octo/widgets/issues/12":          issueJSON,
		"GET /repos/octo/widgets/issues/12/timeline": labelled,
		"GET /repos/octo/widgets/issues/12/comments": `[]`,
		"GET /user": octoDev,
	}
}

func TestEveryCallAcceptsJSON(t *testing.T) {
	small(t, issueAnswers(), func(t *testing.T, c *ghsync.Client, w *wire) {
		if _, err := c.Record(t.Context(), octoWidgets, 12); err != nil {
			t.Fatal(err)
		}
		for _, s := range w.sent {
			if accept := s.header.Get("Accept"); !strings.Contains(accept, "json") {
				t.Errorf("%s %s accepts %q", s.method, s.url, accept)
			}
		}
	})
}

func TestServersWithoutGraphQL(t *testing.T) {
	for name, status := range map[string]int{"not found": 404, "method not allowed": 405, "gone": 410, "not implemented": 501} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			over(t, func(_ int, req *http.Request) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, "/graphql") {
					asked++
					return respond(status, `{"message":"no"}`)
				}
				return at(issueAnswers(), req)
			}, func(t *testing.T, c *ghsync.Client, _ *wire) {
				record, err := c.Record(t.Context(), octoWidgets, 12)
				if err != nil || len(record.Labels) != 1 || asked != 1 {
					t.Errorf("record %+v, %v, asked %d times", record, err, asked)
				}
			})
		})
	}
}

// A server that had no GraphQL once may have it: it is asked again after an hour, and not before.
func TestGraphQLThatIsBackIsUsed(t *testing.T) {
	there, asked := false, 0
	over(t, func(_ int, req *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(req.URL.Path, "/graphql") {
			return at(issueAnswers(), req)
		}
		if asked++; !there {
			return respond(http.StatusNotFound, `{"message":"Not Found"}`)
		}
		return respond(http.StatusOK, `{"data":{"viewer":{"__typename":"User","login":"octo-dev","databaseId":9}}}`)
	}, func(t *testing.T, c *ghsync.Client, _ *wire) {
		for _, pass := range []time.Duration{0, 59 * time.Minute} {
			time.Sleep(pass) // of the bubble
			if _, err := c.Record(t.Context(), octoWidgets, 12); err != nil || asked != 1 {
				t.Fatalf("asked %d times, %v", asked, err)
			}
		}
		there = true
		time.Sleep(time.Minute)
		if me, err := c.Viewer(t.Context()); err != nil || me.ID != 9 || asked != 2 {
			t.Errorf("%+v, asked %d times, %v", me, asked, err)
		}
	})
}

// A page of a proxy in the place of GraphQL means that there is none if the rest of the
// interface answers. A refusal in the interface's own words is one.
func TestGraphQLThatAProxyRefuses(t *testing.T) {
	const page, plain = "<html><h1>403 Forbidden</h1></html>", "Bad Request"
	for name, tc := range map[string]struct {
		status       int
		body, kind   string
		all, refused bool
	}{
		"a page of 403":          {403, page, "text/html", false, false},
		"words of 400":           {400, plain, "text/plain", false, false},
		"nothing with 403":       {403, "", "text/plain", false, false},
		"JSON of something else": {400, `{"error":"no such service"}`, "application/json", false, false},
		"everything refused":     {403, page, "text/html", true, true},
		"GitHub's refusal":       {403, `{"message":"Resource not accessible by integration"}`, "application/json", false, true},
		"GraphQL's refusal":      {400, `{"errors":[{"message":"Variable $n is missing"}]}`, "application/json", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			over(t, func(_ int, req *http.Request) (*http.Response, error) {
				graphQL := strings.HasSuffix(req.URL.Path, "/graphql")
				if graphQL {
					asked++
				}
				if graphQL || tc.all {
					return respond(tc.status, tc.body, "Content-Type", tc.kind)
				}
				return at(issueAnswers(), req)
			}, func(t *testing.T, c *ghsync.Client, _ *wire) {
				for range 2 {
					record, err := c.Record(t.Context(), octoWidgets, 12)
					if tc.refused != (err != nil) || err == nil && len(record.Labels) != 1 {
						t.Fatalf("record %+v, %v", record, err)
					}
					if terminal := new(transport.Terminal); err != nil && (!errors.As(err, &terminal) || terminal.Status != tc.status) {
						t.Errorf("error %v", err)
					}
				}
				if want := map[bool]int{true: 2, false: 1}[tc.refused]; asked != want {
					t.Errorf("asked %d times, want %d", asked, want)
				}
			})
		})
	}
}

func TestRecordOfAServerWithoutTimelines(t *testing.T) {
	answers := issueAnswers()
	delete(answers, "GET /repos/octo/widgets/issues/12/timeline")
	answers["GET /repos/octo/widgets/issues/12/events"] = labelled
	small(t, answers, func(t *testing.T, c *ghsync.Client, _ *wire) {
		record, err := c.Record(t.Context(), octoWidgets, 12)
		if err != nil || len(record.Labels) != 1 || record.Labels[0].Actor.ID != 9 || len(record.Renames) != 1 {
			t.Errorf("record %+v, %v", record, err)
		}
	})
	delete(answers, "GET /repos/octo/widgets/issues/12/events")
	small(t, answers, func(t *testing.T, c *ghsync.Client, _ *wire) {
		record, err := c.Record(t.Context(), octoWidgets, 12)
		if err != nil || record.Issue.Number != 12 || len(record.Labels) != 0 {
			t.Errorf("without events: record %+v, %v", record, err)
		}
	})
}

func TestAccessOfAServerThatDoesNotSayIt(t *testing.T) {
	for permission, want := range map[string]bool{"admin": true, "write": true, "read": false} {
		t.Run(permission, func(t *testing.T) {
			answers := issueAnswers()
			answers["GET /repos/octo/widgets"] = strings.Replace(repoJSON, `,"permissions":{"pull":true}`, "", 1)
			answers["GET /repos/octo/widgets/collaborators/octo-dev/permission"] = `{"permission":"` + permission + `","user":` + octoDev + `}`
			small(t, answers, func(t *testing.T, c *ghsync.Client, _ *wire) {
				r, err := c.Repository(t.Context(), "octo", "widgets")
				if err != nil || r.CanPush != want || r.CanAdmin != (permission == "admin") || !r.CanRead {
					t.Errorf("repository %+v, %v", r, err)
				}
			})
		})
	}
}

func TestEnsureLabelUnderstandsThatItExists(t *testing.T) {
	for _, body := range []string{
		`{"message":"Validation Failed","errors":[{"resource":"Label","code":"already_exists","field":"name"}]}`,
		`{"message":"Validation Failed","errors":[{"code":"already_exists"}]}`,
		`{"message":"Validation Failed","errors":["Name has already been taken"]}`,
	} {
		over(t, func(int, *http.Request) (*http.Response, error) { return respond(422, body) }, func(t *testing.T, c *ghsync.Client, _ *wire) {
			if made, err := c.EnsureLabel(t.Context(), octoWidgets, ghsync.Label{Name: "agentmux", Color: "5319e7"}); made || err != nil {
				t.Errorf("%s: made %t, %v", body, made, err)
			}
		})
	}
}

func TestMetaOfAServerWithoutIt(t *testing.T) {
	small(t, map[string]string{"GET /user": octoDev}, func(t *testing.T, c *ghsync.Client, _ *wire) {
		if _, err := c.Meta(t.Context()); err != nil {
			t.Error(err)
		}
	})
	small(t, nil, func(t *testing.T, c *ghsync.Client, _ *wire) {
		if _, err := c.Meta(t.Context()); !transport.IsNotFound(err) {
			t.Errorf("of an address where nothing is: %v", err)
		}
	})
}
