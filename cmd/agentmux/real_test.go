package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestReal takes published modules with a bug that is on record from the report to
// a pull request. Scripted agents make the change of the version that fixed it; the
// tests of that version fail before and pass after.
func TestReal(t *testing.T) {
	if os.Getenv("AGENTMUX_TEST_REAL") == "" {
		t.Skip("downloads modules; set AGENTMUX_TEST_REAL=1")
	}
	files, err := filepath.Glob(filepath.Join("testdata", "real", "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("cases: %v %v", files, err)
	}
	for _, file := range files {
		c := loadReal(t, file)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			c.fetch(t)
			r := newRig(t, rigOptions{
				source: c.repository(t), title: c.Issue.Title, body: &c.Issue.Body, playbook: c.playbook(t),
				config: "sandbox: {env_allow: [GOCACHE, GOFLAGS, GOMODCACHE, GOPROXY, GOTOOLCHAIN]}\n",
			})
			r.github.Canary(r.github.Token(rigBot))
			c.showBug(t, r)
			c.run(t, r)
			e := r.session()
			r.done(e)
			c.checkPull(t, r, e)
			c.checkComments(t, r, e)
			c.checkBranch(t, r, e)
		})
	}
}

// run takes the issue to its end; its agents have the person's caches and no
// module proxy.
func (c *realCase) run(t *testing.T, r *rig) {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := goCommand(t, r.clone, "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		r.setEnv(name, strings.TrimSpace(string(out)))
	}
	r.setEnv("GOFLAGS", realFlags)
	r.setEnv("GOPROXY", "off")
	r.setEnv("GOTOOLCHAIN", "local")
	res := r.agentmux("issue", "1", "--headless")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s%s", res.out, res.err)
		}
	})
	if res.code != exit.Done {
		t.Fatalf("exit %d", res.code)
	}
}

// fresh makes a new clone of a branch and downloads what the module needs.
func (c *realCase) fresh(t *testing.T, r *rig, branch string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	r.git(r.dir, "clone", "--quiet", "--branch", branch, r.github.CloneURL(rigRepo), dir)
	if out, err := goCommand(t, dir, "mod", "download").CombinedOutput(); err != nil {
		t.Fatalf("go mod download: %v\n%s", err, out)
	}
	return dir
}

// showBug fails unless a test of the fixed version fails on the buggy one, for the
// reason the case tells.
func (c *realCase) showBug(t *testing.T, r *rig) {
	t.Helper()
	dir := c.fresh(t, r, "main")
	for _, ch := range c.changes {
		if strings.HasSuffix(ch.path, "_test.go") && ch.status == 'M' {
			copyFile(t, filepath.Join(c.goal, ch.path), filepath.Join(dir, ch.path))
		}
	}
	args := append([]string{"test", "-timeout", "2m", "-run", c.Proof.Run}, c.Proof.Packages...)
	out, err := goCommand(t, dir, args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), c.Proof.Says) {
		t.Fatalf("the bug does not show: %v\n%s", err, out)
	}
}

// checkPull fails unless an open pull request leads from the session's branch to the
// default branch, closes the issue, and names on top what to look at first.
func (c *realCase) checkPull(t *testing.T, r *rig, e session.Entry) {
	t.Helper()
	pull := r.github.Repo(rigRepo).Pulls()[0]
	if pull.State != "open" || pull.Base != "main" || pull.Head != e.State.FeatureBranch || pull.Author != rigBot {
		t.Errorf("pull request %+v", pull)
	}
	if !slices.Contains(strings.Split(pull.Body, "\n"), "Closes #1") {
		t.Errorf("no line closes the issue:\n%s", pull.Body)
	}
	if pull.Title != markdown.PlainTitle(c.Issue.Title) || pull.Draft {
		t.Errorf("pull request %q, draft %t", pull.Title, pull.Draft)
	}
	look, _ := strings.CutPrefix(firstLine(pull.Body), "**Needs a look:** ")
	for _, path := range c.Look {
		if !strings.Contains(look, "`"+path+"`") {
			t.Errorf("%s is not named on top:\n%s", path, firstLine(pull.Body))
		}
	}
	if strings.Count(look, "`") != 2*len(c.Look) {
		t.Errorf("named on top: %s, want %v", look, c.Look)
	}
	if m, ok := ghsync.ParseMarker(pull.Body); !ok || m.Session != orchestrator.PublicID(e.State.SessionID, e.State.Identity) {
		t.Errorf("the body's marker is %+v", m)
	}
}

// checkComments fails unless the issue shows the status, a verdict per round and the
// final comment, in this order and each once.
func (c *realCase) checkComments(t *testing.T, r *rig, e session.Entry) {
	t.Helper()
	want := []string{ghsync.KindStatus}
	verdicts := []string{"**pass**"}
	if c.Review != nil {
		verdicts = []string{"**fail**", "**pass**"}
	}
	for range verdicts {
		want = append(want, ghsync.KindVerdict)
	}
	want = append(want, ghsync.KindFinal)
	var got []string
	seq := 0
	comments := r.github.Repo(rigRepo).Comments(1)
	for i, comment := range comments {
		m, ok := ghsync.ParseMarker(comment.Body)
		if !ok || m.Session != orchestrator.PublicID(e.State.SessionID, e.State.Identity) || comment.Author != rigBot {
			t.Errorf("comment %d by %s has the marker %+v", i, comment.Author, m)
		}
		got = append(got, m.Kind)
		if m.Kind == ghsync.KindVerdict && len(verdicts) > 0 {
			if !strings.Contains(firstLine(comment.Body), verdicts[0]) {
				t.Errorf("comment %d begins %q, want %s", i, firstLine(comment.Body), verdicts[0])
			}
			verdicts = verdicts[1:]
		}
		if m.Kind != ghsync.KindStatus {
			if m.Seq <= seq {
				t.Errorf("comment %d shows record %d after %d", i, m.Seq, seq)
			}
			seq = m.Seq
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("comments %v, want %v", got, want)
	}
	c.save(t, r, e, comments)
}

// save writes all that people read on the issue to a directory, where one is given
// by AGENTMUX_SHOW.
func (c *realCase) save(t *testing.T, r *rig, e session.Entry, comments []fakehub.CommentView) {
	t.Helper()
	dir := os.Getenv("AGENTMUX_SHOW")
	if dir == "" {
		return
	}
	var b strings.Builder
	for _, comment := range comments {
		fmt.Fprintf(&b, "----- %s, edited %d times\n%s\n", comment.Author, comment.Edits, comment.Body)
	}
	for _, pull := range r.github.Repo(rigRepo).Pulls() {
		fmt.Fprintf(&b, "===== #%d %s, %s into %s, draft %t, labels %v\n%s\n", pull.Number, pull.Title, pull.Head, pull.Base, pull.Draft, pull.Labels, pull.Body)
		for _, comment := range r.github.Repo(rigRepo).Comments(pull.Number) {
			fmt.Fprintf(&b, "----- %s\n%s\n", comment.Author, comment.Body)
		}
	}
	issue := r.github.Repo(rigRepo).Issue(1)
	fmt.Fprintf(&b, "===== issue %s, labels %v\n", issue.State, issue.Labels)
	r.git(r.clone, "fetch", "--quiet", "origin")
	fmt.Fprintln(&b, r.git(r.clone, "log", "--format=fuller", "--stat", "origin/main..origin/"+e.State.FeatureBranch))
	r.write(filepath.Join(dir, filepath.Base(t.Name())+".md"), b.String())
}

// checkBranch fails unless the pushed branch is the change of the fixed version and
// nothing else, and the module's own tests pass in a fresh clone of it.
func (c *realCase) checkBranch(t *testing.T, r *rig, e session.Entry) {
	t.Helper()
	dir := c.fresh(t, r, e.State.FeatureBranch)
	var want []string
	for _, ch := range c.changes {
		file := filepath.Join(dir, filepath.FromSlash(ch.path))
		want = append(want, ch.path)
		if ch.status == 'D' {
			if _, err := os.Lstat(file); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", ch.path, err)
			}
			continue
		}
		if r.read(file) != r.read(c.goal, filepath.FromSlash(ch.path)) {
			t.Errorf("%s is not that of %s", ch.path, c.Fixed)
		}
	}
	got := strings.Split(r.git(dir, "diff", "--name-only", "--no-renames", "origin/main", "HEAD"), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("the branch changes %q, want %q", got, want)
	}
	out, err := goCommand(t, dir, append([]string{"test", "-timeout", "3m"}, c.Packages...)...).CombinedOutput()
	if err != nil {
		t.Errorf("the tests fail on the branch: %v\n%s", err, out)
	}
	if status := r.git(dir, "status", "--porcelain"); status != "" {
		t.Errorf("testing changed the clone:\n%s", status)
	}
}
