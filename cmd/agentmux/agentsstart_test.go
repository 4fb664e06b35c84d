package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// Two agents, one of which depends on the other, end with two branches in the person's clone, in
// which nothing else changes. A run that has ended is begun afresh on its branches.
func TestAgentsStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: teamPlaybook, config: "sandbox: {unsafe_flags: true}\n"})
	r.write(filepath.Join(r.clone, "a.txt"), "kept\n")
	r.git(r.clone, "stash")
	r.write(filepath.Join(r.clone, "a.txt"), "staged\n")
	r.git(r.clone, "add", "a.txt")
	r.write(filepath.Join(r.clone, "b.txt"), "not staged\n")
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), teamFile)
	r.git(r.clone, "status") // which writes the index
	before := r.cloneFiles()
	res := r.expect(exit.Done, "agents", "start", "--yes", "--headless")
	for _, want := range []string{"SESSION        shop", "feature/greeting", "2 worktrees, 0 review agents"} {
		if !strings.Contains(res.out, want) {
			t.Errorf("no %q in\n%s", want, res.out)
		}
	}
	if got := r.git(r.clone, "show", "feature/greeting:words.txt") + r.git(r.clone, "show", "feature/greeting:greeting.txt"); got != "helloworld" {
		t.Errorf("feature/greeting holds %q", got)
	}
	words := r.git(r.clone, "rev-parse", "feature/words")
	if got := r.git(r.clone, "rev-parse", "feature/greeting^"); got != words {
		t.Errorf("feature/greeting is not on top of feature/words: %s", got)
	}
	if diff := changed(before, r.cloneFiles()); diff != "" {
		t.Errorf("the clone changed: %s", diff)
	}
	if got := r.git(r.clone, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/stash"); got != "refs/heads/feature/greeting\nrefs/heads/feature/words\nrefs/heads/main\nrefs/stash" {
		t.Errorf("refs: %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(r.session().Dir, "signals", "greeting.done")); err != nil || string(text) != "0\n" {
		t.Errorf("marker %q, %v", text, err)
	}

	if res := r.expect(exit.BadUsage, "agents", "start", "--yes", "--headless"); !strings.Contains(res.err, "every agent has a marker") {
		t.Errorf("a second start: %s", res.err)
	}
	r.write(filepath.Join(r.dir, "playbook.yaml"), strings.Replace(teamPlaybook, "hello", "hello again", 1))
	r.expect(exit.Done, "agents", "start", "--yes", "--headless", "--new", "--only", "words")
	if got := r.git(r.clone, "rev-parse", "feature/words^"); got != words {
		t.Errorf("feature/words does not go on from its tip: %s", got)
	}
	if n := len(r.sessions()); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// cloneFiles are the files of the person's clone that no run may touch: the work tree and what git
// keeps apart from objects, refs and the list of files to ignore.
func (r *rig) cloneFiles() map[string]string {
	r.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(r.clone, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(r.clone, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == ".agentmux" || rel == ".git/objects" || rel == ".git/refs/heads" || rel == ".git/logs/refs/heads"):
			return fs.SkipDir
		case d.Type().IsRegular() && rel != ".git/info/exclude":
			data, err := os.ReadFile(path)
			files[rel] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return files
}

// changed names the files that differ.
func changed(before, after map[string]string) string {
	var names []string
	for name, text := range after {
		if old, ok := before[name]; !ok || old != text {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			names = append(names, name+" (gone)")
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Everything that is wrong is said at once, and nothing is made.
func TestAgentsStartRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: teamPlaybook})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), teamFile+"    auto_accept: true\n  - name: main\n    branch: main\n    task: Take it\n  - name: old\n    branch: old\n    task: Go on\n")
	if res := r.expect(exit.BadUsage, "agents", "start"); !strings.Contains(res.err, "no terminal to ask at") {
		t.Errorf("without a terminal: %s", res.err)
	}
	if res := r.expect(exit.BadUsage, "agents", "start", "--yes", "--only", "word,greetings"); !strings.Contains(res.err, `"word"`) || !strings.Contains(res.err, `"greetings"`) {
		t.Errorf("--only: %s", res.err)
	}
	r.git(r.clone, "branch", "feature")
	r.git(r.clone, "update-ref", "refs/heads/old", r.git(r.clone, "commit-tree", "-m", "Another root", "HEAD^{tree}"))
	if err := os.Mkdir(filepath.Join(r.dir, "shop-greeting"), 0o700); err != nil {
		t.Fatal(err)
	}
	before := r.cloneFiles()
	res := r.expect(exit.BadUsage, "agents", "start", "--yes")
	for _, want := range []string{
		"agents[0].branch: branch feature/words cannot be made beside the branch feature", "agents[1].name: ", "shop-greeting is there already",
		"agents[2].branch: main is checked out", "agents[3].branch: old is there already and does not descend from main",
		"auto_accept of greeting needs your yes",
	} {
		if !strings.Contains(res.err, want) {
			t.Errorf("no %q in\n%s", want, res.err)
		}
	}
	if n := len(r.sessions()); n != 0 {
		t.Errorf("%d sessions were made", n)
	}
	if diff := changed(before, r.cloneFiles()); diff != "" {
		t.Errorf("the clone changed: %s", diff)
	}
}
