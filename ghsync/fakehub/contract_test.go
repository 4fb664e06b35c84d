package fakehub_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// contractVar names the directory with GitHub's descriptions of its interfaces.
const contractVar = "AGENTMUX_TEST_CONTRACT"

// product is the name under which agentmux speaks to GitHub. Other requests are those of
// the fake's own tests, which ask for much on purpose that GitHub would not take.
const product = "agentmux"

// described returns a file of GitHub's descriptions.
func described(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv(contractVar)
	if dir == "" {
		t.Skip("holds recorded traffic against GitHub's descriptions: make test-contract")
	}
	return filepath.Join(dir, "node_modules", "@octokit", name)
}

// exchanges reads the recorded traffic, each different one once.
func exchanges(t *testing.T) []fakehub.Exchange {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv(fakehub.TrafficVar), "traffic-*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[fakehub.Exchange]bool{}
	var all []fakehub.Exchange
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(f)
		for {
			line, err := lines.ReadBytes('\n')
			if err == io.EOF {
				break // what is behind the last line end was cut by a kill
			}
			var e fakehub.Exchange
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !seen[e] {
				seen[e] = true
				all = append(all, e)
			}
		}
		f.Close()
	}
	return all
}

// TestContractREST holds every recorded request and answer against GitHub's description.
func TestContractREST(t *testing.T) {
	c := newContract(t)
	all := exchanges(t)
	for _, e := range all {
		if e.URL != "/graphql" && !strings.HasPrefix(e.URL, "/logs/") { // the storage that GitHub sends readers of logs to
			c.hold(t, e)
		}
	}
	for _, problem := range slices.Sorted(maps.Keys(c.problems)) {
		t.Errorf("%s (%d times)", problem, c.problems[problem])
	}
	for _, route := range slices.Sorted(maps.Keys(c.routes)) {
		t.Logf("%5d %s", c.routes[route], route)
	}
	for _, what := range slices.Sorted(maps.Keys(c.skipped)) {
		t.Logf("%5d not held: %s", c.skipped[what], what)
	}
	if len(c.routes) < 25 {
		t.Errorf("%d routes were used: the traffic is not that of the suite", len(c.routes))
	}
	c.wrong(t, all)
}

func newContract(t *testing.T) *contract {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile(described(t, "openapi/generated/api.github.com.json"))
	if err != nil {
		t.Fatal(err)
	}
	c := &contract{doc: doc, problems: map[string]int{}, routes: map[string]int{}, skipped: map[string]int{}}
	// In order: of two that fit as well, as compare/{basehead} and its older form, the first
	// is taken each time.
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		c.paths = append(c.paths, template{path, strings.Split(strings.Trim(path, "/"), "/")})
	}
	return c
}

// wrong has one comment of the traffic be wrong in every way that must be noticed.
func (c *contract) wrong(t *testing.T, all []fakehub.Exchange) {
	t.Helper()
	i := slices.IndexFunc(all, func(e fakehub.Exchange) bool {
		return e.Agent == product && !e.Fault && e.Method == http.MethodPost && e.Status == http.StatusCreated && strings.HasSuffix(e.URL, "/comments")
	})
	if i < 0 {
		t.Fatal("no comment was made")
	}
	member := func(text, name string, value any) string {
		var all map[string]any
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
		if all[name] = value; value == nil {
			delete(all, name)
		}
		data, _ := json.Marshal(all)
		return string(data)
	}
	for name, change := range map[string]func(e *fakehub.Exchange){
		"an unknown member of the request": func(e *fakehub.Exchange) { e.Body = member(e.Body, "bodi", "x") },
		"a member of the wrong type":       func(e *fakehub.Exchange) { e.Body = member(e.Body, "body", 3) },
		"a member that lacks":              func(e *fakehub.Exchange) { e.Body = "{}" },
		"an unknown parameter":             func(e *fakehub.Exchange) { e.URL += "?colour=red" },
		"an answer of the wrong type":      func(e *fakehub.Exchange) { e.Answer = member(e.Answer, "id", "12") },
		"an answer that lacks a member":    func(e *fakehub.Exchange) { e.Answer = member(e.Answer, "user", nil) },
		"an unknown status":                func(e *fakehub.Exchange) { e.Status = http.StatusAccepted },
		"an unknown route":                 func(e *fakehub.Exchange) { e.URL += "/x/y" },
		"a route of the fake's own":        func(e *fakehub.Exchange) { e.URL, e.Agent = e.URL+"/x/z", "test" },
	} {
		e := all[i]
		change(&e)
		before := len(c.problems)
		if c.hold(t, e); len(c.problems) == before {
			t.Errorf("%s is not noticed", name)
		}
	}
}

type template struct {
	path     string
	segments []string
}

type contract struct {
	doc      *openapi3.T
	paths    []template
	problems map[string]int
	routes   map[string]int // requests and answers held, by route
	skipped  map[string]int // what was not held, by why
}

func (c *contract) problem(e fakehub.Exchange, format string, args ...any) {
	c.problems[fmt.Sprintf("%s %s -> %d: ", e.Method, e.URL, e.Status)+fmt.Sprintf(format, args...)]++
}

// restOf are the parameters that take what is left of a path, slashes included.
var restOf = map[string]bool{
	"/repos/{owner}/{repo}/contents/{path}":          true,
	"/repos/{owner}/{repo}/git/ref/{ref}":            true,
	"/repos/{owner}/{repo}/branches/{branch}":        true,
	"/repos/{owner}/{repo}/commits/{ref}":            true,
	"/repos/{owner}/{repo}/compare/{basehead}":       true,
	"/repos/{owner}/{repo}/rules/branches/{branch}":  true,
	"/repos/{owner}/{repo}/git/matching-refs/{ref}":  true,
	"/repos/{owner}/{repo}/commits/{ref}/check-runs": false,
}

// find returns the described route of a path; the one with the most fixed parts counts.
func (c *contract) find(path string) (string, map[string]string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if segments[0] == "repositories" && len(segments) > 1 { // where GitHub redirects renamed repositories to
		segments = append([]string{"repos", "octo", "widgets"}, segments[2:]...)
	}
	best, fixed := "", -1
	var params map[string]string
	for _, t := range c.paths {
		found, n := t.match(segments)
		if found != nil && n > fixed {
			best, fixed, params = t.path, n, found
		}
	}
	return best, params
}

func (t template) match(segments []string) (map[string]string, int) {
	rest := restOf[t.path] && len(segments) >= len(t.segments)
	if len(t.segments) != len(segments) && !rest {
		return nil, 0
	}
	params, fixed := map[string]string{}, 0
	for i, part := range t.segments {
		value := segments[i]
		if rest && i == len(t.segments)-1 {
			value = strings.Join(segments[i:], "/")
		}
		name, isParam := strings.CutPrefix(part, "{")
		switch {
		case isParam:
			params[strings.TrimSuffix(name, "}")], _ = url.PathUnescape(value)
		case part != value:
			return nil, 0
		default:
			fixed++
		}
	}
	return params, fixed
}

func (c *contract) hold(t *testing.T, e fakehub.Exchange) {
	t.Helper()
	u, err := url.Parse(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	isProduct := e.Agent == product
	path, params := c.find(u.EscapedPath())
	var operation *openapi3.Operation
	if path != "" {
		operation = c.doc.Paths.Value(path).GetOperation(e.Method)
	}
	if operation == nil {
		if isProduct || e.Status < http.StatusBadRequest {
			c.problem(e, "GitHub describes no such route")
		}
		c.skipped["unknown routes, asked and refused by tests of the fake"]++
		return
	}
	c.routes[e.Method+" "+path]++
	req, err := http.NewRequestWithContext(t.Context(), e.Method, "https://api.github.com"+e.URL, bytes.NewReader([]byte(e.Body)))
	if err != nil {
		t.Fatal(err)
	}
	if e.Type != "" {
		req.Header.Set("Content-Type", e.Type)
	}
	in := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, QueryParams: u.Query(),
		Route: &routers.Route{Spec: c.doc, Path: path, PathItem: c.doc.Paths.Value(path), Method: e.Method, Operation: operation},
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true, IncludeResponseStatus: true, MultiError: true,
		},
	}
	if isProduct {
		if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil {
			c.problem(e, "the request: %s", strings.Join(wrongs(err), "; "))
		}
		c.known(e, u, operation)
	} else {
		c.skipped["requests of the fake's own tests"]++
	}
	if e.Fault {
		c.skipped["answers that a fault made"]++
		return
	}
	c.answer(t, e, in)
}

// known reports what of a request GitHub would not look at: query parameters and members
// of the body that it does not describe.
func (c *contract) known(e fakehub.Exchange, u *url.URL, operation *openapi3.Operation) {
	for name := range u.Query() {
		if operation.Parameters.GetByInAndName("query", name) == nil {
			c.problem(e, "the request: GitHub knows no parameter %s", name)
		}
	}
	var body map[string]any
	if json.Unmarshal([]byte(e.Body), &body) != nil {
		return
	}
	if operation.RequestBody == nil {
		c.problem(e, "the request: GitHub takes no body")
		return
	}
	names := map[string]bool{}
	members(operation.RequestBody.Value.Content.Get("application/json").Schema, names)
	for name := range body {
		if !names[name] {
			c.problem(e, "the request: GitHub knows no member %s", name)
		}
	}
}

// members collects the names a schema describes, of all its alternatives.
func members(ref *openapi3.SchemaRef, names map[string]bool) {
	if ref == nil || ref.Value == nil {
		return
	}
	for name := range ref.Value.Properties {
		names[name] = true
	}
	for _, list := range []openapi3.SchemaRefs{ref.Value.OneOf, ref.Value.AnyOf, ref.Value.AllOf} {
		for _, alternative := range list {
			members(alternative, names)
		}
	}
}

// anywhere are statuses that GitHub documents for all of its interface and not again for
// each route: no or bad credentials, no permission or a limit, nothing there, limits.
var anywhere = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone, http.StatusTooManyRequests}

// undescribed are answers that GitHub gives though its description does not list them: a
// status on a commit that is not there, a run of a workflow on a ref that is not there.
var undescribed = map[string]int{
	"POST /repos/{owner}/{repo}/statuses/{sha}":                             http.StatusUnprocessableEntity,
	"POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches": http.StatusUnprocessableEntity,
}

// answer holds an answer of the fake against the description.
func (c *contract) answer(t *testing.T, e fakehub.Exchange, in *openapi3filter.RequestValidationInput) {
	t.Helper()
	listed := in.Route.Operation.Responses.Status(e.Status) != nil
	if !listed && (slices.Contains(anywhere, e.Status) || undescribed[e.Method+" "+in.Route.Path] == e.Status) {
		var body any
		if err := json.Unmarshal([]byte(e.Answer), &body); err != nil {
			c.problem(e, "the answer: %v", err)
		} else if err := c.doc.Components.Schemas["basic-error"].Value.VisitJSON(body); err != nil {
			c.problem(e, "the answer: %s", strings.Join(wrongs(err), "; "))
		}
		return
	}
	header := http.Header{}
	if e.Answer != "" {
		header.Set("Content-Type", "application/json; charset=utf-8")
	}
	err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: e.Status, Header: header, Body: io.NopCloser(strings.NewReader(e.Answer)), Options: in.Options,
	})
	if err == nil {
		return
	}
	if list := slices.DeleteFunc(wrongs(err), func(w string) bool { return excused(in.Route.Path, w) }); len(list) > 0 {
		c.problem(e, "the answer: %s", strings.Join(list, "; "))
	}
}

// missing is what is wrong with an object that lacks a member.
var missing = regexp.MustCompile(`^\S*/(\w+): property "\w+" is missing$`)

// leftOut are members that GitHub always sends, no code here reads and the fake does not
// send, beside addresses but the one for people: numbers of stars and the like.
var leftOut = strings.Fields(`forks forks_count has_downloads has_pages homepage language license mirror_url network_count open_issues
	score search_type stargazers_count subscribers_count watchers watchers_count check_suite _links`)

// inPart are things of which the fake shows only what is read: profiles, Apps, runs of
// workflows, files, commits and their comparison.
var (
	inPart   = regexp.MustCompile(`/(?:app|performed_via_github_app|files/\d+|commit|tree)/\w+: `)
	inPartOf = []string{
		"/app", "/user", "/users/{username}", "/repos/{owner}/{repo}/contents/{path}", "/repos/{owner}/{repo}/actions/runs", "/repos/{owner}/{repo}/actions/runs/{run_id}", "/repos/{owner}/{repo}/installation", "/orgs/{org}/installation",
		"/repos/{owner}/{repo}/compare/{basehead}", "/repos/{owner}/{repo}/commits/{ref}", "/app/installations", "/app/installations/{installation_id}",
	}
)

// excused tells what the fake may get wrong.
func excused(route, wrong string) bool {
	if m := missing.FindStringSubmatch(wrong); m != nil {
		address := strings.HasSuffix(m[1], "_url") && m[1] != "html_url"
		return address || slices.Contains(leftOut, m[1]) || slices.Contains(inPartOf, route) || inPart.MatchString(wrong)
	}
	// The description has a search find no issue without a body; GitHub sends null there.
	return strings.HasPrefix(wrong, "/items/") && strings.HasSuffix(wrong, "/body: Value is not nullable")
}

// wrongs lists what is wrong and where, without the schema.
func wrongs(err error) []string {
	var list openapi3.MultiError
	var wrong *openapi3.SchemaError
	switch {
	case errors.As(err, &list):
		var all []string
		for _, one := range list {
			all = append(all, wrongs(one)...)
		}
		return all
	case errors.As(err, &wrong) && wrong.Origin != nil:
		return wrongs(wrong.Origin)
	case wrong != nil:
		return []string{"/" + strings.Join(wrong.JSONPointer(), "/") + ": " + wrong.Reason}
	}
	return []string{strings.Join(strings.Fields(err.Error()), " ")}
}
