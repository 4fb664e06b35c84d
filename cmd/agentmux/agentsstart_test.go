package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/team"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/story"
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
	if doc := r.read("..", "..", "docs", "agents-files.md"); !strings.Contains(doc, "```yaml\n"+teamFile+"```\n") {
		t.Error("docs/agents-files.md shows another file than the one that is run here")
	}
	r.write(filepath.Join(r.clone, "a.txt"), "kept\n")
	r.git(r.clone, "stash")
	r.write(filepath.Join(r.clone, "a.txt"), "staged\n")
	r.git(r.clone, "add", "a.txt")
	r.write(filepath.Join(r.clone, "b.txt"), "not staged\n")
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), teamFile)
	status := r.git(r.clone, "status", "--porcelain") // which writes the index
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
	if !strings.Contains(res.err+res.out, "done: 2 branches; agentmux agents status shop shows them") {
		t.Errorf("the end is told as\n%s%s", res.out, res.err)
	}
	if out := r.expect(exit.Done, "status", "shop").out + r.expect(exit.Done, "sessions", "--json").out; strings.Contains(out, "agentmux/shop") {
		t.Errorf("a branch that no agent has is shown:\n%s", out)
	}
	if res := r.expect(exit.BadUsage, "diff", "shop"); !strings.Contains(res.err, "shop has a branch for each agent") {
		t.Errorf("diff: %s", res.err)
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

	if got, err := os.Readlink(filepath.Join(r.clone, ".dmux", "signals")); err != nil || got != filepath.Join(r.session().Dir, "signals") {
		t.Errorf(".dmux/signals leads to %q, %v", got, err)
	}
	var shown team.StatusJSON
	if err := json.Unmarshal([]byte(r.expect(exit.Done, "agents", "status", "--json").out), &shown); err != nil || len(shown.Agents) != 2 {
		t.Fatalf("status %+v, %v", shown, err)
	}
	if m := shown.Agents[0]; m.Name != "words" || m.Status != "done" || m.Exit == nil || *m.Exit != 0 || m.Commit != words || m.Branch != "feature/words" || m.Started.IsZero() || m.Ended.IsZero() {
		t.Errorf("status of words %+v", m)
	}
	if u := shown.Agents[0].Usage; u == nil || *u != (story.Spent{Launches: 1, Unknown: 1}) {
		t.Errorf("usage %+v", u)
	}
	if out := r.expect(exit.Done, "agents", "status").out; !strings.Contains(out, "not known") || !strings.Contains(out, "feature/greeting") {
		t.Errorf("status: %s", out)
	}
	r.expect(exit.Done, "agents", "changelog")
	if text := r.read(r.clone, "AGENTS_CHANGELOG.md"); !strings.Contains(text, "## words") || !strings.Contains(text, words) || !strings.Contains(text, "words.txt` +1 -0") {
		t.Errorf("changelog: %s", text)
	}

	if res := r.expect(exit.BadUsage, "agents", "start", "--yes", "--headless"); !strings.Contains(res.err, "every agent is done; agentmux agents start --new") {
		t.Errorf("a second start: %s", res.err)
	}
	if res := r.expect(exit.BadUsage, "agents", "start", "--yes", "--headless", "--new", "--only", ""); !strings.Contains(res.err, "--only names no agent") {
		t.Errorf("--only without a name: %s", res.err)
	}
	r.write(filepath.Join(r.dir, "playbook.yaml"), strings.Replace(teamPlaybook, "hello", "hello again", 1))
	r.write(filepath.Join(r.dir, "shop-words", "unsaved.txt"), "of the run that has ended\n")
	res = r.expect(exit.Done, "agents", "start", "--yes", "--headless", "--new", "--only", "words")
	if got := r.fetched(res.err, "unsaved.txt"); got != "of the run that has ended" {
		t.Errorf("kept of the workspace of the ended run: %q\n%s", got, res.err)
	}
	if _, err := os.Lstat(filepath.Join(r.dir, "shop-words", "unsaved.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the new run works where the ended one left off: %v", err)
	}
	if got := r.git(r.clone, "rev-parse", "feature/words^"); got != words {
		t.Errorf("feature/words does not go on from its tip: %s", got)
	}
	if n := len(r.sessions()); n != 1 {
		t.Errorf("%d sessions", n)
	}

	// What is in no branch is kept, unless it is given up by name.
	r.write(filepath.Join(r.dir, "shop-words", "late.txt"), "not handed in\n")
	res = r.expect(exit.Done, "agents", "cleanup")
	if got := r.fetched(res.err, "late.txt"); got != "not handed in" {
		t.Errorf("kept: %q\n%s", got, res.err)
	}
	for _, gone := range []string{filepath.Join(r.dir, "shop-words"), filepath.Join(r.clone, ".dmux")} {
		if _, err := os.Lstat(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", gone, err)
		}
	}
	if got := r.git(r.clone, "rev-parse", "feature/greeting^"); got != words {
		t.Errorf("feature/greeting after the cleanup: %s", got)
	}
	r.expect(exit.BadUsage, "agents", "cleanup", "--discard", "nobody")
	if err := os.Remove(filepath.Join(r.clone, team.ChangelogFile)); err != nil { // which was asked for
		t.Error(err)
	}
	if diff := changed(before, r.cloneFiles()); diff != "" {
		t.Errorf("after the cleanup the clone differs, in its files, index, stash or configuration: %s", diff)
	}
	if res := r.expect(exit.Done, "agents", "cleanup"); !strings.Contains(res.err, "nothing to clean: shop has no worktrees") || strings.Contains(res.err, "removed") {
		t.Errorf("a second cleanup: %s", res.err)
	}
	if got := r.git(r.clone, "status", "--porcelain"); got != status {
		t.Errorf("git status after the cleanup:\n%s\nand before the run:\n%s", got, status)
	}
}

// fetched returns a file of the kept work that a command names, as a person fetches it; "" if none of that work has it.
func (r *rig) fetched(told, file string) string {
	r.t.Helper()
	for _, fetch := range regexp.MustCompile(`git fetch (\S+) (refs/agentmux/preserved/\S+)`).FindAllStringSubmatch(told, -1) {
		if r.git(r.clone, "--git-dir", fetch[1], "ls-tree", "--name-only", fetch[2], file) != "" {
			return r.git(r.clone, "--git-dir", fetch[1], "show", fetch[2]+":"+file)
		}
	}
	return ""
}

// An agent that fails blocks what depends on it; a retry, a marker made by hand and a stop of one
// agent end it otherwise.
func TestAgentsRetry(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	random := make([]byte, 18)
	_, _ = rand.Read(random)
	secret := fmt.Sprintf("ghp_%x", random)
	secrets := strings.Repeat(" "+secret, 8) // a pane breaks at least one of them
	playbook := strings.Replace(teamPlaybook, "      - write: {file: words.txt, text: \"hello\\n\"}\n      - submit: {tool: submit_done}\n", "      - submit: {tool: msg_send, with: {to: greeting, type: update, headline: the words come, body: soon}}\n      - say: I look for the words\n      - say: \"no words:"+secrets+"\"\n      - exit: 3\n", 1)
	if playbook == teamPlaybook {
		t.Fatal("the playbook is not the one that fails")
	}
	r := newRig(t, rigOptions{playbook: playbook, config: "sandbox: {unsafe_flags: true}\n"})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), teamFile)
	foreign := filepath.Join(r.dir, "foreign")
	r.write(filepath.Join(foreign, "words.done"), "0\n")
	r.write(filepath.Join(r.clone, ".dmux", "other"), "theirs\n")
	if err := os.Symlink(foreign, filepath.Join(r.clone, ".dmux", "signals")); err != nil {
		t.Fatal(err)
	}
	res := r.expect(exit.Failed, "agents", "start", "--yes", "--headless")
	if !strings.Contains(res.err, "is not a link that agentmux made: markers made there do not count") {
		t.Errorf("a link of another: %s", res.err)
	}
	if !strings.Contains(res.err, "1 changed file is not included") { // that of .dmux
		t.Errorf("the agents file counts as a change that is left out: %s", res.err)
	}
	if found, err := os.ReadDir(foreign); err != nil || len(found) != 1 {
		t.Errorf("the link of another was followed: %v, %v", found, err)
	}
	if !strings.Contains(res.err, "build/words failed: exit 3; it printed last: no words: ") {
		t.Errorf("what is told of the failure: %s", res.err)
	}
	out := r.expect(exit.Done, "agents", "status").out
	if !strings.Contains(out, "failed (exit 3)") || !strings.Contains(out, "blocked") ||
		!strings.Contains(out, "\nwords: exit 3\n") || !strings.Contains(out, "\n  I look for the words\n  no words: ") || !strings.Contains(out, "\n  all of it: ") {
		t.Errorf("status: %s", out)
	}
	for _, text := range []string{out, r.read(r.session().Dir, "events.jsonl")} {
		for i := range secret[8:] {
			if part := secret[i : i+8]; strings.Contains(text, part) {
				t.Errorf("%s of a secret is in\n%s", part, text)
				break
			}
		}
	}
	if !strings.Contains(out, "messages queued: 1; the session has ended (failed); it is delivered if the session continues") {
		t.Errorf("of the message that waits, status says: %s", out)
	}
	if res := r.expect(exit.Done, "msg", "list", "--session", "shop"); !strings.Contains(res.out, "queued") || !strings.Contains(res.err, "1 queued: the session has ended (failed)") {
		t.Errorf("of the message that waits, msg list says: %s%s", res.out, res.err)
	}
	if out := r.expect(exit.Done, "status").out; !strings.Contains(out, "agentmux retry shop, then agentmux resume shop") {
		t.Errorf("what to do next: %s", out)
	}
	dir := r.session().Dir
	if text := r.read(dir, "signals", "greeting.blocked"); text != "words\n" {
		t.Errorf("greeting.blocked: %q", text)
	}
	if res := r.expect(exit.BadUsage, "retry", "--role", "greeting"); !strings.Contains(res.err, "blocked by words: retry that one") {
		t.Errorf("retry of a blocked agent: %s", res.err)
	}
	r.write(filepath.Join(r.dir, "playbook.yaml"), teamPlaybook)
	r.expect(exit.Done, "retry", "--role", "words")
	r.expect(exit.Done, "agents", "start", "--yes", "--headless")
	if got := r.read(dir, "signals", "greeting.done"); got != "0\n" {
		t.Errorf("greeting.done: %q", got)
	}
	if res := r.expect(exit.Done, "msg", "list", "--session", "shop"); strings.Contains(res.out, "queued") || res.err != "" {
		t.Errorf("after the retry the message still waits: %s%s", res.out, res.err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "signals", "greeting.blocked")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("greeting.blocked is there: %v", err)
	}
	if got := r.git(r.clone, "show", "feature/greeting:words.txt"); got != "hello" {
		t.Errorf("words.txt: %q", got)
	}
	res = r.expect(exit.Done, "agents", "cleanup")
	if to, err := os.Readlink(filepath.Join(r.clone, ".dmux", "signals")); err != nil || to != foreign {
		t.Errorf("the link of another leads to %q, %v", to, err)
	}
	if strings.Contains(res.err, "preserved") {
		t.Errorf("a cleanup without uncommitted work keeps something: %s", res.err)
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
		"agents[2].branch: main is a branch that others start from", "agents[3].branch: old is there already and does not descend from main",
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

// A second start of a run that works is refused. An agent that is marked by hand hands in what
// stands in its workspace, and what depends on it starts.
func TestProtocolM6ASecondStart(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	playbook := strings.Replace(teamPlaybook, "      - submit: {tool: submit_done}\n", "      - hang: true\n", 1)
	r := newRig(t, rigOptions{playbook: playbook, config: "sandbox: {unsafe_flags: true}\n"})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), teamFile)
	b := r.background("agents", "start", "--yes", "--headless")
	r.atWork("build")
	r.eventually("words has written", func() bool {
		_, err := os.Lstat(filepath.Join(r.dir, "shop-words", "words.txt"))
		return err == nil
	}, b.out.String)
	if res := r.expect(exit.Locked, "agents", "start", "--yes"); !strings.Contains(res.err, "shop works on it already") {
		t.Errorf("a second start: %s", res.err)
	}
	r.expect(exit.Locked, "agents", "start", "--yes", "--new")
	var status team.StatusJSON
	if err := json.Unmarshal([]byte(r.expect(exit.Done, "agents", "status", "--json").out), &status); err != nil || len(status.Agents) != 2 {
		t.Fatalf("status %+v, %v", status, err)
	}
	if a, b := status.Agents[0], status.Agents[1]; a.Status != "running" || b.Status != "waiting (words)" {
		t.Errorf("words is %s, greeting %s", a.Status, b.Status)
	}
	attached := r.pane([]string{"/bin/sh", "-c", `"$@"; echo "ended with $?"; sleep 1000`, "sh", r.own(), "attach", "shop"})
	attached.shows("> words ")
	r.expect(exit.Done, "agents", "done", "words")
	b.over()
	if code := b.cmd.ProcessState.ExitCode(); code != exit.Done {
		t.Fatalf("exit code %d: %s", code, b.out.String())
	}
	if got := r.git(r.clone, "show", "feature/greeting:words.txt") + r.git(r.clone, "show", "feature/greeting:greeting.txt"); got != "helloworld" {
		t.Errorf("feature/greeting holds %q", got)
	}
	if res := r.expect(exit.BadUsage, "agents", "done", "words"); !strings.Contains(res.err, "words is done already") {
		t.Errorf("done twice: %s", res.err)
	}
	// A person who looks keeps the server of a session that has ended, until it is cleaned up.
	r.expect(exit.Done, "agents", "cleanup")
	if screen := attached.shows("ended with"); !strings.Contains(screen, "ended with 0") || !strings.Contains(screen, "the tmux session of shop has ended") {
		t.Errorf("attach, when its server is ended:\n%s", screen)
	}
}
