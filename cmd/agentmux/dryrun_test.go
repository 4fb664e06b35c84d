package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// Case 69: a dry run of either workflow sends no write and makes no session, and says
// what the run then does.
func TestGitHub69ADryRunWritesNothing(t *testing.T) {
	t.Parallel()
	for workflow, first := range map[string]string{"quick": "planner", "feature": "architect"} {
		t.Run(workflow, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: quickPlaybook})
			refs := r.git(r.clone, "for-each-ref")
			res := r.expect(0, "issue", "1", "--workflow", workflow, "--headless", "--dry-run")
			if log := r.github.Log(); len(log) != 0 {
				t.Errorf("writes: %+v", log)
			}
			for _, call := range r.github.Calls() {
				if call.Method != http.MethodGet && call.Route != "POST /graphql" && !strings.HasPrefix(call.Route, "GIT fetch") {
					t.Errorf("sent: %+v", call)
				}
			}
			if _, err := os.Stat(filepath.Join(r.clone, ".agentmux")); err == nil || r.git(r.clone, "for-each-ref") != refs {
				t.Error("the clone was written to")
			}
			for _, dir := range []string{"workspaces", "homes"} {
				if _, err := os.Stat(filepath.Join(r.dir, "home", ".local", "state", "agentmux", dir)); err == nil {
					t.Errorf("%s was made", dir)
				}
			}
			for _, want := range []string{
				"branch     agentmux/issue-1-say-two\n", "prompt of " + first, "Both files should say two.", "reviewer_logic",
				"  | Closes #1\n", "variables: ", "nothing was written", "label agentmux comes off\n", "/statuses/{commit} ",
			} {
				if !strings.Contains(res.out, want) {
					t.Errorf("the plan lacks %q", want)
				}
			}
			for _, bad := range []string{"came no further", r.github.Token(rigBot), "<scratch>/.agentmux", r.dir + "/amx"} {
				if strings.Contains(res.out, bad) {
					t.Errorf("the plan shows %q", bad)
				}
			}
			if strings.Contains(res.err, "msg=") {
				t.Errorf("it logs what is not done:\n%s", res.err)
			}
			if t.Failed() {
				t.Log(res.out)
			}
		})
	}
}

// Case 69: what a dry run lists is what the run of the same issue then writes: nothing
// more, nothing less, and in the same order on each way to the server: the branch's, the
// comments', the labels', the verdict's and the checkpoints'. Between them the order is the clock's.
func TestGitHub69TheDryRunListsWhatTheRunWrites(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	everything := map[string]string{
		"contents": "write", "issues": "write", "pull_requests": "write", "statuses": "write", "metadata": "read", "actions": "read", "checks": "read",
	}
	for name, c := range map[string]struct {
		options rigOptions
		as      func(*rig)
		args    []string
		want    []string // among them
	}{
		"an App":                  {rigOptions{}, func(r *rig) { r.useApp(everything) }, nil, []string{"POST repos/acme/widgets/pulls/N/requested_reviewers"}},
		"a token of an App":       {rigOptions{}, func(r *rig) { r.useInstallation(everything) }, nil, []string{"POST repos/acme/widgets/pulls/N/requested_reviewers"}},
		"the requester's token":   {rigOptions{}, func(r *rig) { r.setEnv("AGENTMUX_GITHUB_TOKEN", r.github.Token(rigOwner)) }, nil, nil},
		"an App, not labelled":    {rigOptions{unlabel: true}, func(r *rig) { r.useApp(everything) }, []string{"--mirror"}, nil},
		"an App of an own server": {rigOptions{github: fakehub.Options{Enterprise: true, NoGraphQL: true}}, func(r *rig) { r.useApp(everything) }, nil, nil},
		"labelled":                {rigOptions{}, nil, nil, []string{"PUSH refs/heads/agentmux/issue-1-say-two", "POST repos/acme/widgets/pulls", "MUTATION MarkReady", "PUSH refs/agentmux/sessions/N"}},
		"own server": {rigOptions{
			github: fakehub.Options{Enterprise: true, NoGraphQL: true}, config: "github: {comments: every}\n",
		}, nil, nil, []string{"POST repos/acme/widgets/pulls/N/requested_reviewers"}},
		"not shown": {rigOptions{unlabel: true, config: "github: {ready: never}\n"}, nil, nil, []string{"POST repos/acme/widgets/pulls"}},
		"no push":   {rigOptions{config: "github: {push: false}\n"}, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.playbook = quickPlaybook
			r := newRig(t, c.options)
			if c.as != nil {
				c.as(r)
			}
			args := slices.Concat([]string{"issue", "1"}, quickRun, c.args)
			planned := plannedRequests(r.expect(0, append(args, "--dry-run")...).out)
			if log := r.github.Log(); len(log) != 0 {
				t.Fatalf("written: %+v", log)
			}
			r.expect(0, args...)
			written := writtenRequests(r.github.Log())
			for _, way := range []string{"the branch", "the comments", "the labels", "the verdict", "the checkpoints"} {
				want, got := wayOf(way, written), wayOf(way, planned)
				if !slices.Equal(want, got) {
					t.Errorf("%s: planned\n  %s\nwritten\n  %s", way, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
				}
			}
			for _, want := range c.want {
				if !slices.Contains(planned, want) {
					t.Errorf("%q is not planned: %q", want, planned)
				}
			}
		})
	}
}

// Case 77: an account that may not write leaves the branch in the clone.
func TestGitHub77TheDryRunOfAnAccountThatMayNotWrite(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, role: fakehub.Read})
	args := append([]string{"issue", "1"}, quickRun...)
	planned := plannedRequests(r.expect(0, append(args, "--dry-run")...).out)
	if !slices.Equal(planned, []string{"BRANCH agentmux/issue-1-say-two"}) {
		t.Errorf("planned %q", planned)
	}
	res := r.expect(0, args...)
	const line = "git push YOUR-FORK agentmux/issue-1-say-two && gh pr create --repo acme/widgets --base main --head YOU:agentmux/issue-1-say-two"
	if !strings.Contains(res.err, line) || !strings.Contains(r.expect(0, "status").out, line) {
		t.Errorf("it does not say how to propose the branch:\n%s", res.err)
	}
	if log := r.github.Log(); len(log) != 0 {
		t.Errorf("written: %+v", log)
	}
	r.git(r.clone, "rev-parse", "--verify", "agentmux/issue-1-say-two")
}

// Who may not write is told to push to their fork, where the clone has one.
func TestTheLineThatProposesABranchNamesTheFork(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, role: fakehub.Read})
	r.expect(0, issueRun...)
	fork := strings.Replace(r.github.CloneURL(rigRepo), "acme/", "robo/", 1)
	const branch = "agentmux/issue-1-say-two"
	for _, c := range []struct {
		name         string
		git          []string
		remote, head string
	}{
		{"none", nil, "YOUR-FORK", "YOU:"},
		{"of another repository", []string{"remote", "add", "other", strings.Replace(fork, "widgets", "gadgets", 1)}, "YOUR-FORK", "YOU:"},
		{"on another server", []string{"remote", "add", "mirror", "https://github.example.com/robo/widgets.git"}, "YOUR-FORK", "YOU:"},
		{"with a name that a shell runs", []string{"remote", "add", "$(x)", fork}, "YOUR-FORK", "YOU:"},
		{"one", []string{"remote", "rename", "$(x)", "mine"}, "mine", "robo:"},
		{"another", []string{"remote", "add", "hers", "git@127.0.0.1:mia/widgets.git"}, "YOUR-FORK", "YOU:"},
		{"over ssh", []string{"remote", "remove", "mine"}, "hers", "mia:"},
		{"for pushes", []string{"remote", "set-url", "--push", "origin", fork}, "origin", "robo:"},
		{"origin", []string{"remote", "set-url", "origin", fork}, "origin", "robo:"},
	} {
		if c.git != nil {
			r.git(r.clone, c.git...)
		}
		want := "git push " + c.remote + " " + branch + " && gh pr create --repo acme/widgets --base main --head " + c.head + branch + "\n"
		if got := r.expect(0, "status").out; !strings.Contains(got, want) {
			t.Errorf("%s: want %s\n%s", c.name, want, got)
		}
	}
	if log := r.github.Log(); len(log) != 0 {
		t.Errorf("written: %+v", log)
	}
}

// A dry run of a request lists what its run writes, with and without a server.
func TestTheDryRunOfARequest(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	args := append([]string{"run", "Say two"}, quickRun...)
	res := r.expect(0, append(args, "--dry-run")...)
	for _, want := range []string{"request    Say two\n", "branch     agentmux/say-two\n", "prompt of planner", `pull request "feat: Say two"`, "against main: feat: Say two\n"} {
		if !strings.Contains(res.out, want) {
			t.Errorf("the plan lacks %q", want)
		}
	}
	if log := r.github.Log(); len(log) != 0 || len(r.sessions()) != 0 {
		t.Errorf("written: %+v, sessions: %+v", log, r.sessions())
	}
	r.expect(0, args...)
	planned, written := plannedRequests(res.out), writtenRequests(r.github.Log())
	if want, got := wayOf("the branch", written), wayOf("the branch", planned); !slices.Equal(want, got) || len(got) == 0 {
		t.Errorf("planned %q, written %q\n%s", got, want, res.out)
	}
	if pulls := r.github.Repo(rigRepo).Pulls(); len(pulls) != 1 || !strings.HasSuffix(pulls[0].Title, "feat: Say two") {
		t.Errorf("pull requests: %+v", pulls)
	}
	r.git(r.clone, "remote", "remove", "origin")
	r.setEnv("AGENTMUX_GITHUB_TOKEN", "")
	res = r.expect(0, "run", "Say three", "--workflow", "quick", "--dry-run")
	if planned := plannedRequests(res.out); !slices.Equal(planned, []string{"BRANCH agentmux/say-three"}) || strings.Contains(res.out, "pull request") {
		t.Errorf("planned %q\n%s", planned, res.out)
	}
}

var plannedLine = regexp.MustCompile(`(?m)^ *\d+\. ([A-Z]+ \S+)`)

// plannedRequests are the requests of a dry run, each once, without numbers.
func plannedRequests(out string) []string {
	var list []string
	for _, m := range plannedLine.FindAllStringSubmatch(out[strings.Index(out, "would write"):], -1) {
		list = append(list, unnumbered(m[1]))
	}
	return firsts(list)
}

// writtenRequests are the writes the server took, in the same form.
func writtenRequests(log []fakehub.Entry) []string {
	var list []string
	for _, e := range log {
		method, path := strings.SplitN(e.Route, " ", 2)[0], strings.TrimPrefix(strings.TrimPrefix(e.Path, "/api/v3"), "/")
		switch {
		case e.Route == "PUSH":
			path = strings.Fields(e.Body)[2]
		case strings.HasPrefix(e.Route, "mutation"):
			method, path = "MUTATION", "MarkReady"
		}
		list = append(list, unnumbered(method+" "+path))
	}
	return firsts(list)
}

var (
	commitID = regexp.MustCompile(`/statuses/([0-9a-f]{40}|\{commit\})`)
	savedAs  = regexp.MustCompile(checkpoints + `\S+`)
	someID   = regexp.MustCompile(`/(comments|issues|pulls)/(\d{2,}|2|\{\w+\})`)
)

// unnumbered takes out what a dry run cannot know: ids, and that of the pull request.
func unnumbered(request string) string {
	request = savedAs.ReplaceAllString(request, checkpoints+"N")
	return someID.ReplaceAllString(commitID.ReplaceAllString(request, "/statuses/N"), "/$1/N")
}

// firsts drops repetitions.
func firsts(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// wayOf are the requests of one of those that run beside each other. The mirror writes its
// first comment two seconds after the start, and a slow machine has the labels later than
// that. How often the status is edited is the clock's, too.
func wayOf(way string, requests []string) []string {
	var list []string
	for _, request := range requests {
		of := "the comments"
		switch {
		case strings.HasPrefix(request, "PATCH"), strings.HasPrefix(request, "BRANCH"):
			continue
		case strings.Contains(request, checkpoints):
			of = "the checkpoints"
		case strings.HasPrefix(request, "PUSH"), strings.HasPrefix(request, "MUTATION"), strings.Contains(request, "/pulls"):
			of = "the branch"
		case strings.Contains(request, "/statuses/"):
			of = "the verdict"
		case strings.Contains(request, "/labels"):
			of = "the labels"
		}
		if of == way {
			list = append(list, request)
		}
	}
	return list
}

// The walk behind the list gets through gates, a product manager, and a workflow of the
// project's own.
func TestTheDryRunOfEveryWorkflowComesToItsEnd(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "approval: {plan: true, completion: true}\n"})
	own := r.expect(0, "workflows", "show", "feature").out
	r.write(filepath.Join(r.clone, ".agentmux", "workflows", "mine.yaml"), strings.Replace(own, "name: feature", "name: mine", 1))
	for _, args := range [][]string{{"feature", "--product-manager"}, {"quick"}, {"mine"}} {
		r.row(strings.Join(args, " "), func(t *testing.T) {
			out := r.expect(0, append([]string{"issue", "1", "--headless", "--dry-run", "--workflow"}, args...)...).out
			planned := plannedRequests(out)
			if strings.Contains(out, "came no further") || !slices.Contains(planned, "POST repos/acme/widgets/pulls") {
				t.Errorf("%v: planned %q\n%s", args, planned, out[strings.Index(out, "would write"):])
			}
		})
	}
	if log := r.github.Log(); len(log) != 0 {
		t.Errorf("written: %+v", log)
	}
}
