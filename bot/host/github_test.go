package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/workflows/prompt"
)

const widgets = "acme/widgets"

// githubRig is a rig whose project is a clone of a repository on the fake GitHub.
type githubRig struct {
	*rig
	github *fakehub.Server
	repo   *fakehub.Repo
	client *ghsync.Client
}

func newGitHubRig(t *testing.T, extra string) *githubRig {
	t.Helper()
	r := &githubRig{rig: newRig(t, extra)}
	r.github = fakehub.Start(t, fakehub.Options{
		Users: []fakehub.UserSpec{
			{Login: "mia", Roles: map[string]fakehub.Role{widgets: fakehub.Admin}},
			{Login: "robo", Roles: map[string]fakehub.Role{widgets: fakehub.Write}},
		},
		Repos: []fakehub.RepoSpec{{Owner: "acme", Name: "widgets", Commits: []fakehub.CommitSpec{
			{Message: "Start", Author: "Mia <mia@example.com>", Files: map[string]string{
				"README.md": "# widgets\n", ".github/PULL_REQUEST_TEMPLATE.md": "<!-- hint -->\n- [ ] signed @off\n",
			}},
		}}},
	})
	r.repo = r.github.Repo(widgets)
	token := transport.StaticToken(transport.ModeToken, redact.NewSecret(r.github.Token("robo")), transport.Addresses{API: r.github.API(), GraphQL: r.github.GraphQL(), Server: r.github.URL()})
	var err error
	r.client, err = ghsync.New(transport.Options{
		APIURL: r.github.API(), GraphQLURL: r.github.GraphQL(), ServerURL: r.github.URL(), Token: token, Pause: time.Millisecond,
		Limits: transport.Limits{ReadsPerSecond: 1000, WriteEvery: time.Millisecond, ContentPerMinute: 1000, ContentPerHour: 1000},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.host.GitHub, r.host.Token = r.client, token
	if err := os.RemoveAll(r.project); err != nil {
		t.Fatal(err)
	}
	r.git("clone", "-q", r.github.CloneURL(widgets), ".")
	return r
}

// fastPace leaves out the waits that spare GitHub requests.
func fastPace() mirror.Pace {
	ms := time.Millisecond
	return mirror.Pace{Debounce: ms, Between: ms, Busy: ms, Look: ms, Again: ms, Labels: time.Hour, Backoff: 10 * ms, Scan: 20 * ms}
}

// issue makes a session for a new issue.
func (r *githubRig) issue(title, body string) (dir string, number int) {
	r.t.Helper()
	return r.newIssue(title, body, func(*host.PrepareSpec) {})
}

func (r *githubRig) newIssue(title, body string, change func(*host.PrepareSpec)) (dir string, number int) {
	r.t.Helper()
	number = r.repo.AddIssue(fakehub.IssueSpec{Title: title, Body: body, Author: "mia", Labels: []string{"agentmux"}})
	snap, err := r.client.TakeSnapshot(r.t.Context(), ghsync.SnapshotSpec{
		Repo: ghsync.Repo{Owner: "acme", Name: "widgets"}, Issue: number, CutOff: time.Now().Add(time.Minute),
		Requester: ghsync.Permission{Account: ghsync.Account{Login: "mia", ID: r.github.UserID("mia"), Type: "User"}, Level: ghsync.LevelAdmin},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.prepare(func(p *host.PrepareSpec) {
		p.Workflow, p.Request, p.Snapshot = "quick", "", &snap
		change(p)
	}), number
}

func (r *githubRig) runIssue(dir string, spec host.RunSpec) *orchestrator.State {
	spec.Dir, spec.Mirror = dir, host.MirrorSpec{On: true, HostID: "h_test", Pace: fastPace()}
	return r.run(spec)
}

func TestProtocolG5AnIssueBecomesAReadyPullRequest(t *testing.T) {
	t.Parallel()
	r := newGitHubRig(t, "")
	r.script(simple())
	dir, number := r.issue("Greet @everyone, closes #99", "Say `hello`.\n")
	s := r.runIssue(dir, host.RunSpec{})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	pulls := r.repo.Pulls()
	if len(pulls) != 1 || pulls[0].Number != s.Completion.PRNumber || pulls[0].Draft || pulls[0].Head != s.FeatureBranch {
		t.Fatalf("pull requests: %+v", pulls)
	}
	body := pulls[0].Body
	if !strings.Contains(body, "\nCloses #1\n") || strings.Count(body, "Closes #") != 1 || number != 1 {
		t.Errorf("body:\n%s", body)
	}
	if !strings.Contains(body, "\n\n---\n\n- [ ] signed `@off`\n\nCloses #1\n") {
		t.Errorf("the template is not below:\n%s", body)
	}
	if !strings.Contains(body, "- reviewer_logic: pass at `"+s.Completion.Commit[:7]) {
		t.Errorf("the verdict is not bound to the head:\n%s", body)
	}
	content, _ := r.repo.File(s.FeatureBranch, "a.txt")
	if content != "hello\n" {
		t.Errorf("a.txt on the server: %q", content)
	}
	message := r.gitIn(r.repo.Dir(), "log", "-1", "--format=%B", s.FeatureBranch)
	if subject, _, _ := strings.Cut(message, "\n"); subject != "feat: greet the world (#1)" {
		t.Errorf("subject %q", subject)
	}
	// An address of mail has no port, which the server in the test has.
	if !regexp.MustCompile(`\nCo-authored-by: mia <[0-9]+\+mia@users\.noreply\.127\.0\.0\.1>\n`).MatchString(message) || !strings.Contains(message, "\nAgentmux-Session: "+s.SessionID) {
		t.Errorf("trailers: %s", message)
	}
	statuses := r.repo.Statuses(s.Completion.Commit)
	if len(statuses) == 0 || statuses[len(statuses)-1].State != "success" {
		t.Errorf("statuses: %+v", statuses)
	}
	comments := r.repo.Comments(1)
	if len(comments) == 0 || !strings.Contains(comments[0].Body, "agentmux: done") {
		t.Errorf("comments: %+v", comments)
	}
	prompt, err := os.ReadFile(filepath.Join(dir, "04_planning", "planner_prompt.md"))
	if err != nil || !strings.Contains(string(prompt), "It is data") || !strings.Contains(string(prompt), "Say `hello`.") {
		t.Errorf("the prompt lacks the fenced text: %v", err)
	}
}

func (r *rig) gitIn(dir string, args ...string) string {
	r.t.Helper()
	return r.git(append([]string{"-C", dir}, args...)...)
}

// Quick has no fix round: a fail ends in a draft and asks a person.
func TestProtocolW4AFailedReviewEndsInADraft(t *testing.T) {
	t.Parallel()
	r := newGitHubRig(t, "")
	sc := simple()
	sc.Verdict = map[string][]string{"reviewer_logic": {"fail"}}
	r.script(sc)
	dir, _ := r.issue("Greet", "Say hello.")
	s := r.runIssue(dir, host.RunSpec{})
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonReviewExhausted)
	pulls := r.repo.Pulls()
	if len(pulls) != 1 || !pulls[0].Draft || !strings.HasPrefix(pulls[0].Title, "[review failed] ") {
		t.Fatalf("pull requests: %+v", pulls)
	}
	if !strings.Contains(pulls[0].Body, "### Open findings") {
		t.Errorf("body:\n%s", pulls[0].Body)
	}
	statuses := r.repo.Statuses(s.Completion.Commit)
	if len(statuses) == 0 || statuses[len(statuses)-1].State != "failure" {
		t.Errorf("statuses: %+v", statuses)
	}
}

// Held paths keep the draft; they and the named ones come first, held ones before the others.
func TestProtocolG7HeldPathsKeepTheDraft(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	sc := simple()
	sc.Files["1"] = append(sc.Files["1"], "Makefile=all:", "CODEOWNERS=* @mia")
	r.script(sc)
	dir, _ := r.issue("Greet", "Say hello.")
	mustEnd(t, r.runIssue(dir, host.RunSpec{}), orchestrator.OutcomeDone, "")
	pull := r.repo.Pulls()[0]
	if !strings.HasPrefix(pull.Body, "**Needs a look:** `CODEOWNERS`, `Makefile` changed.\n") || !pull.Draft {
		t.Errorf("draft %t, body:\n%s", pull.Draft, pull.Body)
	}
}

// Commits of people on the branch are kept, and the next round builds on them.
func TestProtocolG2ACommitOfAPersonOnTheBranchIsMerged(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.script(simple())
	dir, _ := r.issue("Greet", "Say hello.")
	s := r.runIssue(dir, host.RunSpec{})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	theirs := r.repo.Commit(fakehub.CommitSpec{Branch: s.FeatureBranch, Message: "Mine", Author: "Mia <mia@example.com>", Files: map[string]string{"mia.txt": "hi\n"}})
	sc := simple()
	sc.Plan, sc.Files = plan(onePart, "b.txt"), map[string][]string{"1": {"b.txt=more"}}
	r.script(sc)
	s = r.runIssue(dir, host.RunSpec{Resume: true, Changes: "Also b."})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	head := r.repo.Refs()["refs/heads/"+s.FeatureBranch]
	if got := r.gitIn(r.repo.Dir(), "ls-tree", "--name-only", head); got != ".github\nREADME.md\na.txt\nb.txt\nmia.txt" {
		t.Errorf("files: %q", got)
	}
	hosts, _ := filepath.Glob(filepath.Join(r.root, "s", "*", "*", "*.git"))
	if len(hosts) != 1 || !strings.Contains(r.gitIn(hosts[0], "log", "--format=%s", "--name-only", s.Integrated.Commit), "take over the commits on "+s.FeatureBranch+"\n\nmia.txt") {
		t.Errorf("the round did not start from the person's commit: %v", hosts)
	}
	if out := r.gitIn(r.repo.Dir(), "branch", "--contains", theirs, "--format=%(refname:short)"); out != s.FeatureBranch {
		t.Errorf("the person's commit is on %q", out)
	}
	if pulls := r.repo.Pulls(); len(pulls) != 1 {
		t.Errorf("pull requests: %+v", pulls)
	}
	// A third round must not undo what the merge brought in.
	sc.Plan, sc.Files = plan(onePart, "c.txt"), map[string][]string{"1": {"c.txt=most"}}
	r.script(sc)
	s = r.runIssue(dir, host.RunSpec{Resume: true, Changes: "Also c."})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	head = r.repo.Refs()["refs/heads/"+s.FeatureBranch]
	if got := r.gitIn(r.repo.Dir(), "ls-tree", "--name-only", head); got != ".github\nREADME.md\na.txt\nb.txt\nc.txt\nmia.txt" {
		t.Errorf("files of the third round: %q", got)
	}
}

func TestProtocolG2ARewrittenBranchIsLeftAlone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.script(simple())
	dir, _ := r.issue("Greet", "Say hello.")
	s := r.runIssue(dir, host.RunSpec{})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	rewritten := s.BaseSHA
	r.gitIn(r.repo.Dir(), "update-ref", "refs/heads/"+s.FeatureBranch, rewritten)
	sc := simple()
	sc.Plan, sc.Files = plan(onePart, "b.txt"), map[string][]string{"1": {"b.txt=more"}}
	r.script(sc)
	s = r.runIssue(dir, host.RunSpec{Resume: true, Changes: "Also b."})
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonPushRejected)
	if head := r.repo.Refs()["refs/heads/"+s.FeatureBranch]; head != rewritten {
		t.Errorf("the branch moved to %s", head)
	}
}

// A round whose pull request a person merged or closed meanwhile ends in front of that person: its commit is on the branch alone.
// One that was merged with the commit is the end of it.
func TestARoundThatAPullRequestDoesNotHoldIsForAPerson(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		end  func(repo *fakehub.Repo, number int)
		says string
	}{
		"merged": {func(repo *fakehub.Repo, number int) { repo.Merge(number, "mia") }, "was merged before this round"},
		"closed": {func(repo *fakehub.Repo, number int) { repo.CloseIssue(number, "mia") }, "a person closed pull request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitHubRig(t, "")
			r.script(simple())
			dir, _ := r.issue("Greet", "Say hello.")
			s := r.runIssue(dir, host.RunSpec{})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			c.end(r.repo, s.Completion.PRNumber)
			sc := simple()
			sc.Plan, sc.Files = plan(onePart, "b.txt"), map[string][]string{"1": {"b.txt=more"}}
			r.script(sc)
			s = r.runIssue(dir, host.RunSpec{Resume: true, Changes: "Also b."})
			mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonPRRefused)
			if asked := r.lastEvent(dir, orchestrator.EvNeedsHuman).Data.(orchestrator.NeedsHumanRecord); !strings.Contains(asked.Text, c.says) {
				t.Errorf("a person reads %s", asked.Text)
			}
			if pulls := r.repo.Pulls(); len(pulls) != 1 {
				t.Errorf("pull requests: %+v", pulls)
			}
		})
	}
}

func TestTheOldNameOfAMovedRepositoryIsGoodForAPullRequest(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.script(simple())
	r.repo.MoveTo("newcorp")
	dir, _ := r.issue("Greet", "Say hello.")
	s := r.runIssue(dir, host.RunSpec{})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if pulls := r.repo.Pulls(); len(pulls) != 1 || pulls[0].Head != s.FeatureBranch {
		t.Errorf("pull requests: %+v", pulls)
	}
}

// What --base says holds also for a pull request that is open, and for one that was closed
// because its base was deleted.
func TestAnotherBaseMovesThePullRequestThatIsThere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, closed := range map[string]bool{"open": false, "closed with its base": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitHubRig(t, "")
			r.script(simple())
			for _, branch := range []string{"old", "next"} {
				r.repo.Commit(fakehub.CommitSpec{Branch: branch, Message: "m", Author: "Mia <mia@example.com>", Files: map[string]string{branch: "x"}})
			}
			dir, _ := r.issueOn("old", "Greet", "Say hello.")
			mustEnd(t, r.runIssue(dir, host.RunSpec{}), orchestrator.OutcomeDone, "")
			first := r.repo.Pulls()
			if closed {
				r.repo.DeleteBranch("old")
			}
			sc := simple()
			sc.Plan, sc.Files = plan(onePart, "b.txt"), map[string][]string{"1": {"b.txt=more"}}
			r.script(sc)
			s := r.runIssue(dir, host.RunSpec{Resume: true, Changes: "Also b.", Base: "next"})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			pulls := r.repo.Pulls()
			last := pulls[len(pulls)-1]
			if len(first) != 1 || first[0].Base != "old" || (len(pulls) == 1) == closed || last.Base != "next" || last.State != "open" || last.Number != s.Completion.PRNumber {
				t.Errorf("pull requests %+v, before %+v", pulls, first)
			}
		})
	}
}

// A default branch that gets another name is still the one whose merges close the issue.
func TestARenamedDefaultBranchStillClosesTheIssue(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.script(simple())
	dir, _ := r.issue("Greet", "Say hello.")
	r.repo.RenameDefault("trunk")
	s := r.runIssue(dir, host.RunSpec{})
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonPRRefused)
	s = r.runIssue(dir, host.RunSpec{Resume: true, Base: "trunk"})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	pulls := r.repo.Pulls()
	if len(pulls) != 1 || pulls[0].Base != "trunk" || !strings.Contains(pulls[0].Body, "\nCloses #1\n") {
		t.Errorf("pull requests %+v", pulls)
	}
}

func TestABranchOfSomebodyElseGetsAnotherName(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir, _ := r.issue("Greet", "Say hello.")
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	name := r.state(dir).FeatureBranch
	foreign := r.repo.Commit(fakehub.CommitSpec{Branch: name, Message: "Foreign", Author: "Mia <mia@example.com>", Files: map[string]string{"x": "y"}})
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if s.FeatureBranch != name+"-2" || r.repo.Refs()["refs/heads/"+name] != foreign {
		t.Errorf("branch %s, refs %v", s.FeatureBranch, r.repo.Refs())
	}
}

// A token that may not write: the branch is in the clone, and there is no pull request.
func TestProtocolG6WithoutWritePermissionTheBranchStaysInTheClone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.host.ReadOnly = true
	r.script(simple())
	dir, _ := r.issue("Greet", "Say hello.")
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if len(r.repo.Pulls()) != 0 || r.repo.Refs()["refs/heads/"+s.FeatureBranch] != "" {
		t.Error("something was pushed")
	}
	if got := r.git("rev-parse", s.FeatureBranch); got != s.Completion.Commit {
		t.Errorf("the clone has %s, want %s", got, s.Completion.Commit)
	}
}

// G2: GitHub is away at the end; the session waits and then continues.
func TestProtocolG2AnAbsentGitHubOnlyDelays(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir, _ := r.issue("Greet", "Say hello.")
	stop := r.background(host.RunSpec{Dir: dir, Mirror: host.MirrorSpec{On: true, HostID: "h_test", Pace: fastPace()}})
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	r.github.Inject(fakehub.Unavailable("", 503, 3))
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if len(r.repo.Pulls()) != 1 {
		t.Errorf("pull requests: %+v", r.repo.Pulls())
	}
}

// A mirror that cannot write does not keep a canceled session from ending.
func TestACanceledSessionEndsThoughItsMirrorCannotWrite(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir, _ := r.issue("Greet", "Say hello.")
	stop := r.background(host.RunSpec{Dir: dir, Mirror: host.MirrorSpec{On: true, HostID: "h_test", Pace: fastPace()}})
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	r.github.Inject(fakehub.Unavailable("", 503, 0))
	began := time.Now()
	s, err := stop(engine.Signal{Name: "INT"})
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeCanceled, "")
	if spent := time.Since(began); spent > 15*time.Second {
		t.Errorf("it took %s", spent)
	}
	r.github.Heal()
}

// A bot has no clone: project, settings and prompts come from the server.
func TestProtocolW5AManagedProjectTakesItsBase(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.repo.Commit(fakehub.CommitSpec{Branch: "main", Message: "Settings", Author: "Mia <mia@example.com>", Files: map[string]string{
		".agentmux/prompts/agents/planner.md": "Plan in rhyme.\n",
	}})
	project, err := r.host.Projects().Managed(t.Context(), ghsync.Repo{Owner: "acme", Name: "widgets"}, r.config)
	if err != nil {
		t.Fatal(err)
	}
	base, err := project.Base(t.Context(), r.config, "")
	if err != nil {
		t.Fatal(err)
	}
	r.github.Inject(fakehub.Unavailable("GIT fetch", 403, 0))
	if _, err := project.Base(t.Context(), r.config, ""); err == nil || !strings.Contains(err.Error(), "the server was not reached: ") || !strings.Contains(err.Error(), "403") {
		t.Errorf("a refused fetch: %v", err)
	}
	r.github.Heal()
	files, err := project.Files(t.Context(), base.SHA)
	if err != nil {
		t.Fatal(err)
	}
	// Files in the directory of a managed project do not count as a person's settings.
	lying := filepath.Join(project.Clone.Root, prompt.ProjectDir, "agents", "planner.md")
	if err := errors.Join(os.MkdirAll(filepath.Dir(lying), 0o700), os.WriteFile(lying, []byte("Plan in prose.\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	sc := simple()
	sc.Files["1"] = append(sc.Files["1"], "README.md=# more")
	r.script(sc)
	data, err := os.ReadFile(filepath.Join(r.root, "scenario.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(project.Clone.Root), "scenario.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := r.prepare(func(p *host.PrepareSpec) {
		p.Project, p.Files, p.Base, p.Source, p.Workflow = project, files, base, base.SHA[:7], "quick"
	})
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if pulls := r.repo.Pulls(); len(pulls) != 1 || pulls[0].Draft {
		t.Errorf("pull requests: %+v", pulls)
	}
	prompt, err := os.ReadFile(filepath.Join(dir, "04_planning", "planner_prompt.md"))
	if err != nil || !strings.Contains(string(prompt), "Plan in rhyme.") || strings.Contains(string(prompt), "Plan in prose.") {
		t.Errorf("the prompt lacks the project's text: %v", err)
	}
	if got := r.gitIn(r.repo.Dir(), "log", "-1", "--format=%an <%ae>", s.FeatureBranch); !strings.HasSuffix(got, "+robo@users.noreply.127.0.0.1>") {
		t.Errorf("author %s", got)
	}
}
