package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// A fork of an organisation is served only if somebody names it: anybody may bring one there.
func TestSecurity1ABotRefusesAForkThatIsNotNamed(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, tc := range map[string]struct {
		args []string
		done bool
	}{
		"by the organisation": {args: []string{"--org", "acme"}},
		"by its name":         {args: []string{"--org", "acme", "--repo", "acme/forked"}, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			const fork = "acme/forked"
			r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig})
			if err := r.github.AddRepo(fakehub.RepoSpec{Owner: "acme", Name: "forked", ForkOf: rigRepo}); err != nil {
				t.Fatal(err)
			}
			repo := r.github.Repo(fork)
			repo.SetRole(rigOwner, fakehub.Admin)
			repo.SetRole(rigBot, fakehub.Write)
			repo.AddIssue(fakehub.IssueSpec{Title: "Say two", Body: "Both files should say two.\n", Author: rigOwner})
			repo.Label(1, "agentmux:quick", rigOwner)
			res := r.expect(0, append([]string{"bot", "--once"}, tc.args...)...)
			refused := slices.ContainsFunc(r.told(fork, 1), func(body string) bool {
				return strings.Contains(body, "is a fork that belongs to the bot through its organisation alone")
			})
			if r.isDone(fork, 1) != tc.done || refused == tc.done {
				t.Errorf("done %v, refused %v, labels %v\n%s", r.isDone(fork, 1), refused, repo.Issue(1).Labels, res.err)
			}
		})
	}
}

// The first lines of a bot say what makes it begin, and what will keep it from that.
func TestBotSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{unlabel: true, config: "bot: {status_addr: \"\"}\n"})
	err := r.expect(0, "bot", "--repo", rigRepo, "--once").err
	for _, line := range []string{
		`level=INFO msg="an issue that gets the label becomes a session" repo=acme/widgets label=agentmux`,
		`level=WARN msg="its issues will be refused: the repository is public, and agents run without a sandbox here" repo=acme/widgets`,
	} {
		if !strings.Contains(err, line) {
			t.Errorf("no line %s\n%s", line, err)
		}
	}
}

// A bot finds the requests of an organisation as an App, on a server of one's own, whose API is below its address, as
// well as on one whose API is another host. What it does in a repository it does with a token for that repository
// alone; only the search has one for all of them.
func TestGitHub16ABotOfAnOrganisationOnEachServer(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, tc := range map[string]struct {
		github fakehub.Options
		api    func(*fakehub.Server) string // that the environment names; empty: it follows from the server
	}{
		"below its address": {github: fakehub.Options{Enterprise: true}, api: func(*fakehub.Server) string { return "" }},
		"another host":      {api: func(s *fakehub.Server) string { return s.OtherURL() + "/" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig, github: tc.github})
			app, _ := r.useApp(map[string]string{
				"contents": "write", "issues": "write", "pull_requests": "write", "statuses": "write", "metadata": "read", "actions": "read", "checks": "read",
			})
			r.setEnv("GITHUB_API_URL", tc.api(r.github))
			r.setEnv("GITHUB_GRAPHQL_URL", "")
			r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
			res := r.expect(0, "bot", "--org", "acme", "--once")
			entries := r.served(rigRepo)
			if len(entries) != 1 || !r.isDone(rigRepo, 1) {
				t.Fatalf("%d sessions, labels %v\n%s", len(entries), r.github.Repo(rigRepo).Issue(1).Labels, res.err)
			}
			r.done(entries[0])
			for _, e := range r.github.Log() {
				if e.Actor != app.Login {
					t.Errorf("%s wrote %s", e.Actor, e.Route)
				}
			}
			mints, base := 0, map[bool]string{true: "/api/", false: "/"}[tc.github.Enterprise]
			for _, c := range r.github.Calls() {
				if strings.HasSuffix(c.Path, "/access_tokens") {
					mints++
				}
				if !strings.HasPrefix(c.Path, base) && !strings.HasPrefix(c.Path, "/"+rigRepo+".git/") {
					t.Errorf("%s %s is not below %s", c.Method, c.Path, base)
				}
			}
			if mints != 2 {
				t.Errorf("%d tokens, want that of the search and that of the repository", mints)
			}
		})
	}
}
