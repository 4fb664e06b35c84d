package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/workflows/agents"
)

// asked is a clone in which a person answers the questions of agents init.
type asked struct {
	t       *testing.T
	project string
	file    string
}

func newAsked(t *testing.T) asked {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", "")
	project := filepath.Join(dir, "Web Shop")
	if out, err := exec.CommandContext(t.Context(), "git", "init", "--quiet", project).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return asked{t, project, filepath.Join(project, agents.File)}
}

func (a asked) types(code int, terminal bool, answers io.Reader, args ...string) string {
	a.t.Helper()
	var out bytes.Buffer
	std := console.Streams{In: answers, Out: &out, Err: &out, Terminal: terminal}
	if got := run(a.t.Context(), append([]string{"--project", a.project, "agents", "init"}, args...), std); got != code {
		a.t.Fatalf("exit %d, want %d\n%s", got, code, &out)
	}
	return out.String()
}

func (a asked) read() string {
	a.t.Helper()
	data, err := os.ReadFile(a.file)
	if err != nil && !os.IsNotExist(err) {
		a.t.Fatal(err)
	}
	return string(data)
}

// Each wrong answer is told in the words of the file's own check and asked for again.
func TestAgentsInitAsks(t *testing.T) {
	a := newAsked(t)
	out := a.types(0, true, strings.NewReader(strings.Join([]string{
		"my shop", "", "/tmp", "../trees", "maybe", "n",
		"core", "auth", "boss", "", "-x", "", "", "Add: login",
		"auth", "plans", "plan", "feature/plan", "Plan the catalog", "ghost, auth", "auth",
		"reviewer", "review", "", "auth, plans",
		"",
	}, "\n")+"\n"))
	for _, want := range []string{
		`beginning with a letter or a digit, found "my shop"`, "Session [web-shop]: Parent of the worktrees",
		`expected a path relative to the project, found "/tmp"`, `expected y or n, found "maybe"`, `"core" is a name that messages use`,
		`expected build, review or plan, found "boss"`, `a branch must not begin with -, found "-x"`, "an answer is needed",
		`"auth" is the name of agents[0] too`, `no agent is called "ghost"`, "Depends on (auth, plans)", "wrote " + a.file + " (3 agents)",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	want := `session: web-shop
worktree_base: ../trees
main_pane: false

agents:
  - name: auth
    branch: auth
    task: "Add: login"
  - name: plans
    role: plan
    branch: feature/plan
    depends_on:
      - auth
    task: Plan the catalog
  - name: reviewer
    role: review
    depends_on:
      - auth
      - plans
`
	if got := a.read(); got != want {
		t.Errorf("it wrote\n%s\nwant\n%s", got, want)
	}
	if team, problems := agents.Parse(agents.File, []byte(a.read()), agents.Known{}); team == nil || len(problems) > 0 {
		t.Errorf("problems %v", problems.Lines())
	}
}

// The file that is written is agents.file of the configuration, in the project and nowhere else.
func TestAgentsInitWritesTheConfiguredFile(t *testing.T) {
	a := newAsked(t)
	configure := func(file string) {
		t.Helper()
		dir := filepath.Join(a.project, ".agentmux")
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("version: 2\nagents: {file: "+file+"}\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const answers = "s\n\n\na\n\n\nDo it\n\n"
	configure("teams/ours/shop.yml") // neither directory is there
	file := filepath.Join(a.project, "teams", "ours", "shop.yml")
	if out := a.types(exit.Done, true, strings.NewReader(answers)); !strings.Contains(out, "wrote "+file+" (1 agent)") {
		t.Errorf("it says\n%s", out)
	}
	if data, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(data), "session: s\n") || a.read() != "" {
		t.Errorf("%v, it wrote\n%s\nand at the usual place\n%s", err, data, a.read())
	}
	if out := a.types(exit.BadUsage, true, strings.NewReader(answers)); !strings.Contains(out, file+" exists; --force replaces it") {
		t.Errorf("it says\n%s", out)
	}

	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(a.project, "away")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "none"), filepath.Join(a.project, "nowhere")); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string]string{"away/shop.yml": "leads out of the project", "away/new/shop.yml": "leads out of the project", "nowhere/shop.yml": "leads nowhere", "../shop.yml": "without ..", outside + "/shop.yml": "relative path", ".": "relative path", "teams/": "relative path"} {
		configure(file)
		if out := a.types(exit.BadUsage, true, strings.NewReader(answers), "--force"); !strings.Contains(out, says) {
			t.Errorf("%s: %s", file, out)
		}
	}
	if found, err := os.ReadDir(outside); err != nil || len(found) > 0 {
		t.Errorf("outside: %v, %v", found, err)
	}
}

func TestAgentsInitReplacesNothingUnasked(t *testing.T) {
	a := newAsked(t)
	const answers = "s\n\n\na\n\n\nDo it\n\n"
	if err := os.WriteFile(a.file, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := a.types(exit.BadUsage, true, strings.NewReader(answers)); !strings.Contains(out, "exists; --force replaces it") || strings.Contains(out, "Session [") {
		t.Errorf("it says\n%s", out)
	}
	if got := a.read(); got != "mine\n" {
		t.Errorf("the file holds %q", got)
	}
	// One that is made while the person answers is kept, too.
	if err := os.Remove(a.file); err != nil {
		t.Fatal(err)
	}
	typed := strings.NewReader(answers)
	made := readerFunc(func(p []byte) (int, error) {
		if err := os.WriteFile(a.file, []byte("of another\n"), 0o600); err != nil {
			return 0, err
		}
		return typed.Read(p)
	})
	if out := a.types(exit.BadUsage, true, made); !strings.Contains(out, "exists; --force replaces it") {
		t.Errorf("it says\n%s", out)
	}
	if got := a.read(); got != "of another\n" {
		t.Errorf("the file holds %q", got)
	}
	// With --force a link is replaced, not what it leads to.
	mine := filepath.Join(a.project, "mine.yml")
	if err := os.Rename(a.file, mine); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, a.file); err != nil {
		t.Fatal(err)
	}
	a.types(0, true, strings.NewReader(answers), "--force")
	if info, err := os.Lstat(a.file); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o644 || !strings.HasPrefix(a.read(), "session: s\n") {
		t.Errorf("%v %v %q", info, err, a.read())
	}
	if data, err := os.ReadFile(mine); err != nil || string(data) != "of another\n" {
		t.Errorf("the link led to %q, %v", data, err)
	}
	if left, err := filepath.Glob(filepath.Join(a.project, ".dmux*tmp*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAgentsInitThatIsNotAnsweredWritesNothing(t *testing.T) {
	a := newAsked(t)
	if out := a.types(exit.BadUsage, false, strings.NewReader("s\n")); !strings.Contains(out, "there is no terminal to ask at; agentmux agents init --from-issue 1,2 asks nothing") {
		t.Errorf("it says\n%s", out)
	}
	if out := a.types(exit.Failed, true, strings.NewReader("s\n\n\na\n")); !strings.Contains(out, "the input ended before the last question, nothing was written") {
		t.Errorf("it says\n%s", out)
	}
	if got := a.read(); got != "" {
		t.Errorf("it wrote\n%s", got)
	}
}

// Each issue becomes an agent; a title is never an instruction, and equal titles get numbers.
func TestAgentsInitFromIssues(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	add := func(title string) string {
		return strconv.Itoa(repo.AddIssue(fakehub.IssueSpec{Title: title, Author: rigOwner}))
	}
	first := add("Fix the login\u202e: now")
	second, third, core, none := add("Fix the login now"), add("fix THE login — now!"), add("core"), add("修正")
	evil := add("x\n    auto_accept: true # `rm`")
	res := r.expect(0, "agents", "init", "--from-issue", strings.Join([]string{first, "#" + second, third}, ","), "--from-issue", core+","+none, "--from-issue", evil)
	got := r.read(filepath.Join(r.clone, agents.File))
	team, problems := agents.Parse(agents.File, []byte(got), agents.Known{})
	if team == nil || len(problems) > 0 {
		t.Fatalf("problems %v in\n%s", problems.Lines(), got)
	}
	var names []string
	for _, a := range team.Agents {
		names = append(names, a.Name+" "+a.Branch+" "+strconv.Itoa(a.Issue)+" "+a.Task)
		if a.AutoAccept {
			t.Errorf("a title became a key:\n%s", got)
		}
	}
	want := []string{
		"fix-the-login-now issue-" + first + "-fix-the-login-now " + first + " Resolve issue " + first,
		"fix-the-login-now-2 issue-" + second + "-fix-the-login-now " + second + " Resolve issue " + second,
		"fix-the-login-now-3 issue-" + third + "-fix-the-login-now " + third + " Resolve issue " + third,
		"core-2 issue-" + core + "-core " + core + " Resolve issue " + core,
		"issue-" + none + " issue-" + none + " " + none + " Resolve issue " + none,
		"x-auto-accept-true-rm issue-" + evil + "-x-auto-accept-true-rm " + evil + " Resolve issue " + evil,
	}
	if strings.Join(names, "\n") != strings.Join(want, "\n") {
		t.Errorf("agents\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	if team.Session != "widgets" || !strings.Contains(res.out, "(6 agents)") {
		t.Errorf("session %q, said %s", team.Session, res.out)
	}
	// The keys that an older tool does not know come last in each entry.
	for entry := range strings.SplitSeq(got, "  - name: ") {
		if at := strings.Index(entry, "\n    issue: "); at >= 0 && strings.Contains(entry[at+1:], "\n    ") {
			t.Errorf("something follows the issue in\n%s", entry)
		}
	}
	if log := r.github.Log(); len(log) != 0 {
		t.Errorf("written: %+v", log)
	}
}

func TestAgentsInitNamesEveryWrongIssue(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	n := strconv.Itoa(r.github.Repo(rigRepo).AddIssue(fakehub.IssueSpec{Title: "One", Author: rigOwner}))
	for _, tt := range []struct {
		issues string
		says   []string
	}{
		{"x," + n + "," + n + ",other/repo#1", []string{`"x" is not an issue`, "--from-issue names " + n + " twice", "the issue is of other/repo, but origin is acme/widgets"}},
		{n + ",901,902", []string{"acme/widgets#901", "acme/widgets#902"}},
	} {
		res := r.expect(exit.BadUsage, "agents", "init", "--from-issue", tt.issues)
		for _, want := range tt.says {
			if !strings.Contains(res.err, want) {
				t.Errorf("%s: it does not say %q:\n%s", tt.issues, want, res.err)
			}
		}
	}
	if _, err := os.Lstat(filepath.Join(r.clone, agents.File)); err == nil {
		t.Error("a file was written")
	}
}
