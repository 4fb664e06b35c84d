package host_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

const oneAgent = `session: greet
worktree_base: ../work
on_complete: [push, pr]
agents:
  - {name: words, branch: feature/words, task: Write the words.}
`

// An agent that finds its work on its branch owes the steps that follow a commit. A branch of the server that it
// continues keeps its name, one that went another way is somebody else's, and what must not leave the machine
// stays, also if a later commit took it away again.
func TestAgentsThatFindTheirWorkPushIt(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	push := func(r *githubRig, what string) {
		r.git("push", "-q", strings.Replace(r.github.CloneURL(widgets), "://", "://mia:"+r.github.Token("mia")+"@", 1), what)
	}
	for name, c := range map[string]struct {
		history []string // files that its commits add; the first of two is removed again
		server  func(r *githubRig)
		pushed  string // branch; empty if nothing is
	}{
		"on the server":         {history: []string{"words.txt"}, server: func(r *githubRig) { push(r, "feature/words") }, pushed: "feature/words"},
		"in part on the server": {history: []string{"a.txt", "words.txt"}, server: func(r *githubRig) { push(r, "feature/words^^:refs/heads/feature/words") }, pushed: "feature/words"},
		"somebody else's on the server": {history: []string{"words.txt"}, server: func(r *githubRig) {
			push(r, r.git("commit-tree", "-m", "Theirs", "-p", "main", "main^{tree}")+":refs/heads/feature/words")
		}, pushed: "feature/words-2"},
		"a path that must not leave": {history: []string{".github/workflows/a.yml", "words.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitHubRig(t, "")
			r.git("switch", "-qc", "feature/words")
			for _, file := range c.history {
				r.write(file, "x\n")
				r.git("add", file)
				r.git("commit", "-qm", "Add "+file)
			}
			if len(c.history) > 1 {
				r.git("rm", "-q", c.history[0])
				r.git("commit", "-qm", "Remove "+c.history[0])
			}
			tip := r.git("rev-parse", "HEAD")
			r.git("switch", "-qf", "main")
			if c.server != nil {
				c.server(r)
			}
			r.script(scenario{Files: map[string][]string{"words": {"AGENT_SUMMARY.md=it is there"}}})
			dir := r.prepare(func(spec *host.PrepareSpec) {
				spec.Agents, spec.Request, spec.Name = []byte(oneAgent), "", "greet"
				if _, err := spec.Project.Store.FetchClone(t.Context(), r.project, "refs/heads/feature/words"); err != nil {
					t.Fatal(err)
				}
				spec.Tips = map[string]string{"words": tip}
			})
			s := r.run(host.RunSpec{Dir: dir})
			pulls := r.repo.Pulls()
			if c.pushed == "" {
				if s.Outcome != orchestrator.OutcomeFailed || len(pulls) > 0 || slices.Contains(branchesOn(r), "refs/heads/feature/words") {
					t.Errorf("outcome %s, %d pull requests, on the server %v", s.Outcome, len(pulls), branchesOn(r))
				}
				return
			}
			if s.Outcome != orchestrator.OutcomeDone || len(pulls) != 1 || pulls[0].Head != c.pushed || pulls[0].HeadSHA != tip {
				t.Errorf("outcome %s: %s; pull requests %+v, want one of %s at %s", s.Outcome, s.Cause, pulls, c.pushed, tip)
			}
			if p := s.Team["words"]; p.Commit != tip || p.PRNumber == 0 || p.Branch != c.pushed {
				t.Errorf("progress %+v", p)
			}
			if r.git("rev-parse", "feature/words") != tip || r.count(dir, orchestrator.EvCommitCreated) > 0 {
				t.Error("a commit was made")
			}
			if want := map[bool]int{true: 3, false: 2}[strings.HasSuffix(c.pushed, "-2")]; len(branchesOn(r)) != want {
				t.Errorf("on the server: %v", branchesOn(r))
			}
		})
	}
}

// branchesOn lists the branches of the server.
func branchesOn(r *githubRig) (names []string) {
	for ref := range r.repo.Refs() {
		if strings.HasPrefix(ref, "refs/heads/") {
			names = append(names, ref)
		}
	}
	return names
}
