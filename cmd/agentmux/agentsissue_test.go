package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/origin"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

const issuePlaybook = teamPlaybook + `  - role: build
    task: broken
    steps:
      - exit: 3
`

// Agents that work for issues: each has the text of its own as task, its pull request closes that
// one, and what is said on an issue is of its agent alone. One that starts on the branch of another
// is stacked on it. The issues are claimed for that time.
func TestProtocolM5AgentsThatWorkForIssues(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: issuePlaybook, config: "sandbox: {unsafe_flags: true}\ngithub: {write_interval: 0s}\ncheckpoint: {remote: false}\n"})
	hub := r.github.Repo(rigRepo)
	second := hub.AddIssue(fakehub.IssueSpec{Title: "Greet the world", Body: "Say hello to <!-- hidden --> everybody.", Author: rigOwner})
	third := hub.AddIssue(fakehub.IssueSpec{Title: "Break it", Body: "With an exit.", Author: rigOwner})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), fmt.Sprintf(`session: shop
namespace_branches: true
on_complete: [push, pr]
agents:
  - name: words
    branch: feature/words
    issue: 1
  - name: greeting
    branch: feature/greeting
    depends_on: words
    from: words
    issue: %d
  - name: broken
    branch: feature/broken
    issue: %d
  - name: free
    branch: feature/free
    task: Nothing that an issue asks for
    depends_on: broken
`, second, third))
	other := r.claimedElsewhere(second)
	if res := r.expect(exit.Locked, "agents", "start", "--yes", "--headless"); !strings.Contains(res.err, fmt.Sprintf("acme/widgets#%d is claimed by host", second)) || len(r.sessions()) != 0 {
		t.Errorf("a start although another host has an issue: %s", res.err)
	}
	if err := other.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	res := r.expect(exit.Failed, "agents", "start", "--yes", "--headless")
	e := r.session()
	r.sound(e)

	var found []string
	for _, p := range hub.Pulls() {
		found = append(found, p.Head+" on "+p.Base+": "+p.Title)
		if want := r.git(r.clone, "rev-parse", p.Head); p.HeadSHA != want {
			t.Errorf("%s is at %s on the server, at %s in the clone", p.Head, p.HeadSHA, want)
		}
		// A word that closes does nothing on a pull request to another branch than the default one.
		want, not := fmt.Sprintf("\nCloses #%d\n", map[string]int{"mia/feature/words": 1}[p.Head]), "Refs #"
		if p.Base != "main" {
			want, not = fmt.Sprintf("\nMerging this does not close the issue: the base is not the default branch.\n\nRefs #%d\n", second), "Closes #"
		}
		if !strings.Contains(p.Body, want) || strings.Contains(p.Body, not) {
			t.Errorf("%s: no %q, or %q, in\n%s", p.Head, want, not, p.Body)
		}
	}
	if want := []string{"mia/feature/words on main: Say two", "mia/feature/greeting on mia/feature/words: Greet the world"}; !slices.Equal(found, want) {
		t.Errorf("pull requests %q\n%s%s", found, res.out, res.err)
	}
	mia, of := r.client(r.github, rigOwner), map[string]int{"mia/feature/words": 1, "mia/feature/greeting": second}
	for _, p := range hub.Pulls() {
		unit := orchestrator.PublicID("shop--"+strings.TrimPrefix(p.Head, "mia/feature/"), e.State.Identity)
		if issue, by, err := origin.OfPull(t.Context(), mia, ghsync.Repo{Owner: "acme", Name: "widgets"}, p.Number); err != nil || issue != of[p.Head] || by != unit {
			t.Errorf("%s is of issue %d and %q, %v, want %q", p.Head, issue, by, err, unit)
		}
		if want := fmt.Sprintf("/pull/%d\n", p.Number); !strings.Contains(res.out, want) {
			t.Errorf("the end does not print %s:\n%s", want, res.out)
		}
	}
	if out := r.expect(exit.Done, "agents", "status").out; !strings.Contains(out, "/pull/") {
		t.Errorf("status: %s", out)
	}
	if prompt := r.read(e.Dir, "06_implementation", "greeting_prompt.md"); !strings.Contains(prompt, "Say hello to") || !strings.Contains(prompt, "the text of the issue by "+rigOwner) ||
		strings.Contains(prompt, "hidden") || strings.Contains(prompt, "Both files should say two") {
		t.Errorf("the prompt of greeting is\n%s", prompt)
	}
	for number, want := range map[int]struct{ label, has, not string }{
		1:      {"agentmux:done", "Agent words of the run shop", "feature/greeting"},
		second: {"agentmux:done", "Agent greeting of the run shop", "Agent words"},
		third:  {"agentmux:failed", "exit 3", "feature/words"},
	} {
		if labels := hub.Issue(number).Labels; !slices.Contains(labels, want.label) {
			t.Errorf("issue %d has the labels %v", number, labels)
		}
		text := ""
		for _, c := range hub.Comments(number) {
			text += c.Body + "\n"
		}
		if strings.Contains(text, want.not) || number == third && !strings.Contains(text, want.has) {
			t.Errorf("comments of issue %d:\n%s", number, text)
		}
		if number == third && !strings.Contains(text, "comment `/agentmux retry` while the run works, or type `agentmux retry shop --role broken`") || strings.Contains(text, "--changes") {
			t.Errorf("what to do next, on issue %d:\n%s", number, text)
		}
		if n := len(hub.Comments(number)); n != 2 {
			t.Errorf("%d comments on issue %d, want a status and an end:\n%s", n, number, text)
		}
	}
	if got := r.git(r.clone, "ls-remote", r.github.CloneURL(rigRepo), "refs/agentmux/claims/*"); got != "" {
		t.Errorf("claims are left: %s", got)
	}
	r.agentsWithinBudget(2, map[string]int{"words": 1, "greeting": second, "broken": third})
}

// An agent that works for an issue says, too, what it sees none of.
func TestTheContentThatAgentsOfAFileLackIsTold(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{
		playbook: teamPlaybook, config: "sandbox: {unsafe_flags: true}\ngithub: {write_interval: 0s}\ncheckpoint: {remote: false}\n",
		files: map[string]string{
			"a.txt": "one\n", ".gitattributes": "*.bin filter=lfs -text\n",
			"absent.bin": fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 7\n", 0),
		},
	})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"),
		"session: shop\non_complete: [push, pr]\nagents:\n  - name: words\n    branch: feature/words\n    issue: 1\n")
	r.expect(exit.Done, "agents", "start", "--yes", "--headless")
	const want = "0 submodules, 1 LFS file: agents see none of their content"
	if body := r.github.Repo(rigRepo).Pulls()[0].Body; !strings.Contains(body, want) {
		t.Errorf("the pull request says\n%s", body)
	}
}

// agentsWithinBudget fails if an agent costs more than its share of the requests to GitHub, which are those of one account, or
// if the run costs more besides. issues are the agents that work for one.
func (r *rig) agentsWithinBudget(starts int, issues map[string]int) {
	r.t.Helper()
	// An agent's own: its status and its end, two labels there and back, and an edit of the status for each of
	// started, submitted, committed, pushed, opened and ended; of its pull request the look for one, and a reviewer.
	const each, eachContent = 2 + 4 + 6 + 2, 2 + 6/2.0 + 2
	hub := r.github.Repo(rigRepo)
	own := map[string][]string{}
	owner := func(path string) string {
		for name, issue := range issues {
			parts := []string{fmt.Sprintf("/issues/%d/", issue), "%2Ffeature%2F" + name + "&"}
			for _, c := range hub.Comments(issue) {
				parts = append(parts, fmt.Sprintf("/issues/comments/%d", c.ID))
			}
			for _, p := range hub.Pulls() {
				if strings.HasSuffix(p.Head, "/"+name) {
					parts = append(parts, fmt.Sprintf("/pulls/%d/", p.Number), fmt.Sprintf("/issues/%d/", p.Number))
				}
			}
			if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(path+"/", part) }) {
				return name
			}
		}
		return ""
	}
	for _, call := range r.github.Calls() {
		if call.Counted && call.Actor == rigBot && !lookRule.MatchString(call.Path) {
			name := owner(call.Path)
			own[name] = append(own[name], call.Method+" "+call.Path)
		}
	}
	r.looks(starts) // as few as those of one session
	for name := range issues {
		if n := len(own[name]); n == 0 || n > each {
			r.t.Errorf("%s costs %d requests, at most %d:\n%s", name, n, each, strings.Join(own[name], "\n"))
		}
	}
	// All agents share the account. A start reads the repository, who may ask, each issue and what became of it; a pull request is opened,
	// and its state and the default branch are read.
	bar := starts*(3+len(issues)) + 3*len(hub.Pulls())
	if n := len(own[""]); n > bar {
		r.t.Errorf("the run costs %d requests besides, at most %d:\n%s", n, bar, strings.Join(own[""], "\n"))
	}
	if sum := r.github.ContentWrites(rigBot); sum > float64(len(issues))*eachContent {
		r.t.Errorf("%g content writes of %d agents, at most %g each", sum, len(issues), eachContent)
	}
}

// claimedElsewhere claims an issue for another host.
func (r *rig) claimedElsewhere(issue int) claim.Held {
	r.t.Helper()
	store, err := claim.OpenStore(r.t.Context(), r.t.TempDir())
	if err != nil {
		r.t.Fatal(err)
	}
	token := r.github.Token(rigBot)
	desk := claim.NewRemote(claim.Options{
		Repo:  remote.Repository{URL: r.github.CloneURL(rigRepo), Secret: func(context.Context) (string, error) { return token, nil }},
		Store: store, RepoID: r.github.Repo(rigRepo).ID(), Host: claim.NewHostID(),
	})
	held, err := desk.Take(r.t.Context(), claim.Want{Issue: issue, Session: "other", Trigger: "cli/other", State: claim.Running})
	if err != nil {
		r.t.Fatal(err)
	}
	return held
}
