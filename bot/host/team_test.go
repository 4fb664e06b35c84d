package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

const twoAgents = `session: greet
worktree_base: ../work
agents:
  - name: words
    branch: feature/words
    task: Write the words.
    scope: [words.txt]
  - name: greeting
    branch: feature/greeting
    task: Write the greeting.
    depends_on: [words]
    from: words
  - name: look
    role: review
    depends_on: [words, greeting]
`

// A team ends with a branch for each agent that builds, in the order of its file, and the
// person's clone has nothing else of it.
func TestATeamEndsWithItsBranches(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.script(scenario{Files: map[string][]string{"words": {"words.txt=hello", "AGENT_SUMMARY.md=done"}, "greeting": {"greeting.txt=world"}}})
	dir := r.prepare(func(spec *host.PrepareSpec) {
		spec.Agents, spec.Request, spec.Name = []byte(twoAgents), "", "greet"
	})
	s := r.run(host.RunSpec{Dir: dir})
	if s.Outcome != orchestrator.OutcomeDone {
		t.Fatalf("outcome %s: %s", s.Outcome, s.Cause)
	}
	base := r.git("rev-parse", "main")
	parents := strings.Fields(r.gitIn(r.storeDir(), "log", "-1", "--format=%P", "refs/agentmux/sessions/"+r.key(dir)))
	want := []string{s.Team["words"].Commit, s.Team["greeting"].Commit}
	slices.Sort(want)
	if slices.Sort(parents); !slices.Equal(parents, want) {
		t.Errorf("the checkpoint has the parents %q, want %q", parents, want)
	}
	if got := r.git("log", "--format=%s|%P", "-1", "feature/words"); got != "Write the words|"+base {
		t.Errorf("commit of words: %s", got)
	}
	if got := r.git("rev-parse", "feature/greeting^"); got != r.git("rev-parse", "feature/words") {
		t.Errorf("greeting is not on top of words: %s", got)
	}
	if got := r.git("ls-tree", "-r", "--name-only", "feature/greeting"); got != "README.md\ngreeting.txt\nwords.txt" {
		t.Errorf("files: %q", got)
	}
	if got := r.git("for-each-ref", "--format=%(refname)", "refs/heads"); got != "refs/heads/feature/greeting\nrefs/heads/feature/words\nrefs/heads/main" {
		t.Errorf("branches: %q", got)
	}
	if got := r.git("status", "--porcelain") + r.git("symbolic-ref", "HEAD"); got != "refs/heads/main" {
		t.Errorf("the clone changed: %s", got)
	}
	for name, want := range map[string]string{"words.done": "0\n", "greeting.done": "0\n", "look.done": "0\n"} {
		if text, err := os.ReadFile(filepath.Join(dir, "signals", name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(r.root, "work", "greet-words", "words.txt")); err != nil || string(text) != "hello\n" {
		t.Errorf("the workspace of words: %q, %v", text, err)
	}
	prompt, err := os.ReadFile(filepath.Join(dir, "06_implementation", "greeting_prompt.md"))
	if err != nil || !strings.Contains(string(prompt), "words: `feature/words`") || !strings.Contains(string(prompt), "look (review)") {
		t.Errorf("prompt of greeting: %s, %v", prompt, err)
	}
}

// eightAgents: root, then a, b and c, then ab and bc, then top; free depends on no other.
const eightAgents = `session: greet
worktree_base: ../work
agents:
  - {name: root, branch: x/root, task: Root}
  - {name: a, branch: x/a, task: A, depends_on: root, from: root}
  - {name: b, branch: x/b, task: B, depends_on: root}
  - {name: c, branch: x/c, task: C, depends_on: root}
  - {name: ab, branch: x/ab, task: AB, depends_on: [a, b], from: b}
  - {name: bc, branch: x/bc, task: BC, depends_on: [b, c]}
  - {name: top, role: review, depends_on: [ab, bc]}
  - {name: free, branch: x/free, task: Free}
`

// A diamond of eight agents, of which one fails: exactly those behind it are blocked, the rest ends with
// its branches, and the branches of an agent's dependencies are in its workspace.
func TestProtocolM7ADiamondOfEightWithItsHost(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	files := map[string][]string{}
	for _, name := range []string{"root", "a", "b", "ab", "bc", "free"} {
		files[name] = []string{name + ".txt=" + name}
	}
	r.script(scenario{Files: files, Says: map[string]string{"build/c": "no"}})
	dir := r.prepare(func(spec *host.PrepareSpec) {
		spec.Agents, spec.Request, spec.Name = []byte(eightAgents), "", "greet"
	})
	s := r.run(host.RunSpec{Dir: dir})
	if want := "not done: c (exit 1), bc (blocked by c), top (blocked by bc)"; s.Outcome != orchestrator.OutcomeFailed || string(s.Cause) != want {
		t.Errorf("outcome %s: %s", s.Outcome, s.Cause)
	}
	for name, want := range map[string]string{"root": "0\n", "a": "0\n", "b": "0\n", "c": "1\n", "ab": "0\n", "bc": "99\n", "top": "99\n", "free": "0\n"} {
		if text, err := os.ReadFile(filepath.Join(dir, "signals", name+".done")); err != nil || string(text) != want {
			t.Errorf("marker of %s: %q, %v", name, text, err)
		}
		started, err := filepath.Glob(filepath.Join(dir, "launches", "*."+name+".*"))
		if n := len(started); err != nil || (n == 0) != (want == "99\n") || n > 1 && name != "c" {
			t.Errorf("%s was started %d times, %v", name, n, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "signals", "top.blocked")); err != nil || string(text) != "bc\n" {
		t.Errorf("top.blocked: %q, %v", text, err)
	}
	if got := r.git("for-each-ref", "--format=%(refname:short)", "refs/heads"); got != "main\nx/a\nx/ab\nx/b\nx/free\nx/root" {
		t.Errorf("branches %q", got)
	}
	if got := r.git("rev-parse", "x/a^"); got != r.git("rev-parse", "x/root") {
		t.Errorf("a is not on top of root: %s", got)
	}
	if got := r.git("ls-tree", "-r", "--name-only", "x/ab"); got != "README.md\nab.txt\nb.txt" {
		t.Errorf("files of ab: %q", got)
	}
	if out := r.git("-C", filepath.Join(r.root, "work", "greet-ab"), "rev-parse", "x/a"); out != r.git("rev-parse", "x/a") {
		t.Errorf("x/a in the workspace of ab: %s", out)
	}
}

// A branch of the person that is at the place of an agent's when its work is fetched stays as it
// is, and the work gets the next number.
func TestABranchThatMovedStays(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.script(scenario{Files: map[string][]string{"words": {"words.txt=hello"}, "greeting": {"greeting.txt=world"}}})
	dir := r.prepare(func(spec *host.PrepareSpec) {
		spec.Agents, spec.Request, spec.Name = []byte(twoAgents), "", "greet"
	})
	theirs := r.git("commit-tree", "-m", "Theirs", "-p", "main", "main^{tree}")
	r.git("branch", "feature/greeting", theirs)
	s := r.run(host.RunSpec{Dir: dir})
	if s.Outcome != orchestrator.OutcomeDone || s.Team["greeting"].Branch != "feature/greeting-2" {
		t.Fatalf("outcome %s: %s; branch %s", s.Outcome, s.Cause, s.Team["greeting"].Branch)
	}
	if got := r.git("rev-parse", "feature/greeting"); got != theirs {
		t.Errorf("the branch of the person moved to %s", got)
	}
	if got := r.git("show", "feature/greeting-2:greeting.txt"); got != "world" {
		t.Errorf("greeting.txt: %q", got)
	}
}

// A person who starts a team at a terminal has a window in the project, with a shell that knows no
// token of the host, and a notice of what fails. An unattended run has neither.
func TestAPersonHasAWindowAndNotices(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for _, attended := range []bool{false, true} {
		r := newRig(t, "")
		bin := filepath.Join(r.root, "bin")
		shell, notify := filepath.Join(bin, "shell"), filepath.Join(bin, "notify-send")
		window, told := filepath.Join(r.root, "window"), filepath.Join(r.root, "told")
		if err := os.MkdirAll(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{
			shell:  "#!/bin/sh\npwd > " + window + ".tmp; env >> " + window + ".tmp; mv " + window + ".tmp " + window + "; cat\n",
			notify: "#!/bin/sh\necho \"$@\" >> " + told + "\n",
		} {
			if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		environ := r.host.Environ
		r.host.Environ = func(name string) (string, bool) {
			switch name {
			case "SHELL":
				return shell, true
			case "AGENTMUX_GITHUB_TOKEN":
				return "secret", true
			case "PATH":
				path, _ := environ(name)
				return bin + ":" + path, true
			}
			return environ(name)
		}
		r.script(scenario{Files: map[string][]string{"words": {"words.txt=hello"}}, Says: map[string]string{"build/greeting": "no"}})
		dir := r.prepare(func(spec *host.PrepareSpec) {
			spec.Agents, spec.Request, spec.Name, spec.Interactive = []byte(twoAgents), "", "greet", attended
		})
		r.run(host.RunSpec{Dir: dir})
		text, err := os.ReadFile(window)
		if (err == nil) != attended || attended && (!strings.HasPrefix(string(text), r.project+"\n") || strings.Contains(string(text), "secret")) {
			t.Errorf("attended %v: the window %q, %v", attended, text, err)
		}
		notices, err := os.ReadFile(told)
		if (err == nil) != attended || attended && !strings.Contains(string(notices), "greeting failed (exit 1)") {
			t.Errorf("attended %v: notices %q, %v", attended, notices, err)
		}
	}
}
