package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/inbox"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// parked fails unless the clone's only session waits for a person with this reason and
// a cause that says all of says.
func (r *rig) parked(res result, reason string, says ...string) {
	r.t.Helper()
	e := r.session()
	r.sound(e)
	s := e.State
	if res.code != exit.NeedsHuman || string(s.OutcomeReason) != reason {
		r.t.Fatalf("exit %d, phase %s, outcome %s %s, cause %s\n%s", res.code, s.Phase, s.Outcome, s.OutcomeReason, s.Cause, res.err)
	}
	for _, text := range append(says, "agentmux resume "+e.Name) {
		if !strings.Contains(res.err, text) {
			r.t.Errorf("the run does not say %q:\n%s", text, res.err)
		}
	}
}

func (r *rig) quick(code int, more ...string) result {
	r.t.Helper()
	return r.expect(code, append(append([]string{"issue", "1"}, quickRun...), more...)...)
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	const branches = "refs/heads/agentmux/*"
	refusals := map[string]struct {
		rule   fakehub.PushRule
		reason string
		says   []string
	}{
		"59 a protected branch": {fakehub.ProtectedRule(branches), orchestrator.ReasonPushRejected, []string{"GH006", "At least 1 approving review", "github.branch_prefix"}},
		"59 a rule set":         {fakehub.RulesetRule(branches, "Cannot create ref due to creations being restricted."), orchestrator.ReasonPushRejected, []string{"creations being restricted", "github.branch_prefix"}},
		"59 a hidden ref":       {fakehub.HiddenRule(branches), orchestrator.ReasonPushRejected, []string{"hidden ref"}},
		"59 no permission":      {fakehub.PushRule{Ref: branches, Reason: "Permission to acme/widgets.git denied to robo."}, orchestrator.ReasonPushRejected, []string{"denied to robo", "contents: write"}},
		"59 workflow files":     {fakehub.WorkflowRule(branches, ".github/workflows/ci.yml"), orchestrator.ReasonPushRejected, []string{"workflows` permission"}},
		"59 a secret":           {fakehub.SecretRule(branches, "path: config/a.env:3"), orchestrator.ReasonOutputGate, []string{"config/a.env:3"}},
	}
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: quickPlaybook})
			repo := r.github.Repo(rigRepo)
			repo.RefusePush(c.rule)
			r.parked(r.quick(3), c.reason, c.says...)
			if len(repo.Pulls()) != 0 || len(branchesOf(repo)) != 1 {
				t.Errorf("pulls %v, refs %v", repo.Pulls(), repo.Refs())
			}
			repo.AllowPush()
			r.expect(0, "resume", "--headless")
			r.done(r.session())
			r.github.Check(t)
		})
	}
	t.Run("59 the base has newer workflow files", workflowsOfTheBase)
	t.Run("59 an own change of a workflow file", ownWorkflowFile)
	t.Run("59 a limit met by the push", func(t *testing.T) { pushLimited(t, "GIT push") })
	t.Run("59 a limit met before the push", func(t *testing.T) { pushLimited(t, "GIT push-refs") })
	t.Run("60 pull requests are forbidden, then allowed", pullForbidden)
	t.Run("60 a person opens it", func(t *testing.T) { pullByAPerson(t, false) })
	t.Run("60 a person opens and merges it", func(t *testing.T) { pullByAPerson(t, true) })
	t.Run("60 a person closed the pull request", pullClosed)
	t.Run("60 a person merged the pull request", pullMerged)
	t.Run("61 nothing changed", nothingChanged)
	t.Run("63 another base", otherBase)
	t.Run("59 commits of people on the branch", peopleOnTheBranch)
	t.Run("59 commits of people that conflict", peopleInConflict)
}

// The first pull request of a repository names the workflows that give secrets to its branch, also when it
// is renewed; the next one does not.
func TestGitHub9TheFirstPullRequestNamesWorkflowsWithSecrets(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, files: map[string]string{
		"a.txt": "one\n", ".github/workflows/lint.yml": "on: push\njobs: {}\n", ".github/workflows/nightly.yml": "on: schedule\njobs: {a: {env: {K: '${{ secrets.OTHER }}'}}}\n",
		".github/workflows/ci.yml": "on: [push, pull_request]\njobs: {a: {env: {K: '${{ secrets.DEPLOY }}', T: '${{ secrets.GITHUB_TOKEN }}'}}}\n",
	}})
	const says = "with secrets: .github/workflows/ci.yml (push, pull_request). agentmux doctor says"
	repo := r.github.Repo(rigRepo)
	r.quick(0)
	first := r.session()
	repo.AddIssue(fakehub.IssueSpec{Title: "Once more", Body: "Both files should say two.\n", Author: rigOwner, Labels: []string{"agentmux"}})
	r.expect(0, append([]string{"issue", "3"}, quickRun...)...)
	r.write(r.dir+"/playbook.yaml", strings.ReplaceAll(quickPlaybook, `"two\n"`, `"three\n"`))
	r.expect(0, "resume", first.Name, "--headless", "--changes", "say three")
	pulls := repo.Pulls()
	if len(pulls) != 2 || !strings.Contains(pulls[0].Body, says) || strings.Contains(pulls[1].Body, "secrets") {
		t.Errorf("%d pull requests: %+v", len(pulls), pulls)
	}
}

// A session that a person starts says, too, what agents see none of: what is at the base, less what the
// clone has the content of.
func TestTheContentThatAgentsLackIsTold(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	content := "large\n"
	pointer := func(text string) (oid, file string) {
		oid = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		return oid, fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, len(text))
	}
	oid, there := pointer(content)
	_, absent := pointer("elsewhere\n")
	r := newRig(t, rigOptions{playbook: quickPlaybook, files: map[string]string{
		"a.txt": "one\n", ".gitattributes": "*.bin filter=lfs -text\n", "there.bin": there, "absent.bin": absent,
	}})
	r.write(filepath.Join(r.clone, ".git", "lfs", "objects", oid[:2], oid[2:4], oid), content)
	const want = "0 submodules, 1 LFS file: agents see none of their content"
	if out := r.expect(0, "issue", "1", "--workflow", "quick", "--dry-run").out; !strings.Contains(out, want) {
		t.Errorf("the dry run says\n%s", out)
	}
	r.quick(0)
	if body := r.github.Repo(rigRepo).Pulls()[0].Body; !strings.Contains(body, want) {
		t.Errorf("the pull request says\n%s", body)
	}
}

// workflowsOfTheBase lets the base get a workflow file while a session waits: a branch without
// it is refused as if it took the file away.
func workflowsOfTheBase(t *testing.T) {
	t.Parallel()
	const file, module = ".github/workflows/ci.yml", "go.mod"
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	repo := r.github.Repo(rigRepo)
	refused := fakehub.WorkflowRule("refs/heads/agentmux/*", file)
	repo.RefusePush(refused)
	r.parked(r.quick(3), orchestrator.ReasonPushRejected, "workflows` permission")
	repo.Commit(fakehub.CommitSpec{Branch: "main", Message: "CI", Author: "Mia <mia@example.com>", Files: map[string]string{file: "on: push\n", module: "module a\n"}})
	repo.AllowPush()
	refused.Times = 1
	repo.RefusePush(refused)
	r.expect(0, "resume", "--headless")
	e := r.session()
	r.done(e)
	for file, want := range map[string]string{file: "on: push\n", "a.txt": "two\n"} {
		if got, _ := repo.File(e.State.FeatureBranch, file); got != want {
			t.Errorf("%s: %q", file, got)
		}
	}
	if body := repo.Pulls()[0].Body; strings.Contains(body, file) || strings.Contains(body, module) {
		t.Errorf("the pull request takes the base's files for its own:\n%s", body)
	}
	r.github.Check(t)
}

// ownWorkflowFile lets the configuration permit a workflow file that the server does not.
func ownWorkflowFile(t *testing.T) {
	t.Parallel()
	const file = ".github/workflows/ci.yml"
	r := newRig(t, rigOptions{
		playbook: strings.ReplaceAll(quickPlaybook, "file: a.txt", "file: "+file),
		config:   "output: {allow: ['" + file + "']}\n",
	})
	r.github.Repo(rigRepo).RefusePush(fakehub.WorkflowRule("refs/heads/agentmux/*", file))
	r.parked(r.quick(3), orchestrator.ReasonOutputGate, file)
}

func pushLimited(t *testing.T, route string) {
	t.Helper()
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.github.Inject(fakehub.RetryAfter(route, 403, 0))
	r.quick(0)
	if r.github.Hits() != 1 {
		t.Errorf("%d pushes were limited", r.github.Hits())
	}
	r.done(r.session())
	r.github.Check(t)
}

func pullForbidden(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	never := fakehub.Refuse("POST .../pulls", "pr_forbidden")
	never.Times = 0
	r.github.Inject(never)
	res := r.quick(3)
	branch := r.session().State.FeatureBranch
	r.parked(res, orchestrator.ReasonPRRefused, r.github.URL()+"/"+rigRepo+"/compare/main..."+branch+"?expand=1",
		"Settings -> Actions -> General -> Allow GitHub Actions to create and approve pull requests")
	if r.github.Repo(rigRepo).Refs()["refs/heads/"+branch] == "" {
		t.Error("the branch is gone")
	}
	r.github.Heal()
	r.expect(0, "resume", "--headless")
	r.done(r.session())
	r.github.Check(t)
}

// pullByAPerson lets a person open what the account may not, and merge it: the session
// takes it for its own and is done.
func pullByAPerson(t *testing.T, merged bool) {
	t.Helper()
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	never := fakehub.Refuse("POST .../pulls", "pr_forbidden")
	never.Times, never.Actor = 0, rigBot
	r.github.Inject(never)
	r.quick(3)
	e := r.session()
	theirs, err := (&ghsync.PullRequest{Client: r.client(r.github, rigOwner)}).Ensure(t.Context(), ghsync.PullRequestSpec{
		Repo: ghsync.Repo{Owner: "acme", Name: "widgets"}, Branch: e.State.FeatureBranch, Base: "main", Title: "By hand", Body: markdown.Finish(redact.New(), "My words."),
	})
	if err != nil {
		t.Fatal(err)
	}
	repo := r.github.Repo(rigRepo)
	if merged {
		repo.Merge(theirs.Number, rigOwner)
	}
	r.expect(0, "resume", e.Name, "--headless")
	e = r.session()
	r.done(e)
	pull := repo.Pulls()[0]
	if e.State.Completion.PRNumber != theirs.Number || pull.Title != "By hand" || pull.Body != "My words." || pull.Merged != merged {
		t.Errorf("completion %+v, pull request %+v", e.State.Completion, pull)
	}
}

// takesNoChanges asks for changes of a session whose pull request is not open: nothing begins.
func (r *rig) takesNoChanges(says string) {
	r.t.Helper()
	e := r.session()
	for _, args := range [][]string{{"resume", e.Name, "--headless", "--changes", "say three"}, {"changes", "say three", e.Name}} {
		if res := r.expect(2, args...); !strings.Contains(res.err, says) {
			r.t.Errorf("%v does not say %q:\n%s", args, says, res.err)
		}
	}
	if now := r.session(); now.State.Seq != e.State.Seq || len(inbox.Unread(e.Dir, now.State)) != 0 {
		r.t.Errorf("record %d, before %d; unread %v", now.State.Seq, e.State.Seq, inbox.Unread(e.Dir, now.State))
	}
}

func pullClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	repo := r.github.Repo(rigRepo)
	r.quick(0)
	number := r.session().State.Completion.PRNumber
	repo.CloseIssue(number, rigOwner)
	r.takesNoChanges("is closed: reopen it")
	repo.ReopenIssue(number, rigOwner)
	r.write(r.dir+"/playbook.yaml", strings.ReplaceAll(quickPlaybook, `"two\n"`, `"three\n"`))
	r.expect(0, "resume", r.session().Name, "--headless", "--changes", "say three")
	r.done(r.session())
	if len(repo.Pulls()) != 1 {
		t.Errorf("pulls: %+v", repo.Pulls())
	}
	r.github.Check(t)
}

func pullMerged(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	repo := r.github.Repo(rigRepo)
	r.quick(0)
	repo.Merge(r.session().State.Completion.PRNumber, rigOwner)
	r.takesNoChanges("was merged; agentmux issue 1 --new")
	r.github.Check(t)
}

func nothingChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: strings.ReplaceAll(quickPlaybook, `"two\n"`, `"one\n"`)})
	r.parked(r.quick(3), orchestrator.ReasonNothingToCommit, "changed nothing")
	repo := r.github.Repo(rigRepo)
	if len(repo.Pulls()) != 0 || len(branchesOf(repo)) != 1 {
		t.Errorf("pulls %v, refs %v", repo.Pulls(), repo.Refs())
	}
	r.github.Check(t)
}

func otherBase(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	repo := r.github.Repo(rigRepo)
	repo.Commit(fakehub.CommitSpec{Branch: "next", Message: "Next", Author: "Mia <mia@example.com>", Files: map[string]string{"n.txt": "n\n"}})
	r.quick(0, "--base", "next")
	r.done(r.session())
	pull := repo.Pulls()[0]
	if pull.Base != "next" || !strings.Contains(pull.Body, "\nRefs #1") || strings.Contains(pull.Body, "Closes #") {
		t.Errorf("base %s, body:\n%s", pull.Base, pull.Body)
	}
	if !strings.Contains(pull.Body, "\n## Who Worked\n- planner: script, its default model\n- coder: script,") || !strings.Contains(pull.Body, "\nTokens: ") {
		t.Errorf("it does not say who worked, and what was used:\n%s", pull.Body)
	}
}

// secondRound works once, lets a person push files to the branch, and asks for more.
func secondRound(t *testing.T, code int, theirs map[string]string) (*rig, result, string) {
	t.Helper()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.quick(0)
	sha := r.github.Repo(rigRepo).Commit(fakehub.CommitSpec{
		Branch: r.session().State.FeatureBranch, Message: "By hand", Author: "Mia <mia@example.com>", Files: theirs,
	})
	r.write(r.dir+"/playbook.yaml", strings.ReplaceAll(quickPlaybook, `"two\n"`, `"three\n"`))
	return r, r.expect(code, "resume", r.session().Name, "--headless", "--changes", "say three"), sha
}

func peopleOnTheBranch(t *testing.T) {
	t.Parallel()
	r, _, sha := secondRound(t, 0, map[string]string{"mia.txt": "hi\n"})
	e := r.session()
	r.done(e)
	repo := r.github.Repo(rigRepo)
	for file, want := range map[string]string{"mia.txt": "hi\n", "a.txt": "three\n"} {
		if got, _ := repo.File(e.State.FeatureBranch, file); got != want {
			t.Errorf("%s: %q", file, got)
		}
	}
	r.git(repo.Dir(), "merge-base", "--is-ancestor", sha, e.State.FeatureBranch)
	r.github.Check(t)
}

func peopleInConflict(t *testing.T) {
	t.Parallel()
	r, res, sha := secondRound(t, 3, map[string]string{"a.txt": "zwei\n"})
	e := r.session()
	r.parked(res, string(e.State.OutcomeReason), "conflict")
	if head := r.github.Repo(rigRepo).Refs()["refs/heads/"+e.State.FeatureBranch]; head != sha {
		t.Errorf("the branch is at %s, want the person's %s", head, sha)
	}
	r.github.Check(t)
}

// Who is told that GitHub is in trouble does not look for it in the own network.
func TestTroubleOfGitHubIsNotThatOfTheNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause error
		want  string
	}{
		{errors.New("status 502"), "try again in a few minutes"},
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, "is the network up"},
	} {
		if _, hint := account.Words(&transport.RetryAfter{Scope: "server", Err: c.cause}, "acme/widgets#1", ""); !strings.Contains(hint, c.want) {
			t.Errorf("%v: %s", c.cause, hint)
		}
	}
}
