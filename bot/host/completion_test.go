package host_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// Paths with spaces, other letters and a new line; deletions and a rename: all of it is
// committed, and each can be left out.
func TestProtocolG1PathsOfEveryKind(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	const odd = "odd\nname.txt"
	for name, text := range map[string]string{odd: "1\n", "gone.txt": "1\n", "here/a b.txt": "moved\n", "kept ü.txt": "1\n", "stays.txt": "1\n"} {
		r.write(name, text)
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "two")
	sc := simple()
	sc.Files["1"] = []string{odd + "=2", "there/ä ö.txt=moved", "tmp/x y.txt=x", "stays.txt=2"}
	sc.Remove = map[string][]string{"1": {"gone.txt", "here/a b.txt", "kept ü.txt"}}
	r.script(sc)
	dir := r.prepare(interactive)
	stop := r.background(host.RunSpec{Dir: dir})
	r.gateOpen(dir, 1)
	approval := `{"action":"approve","of":"` + r.state(dir).GateDigest() + `","exclude_files":["tmp/x y.txt","kept ü.txt","stays.txt","no such file"]}`
	if err := os.WriteFile(filepath.Join(dir, "08_completion", "approval.json"), []byte(approval), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	names := strings.Split(strings.TrimSuffix(r.git("ls-tree", "-r", "-z", "--name-only", s.FeatureBranch), "\x00"), "\x00")
	if want := []string{"README.md", "kept ü.txt", odd, "stays.txt", "there/ä ö.txt"}; !slices.Equal(names, want) {
		t.Errorf("files: %q", names)
	}
	for name, want := range map[string]string{odd: "2", "stays.txt": "1", "there/ä ö.txt": "moved"} {
		if got := r.git("show", s.FeatureBranch+":"+name); got != want {
			t.Errorf("%q holds %q", name, got)
		}
	}
}

// Without a person's or a reviewer's words the title is the subject, within 72
// characters; a pull request to another base closes nothing.
func TestProtocolG3ALongTitleAndAnotherBase(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.repo.Commit(fakehub.CommitSpec{Branch: "next", Message: "Next", Author: "Mia <mia@example.com>", Files: map[string]string{"n.txt": "n\n"}})
	sc := simple()
	sc.Quiet = true
	r.script(sc)
	dir, _ := r.issueOn("next", strings.Repeat("grüße ", 20)+"end.", "Say hello.")
	s := r.runIssue(dir, host.RunSpec{})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	message := r.gitIn(r.repo.Dir(), "log", "-1", "--format=%B", s.FeatureBranch)
	subject, _, _ := strings.Cut(message, "\n")
	if n := utf8.RuneCountInString(subject); n > 72 || !strings.HasPrefix(subject, "feat: grüße grüße") || !strings.HasSuffix(subject, " (#1)") || strings.Contains(subject, ". (") {
		t.Errorf("subject of %d characters: %q", n, subject)
	}
	pull := r.repo.Pulls()[0]
	if pull.Base != "next" || !strings.Contains(pull.Body, "\nRefs #1") || strings.Contains(pull.Body, "Closes #") {
		t.Errorf("base %s, body:\n%s", pull.Base, pull.Body)
	}
}

// Without an issue it is the first line of the request.
func TestProtocolG3TheRequestIsTheSubject(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	sc := simple()
	sc.Quiet = true
	r.script(sc)
	dir := r.prepare(func(p *host.PrepareSpec) { quick(p); p.Request = "\n# Greet everybody.\n\nIn many words.\n" })
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if got := r.git("log", "-1", "--format=%s", s.FeatureBranch); got != "feat: Greet everybody" {
		t.Errorf("subject %q", got)
	}
}

// A subject contains the issue's number once, even if a reviewer has put it there. A proposal of
// dots alone is replaced, because nothing of it would be left.
func TestASubjectThatAReviewerProposes(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for proposed, want := range map[string]string{
		"fix: greet politely (#1).":     "fix: greet politely (#1)",
		"fix: greet as in #2 (#1)\n\nx": "fix: greet as in no. 2 (#1)",
		"...":                           "feat: Greet (#1)",
		"(#1)":                          "feat: Greet (#1)",
	} {
		t.Run(proposed, func(t *testing.T) {
			t.Parallel()
			r := newGitHubRig(t, "")
			sc := simple()
			sc.Message = proposed
			r.script(sc)
			dir, _ := r.issue("Greet.", "Say hello.")
			s := r.runIssue(dir, host.RunSpec{})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			if got := r.gitIn(r.repo.Dir(), "log", "-1", "--format=%s", s.FeatureBranch); got != want {
				t.Errorf("subject %q, want %q", got, want)
			}
		})
	}
}

// issueOn is issue with a base of its own.
func (r *githubRig) issueOn(base, title, body string) (dir string, number int) {
	r.t.Helper()
	return r.newIssue(title, body, func(p *host.PrepareSpec) {
		var err error
		if p.Base, err = p.Project.Base(r.t.Context(), r.config, base); err != nil {
			r.t.Fatal(err)
		}
	})
}

const passedBefore = "passed before the last change"

// What a person leaves out was in what the reviewers passed: the draft stays one.
func TestProtocolG5AFileLeftOutAfterThePass(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	sc := simple()
	sc.Files["1"] = append(sc.Files["1"], "tmp.txt=x")
	r.script(sc)
	dir, _ := r.newIssue("Greet", "Say hello.", func(p *host.PrepareSpec) { p.Interactive = true })
	stop := r.background(host.RunSpec{Dir: dir})
	r.gateOpen(dir, 1)
	r.command(dir, "1", "approve", orchestrator.CommandArgs{Exclude: []string{"tmp.txt"}})
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	pull := r.repo.Pulls()[0]
	if !pull.Draft || !strings.Contains(pull.Body, passedBefore) {
		t.Errorf("draft %t, body:\n%s", pull.Draft, pull.Body)
	}
	if got := r.gitIn(r.repo.Dir(), "ls-tree", "--name-only", s.FeatureBranch); got != ".github\nREADME.md\na.txt" {
		t.Errorf("files: %q", got)
	}
}

// A commit of a person that the reviewers of the round have not seen.
func TestProtocolG5ACommitOfAPersonAfterThePass(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.script(simple())
	dir, _ := r.issue("Greet", "Say hello.")
	s := r.runIssue(dir, host.RunSpec{})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if r.repo.Pulls()[0].Draft {
		t.Fatal("the first round is not ready")
	}
	sc := simple()
	sc.Plan, sc.Files = plan(onePart, "b.txt"), map[string][]string{"1": {"b.txt=more"}}
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	stop := r.background(host.RunSpec{Dir: dir, Resume: true, Changes: "Also b.", Mirror: host.MirrorSpec{On: true, HostID: "h_test", Pace: fastPace()}})
	r.eventually("the coder of the round runs", func() bool { return len(r.launches(dir)) == 1 && r.state(dir).Phase == "implementing" })
	r.repo.Commit(fakehub.CommitSpec{Branch: s.FeatureBranch, Message: "Mine", Author: "Mia <mia@example.com>", Files: map[string]string{"mia.txt": "hi\n"}})
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if body := r.repo.Pulls()[0].Body; !strings.Contains(body, passedBefore) {
		t.Errorf("body:\n%s", body)
	}
	if got := r.gitIn(r.repo.Dir(), "ls-tree", "--name-only", s.FeatureBranch); got != ".github\nREADME.md\na.txt\nb.txt\nmia.txt" {
		t.Errorf("files: %q", got)
	}
}

// Questions cannot be answered on an issue that was locked meanwhile: the question is decided,
// and the work continues.
func TestProtocolA5AQuestionOnALockedIssue(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	sc := simple()
	sc.Ask = map[string]string{"planner": "Which of the two?"}
	sc.Hold = map[string]bool{"planner": true}
	r.script(sc)
	dir, _ := r.issue("Greet", "Say hello.")
	stop := r.background(host.RunSpec{Dir: dir, Mirror: host.MirrorSpec{On: true, HostID: "h_test", Pace: fastPace()}})
	r.eventually("the planner runs", func() bool { return r.started(dir, "1.planner.1") })
	r.github.Inject(fakehub.Refuse("POST .../issues/{number}/comments", "locked")) // once is enough
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if q := s.Questions; len(q) != 1 || q[0].AnsweredBy != "system" || s.Settings.Reachable {
		t.Errorf("questions: %+v", q)
	}
	if a := s.Agents["planner"]; a.Attempt != 2 || a.Retries != 0 {
		t.Errorf("planner: %+v", a)
	}
}

// What a person deletes between the push and the pull request is pushed once more, and a
// base that was deleted is named with the command that chooses another.
func TestTheBranchesOfAPullRequestAreGone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		deleted func(s *orchestrator.State) string
		want    string
	}{
		"its own":  {func(s *orchestrator.State) string { return s.FeatureBranch }, ""},
		"the base": {func(*orchestrator.State) string { return "next" }, "agentmux resume --base BRANCH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitHubRig(t, "")
			r.repo.Commit(fakehub.CommitSpec{Branch: "next", Message: "Next", Author: "Mia <mia@example.com>", Files: map[string]string{"n.txt": "n\n"}})
			sc := simple()
			sc.Quiet = true
			r.script(sc)
			dir, _ := r.issueOn("next", "Greet", "Say hello.")
			r.github.Inject(fakehub.Unavailable("GET /repos/{owner}/{repo}/pulls", http.StatusBadGateway, 0))
			stop := r.background(host.RunSpec{Dir: dir})
			r.eventually("the pull request is looked for", func() bool { return r.github.Hits() > 0 })
			branch := c.deleted(r.state(dir))
			server := strings.Replace(r.github.CloneURL(widgets), "://", "://mia:"+r.github.Token("mia")+"@", 1)
			r.git("push", "-q", server, "--delete", branch)
			r.github.Heal()
			s, err := stop(nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				mustEnd(t, s, orchestrator.OutcomeDone, "")
				if pulls := r.repo.Pulls(); len(pulls) != 1 || pulls[0].HeadSHA != s.Completion.Commit {
					t.Errorf("pull requests %+v, want one of %s", pulls, s.Completion.Commit)
				}
				return
			}
			mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonPRRefused)
			if text := fmt.Sprint(r.lastEvent(dir, orchestrator.EvNeedsHuman).Data.(orchestrator.NeedsHumanRecord).Text); !strings.Contains(text, c.want) || !strings.Contains(text, "next") {
				t.Errorf("a person reads %s", text)
			}
		})
	}
}
