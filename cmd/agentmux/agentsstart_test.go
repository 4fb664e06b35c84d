package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
)

const teamFile = `session: shop
agents:
  - name: words
    branch: feature/words
    task: Write the words
  - name: greeting
    branch: feature/greeting
    task: Write the greeting
    depends_on: words
    from: words
`

const teamPlaybook = `version: 1
agents:
  - role: build
    task: words
    steps:
      - write: {file: words.txt, text: "hello\n"}
      - submit: {tool: submit_done}
  - role: build
    task: greeting
    steps:
      - write: {file: greeting.txt, text: "world\n"}
      - submit: {tool: submit_done, via: cli, args: [submit, done]}
`

// Two agents, one of which depends on the other, end with two branches in the person's clone.
func TestAgentsStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: teamPlaybook, config: "sandbox: {unsafe_flags: true}\n"})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), teamFile)
	res := r.expect(exit.Done, "agents", "start", "--yes", "--headless")
	for _, want := range []string{"SESSION        shop", "feature/greeting", "2 worktrees, 0 review agents"} {
		if !strings.Contains(res.out, want) {
			t.Errorf("no %q in\n%s", want, res.out)
		}
	}
	if got := r.git(r.clone, "show", "feature/greeting:words.txt") + r.git(r.clone, "show", "feature/greeting:greeting.txt"); strings.ReplaceAll(got, "\n", "") != "helloworld" {
		t.Errorf("feature/greeting holds %q", got)
	}
	if got := r.git(r.clone, "rev-parse", "feature/greeting^"); got != r.git(r.clone, "rev-parse", "feature/words") {
		t.Errorf("feature/greeting is not on top of feature/words: %s", got)
	}
	if got := r.git(r.clone, "status", "--porcelain"); strings.TrimSpace(got) != "?? .agentmux/\n?? .dmux-agents.yml" {
		t.Errorf("the clone changed: %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(r.session().Dir, "signals", "greeting.done")); err != nil || string(text) != "0\n" {
		t.Errorf("marker %q, %v", text, err)
	}
	r.expect(exit.BadUsage, "agents", "start", "--yes", "--headless") // it has ended
}

// Everything that is wrong is said at once, and nothing is made.
func TestAgentsStartRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: teamPlaybook, config: "sandbox: {unsafe_flags: true}\n"})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), teamFile)
	if res := r.expect(exit.BadUsage, "agents", "start"); !strings.Contains(res.err, "no terminal to ask at") {
		t.Errorf("without a terminal: %s", res.err)
	}
	if res := r.expect(exit.BadUsage, "agents", "start", "--yes", "--only", "word,greetings"); !strings.Contains(res.err, `"word"`) || !strings.Contains(res.err, `"greetings"`) {
		t.Errorf("--only: %s", res.err)
	}
	r.git(r.clone, "branch", "feature/words")
	if err := os.Mkdir(filepath.Join(r.dir, "shop-greeting"), 0o700); err != nil {
		t.Fatal(err)
	}
	res := r.expect(exit.BadUsage, "agents", "start", "--yes")
	for _, want := range []string{"agents[0].branch: feature/words is there already", "agents[1].name: ", "shop-greeting is there already"} {
		if !strings.Contains(res.err, want) {
			t.Errorf("no %q in\n%s", want, res.err)
		}
	}
	if n := len(r.sessions()); n != 0 {
		t.Errorf("%d sessions were made", n)
	}
}
