package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// A fork of an organisation is served only if somebody names it: anybody may bring one there.
func TestSecurity1ABotRefusesAForkThatIsNotNamed(t *testing.T) {
	t.Parallel()
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
