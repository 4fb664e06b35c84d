package host_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// A rename has two names, and each of them counts: a file that is moved into the scope of an agent was taken from where the
// agent owns nothing, and one that is moved out of it is put there.
func TestARenameAcrossTheScopeIsSeen(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	text := strings.Repeat("a line that makes git see a rename\n", 20)
	for name, c := range map[string]struct{ from, to, outside string }{
		"into the scope":   {"other/a.txt", "words/a.txt", "other/a.txt"},
		"out of the scope": {"words/a.txt", "other/a.txt", "other/a.txt"},
		"within the scope": {"words/a.txt", "words/b.txt", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.write(c.from, text)
			r.git("add", "-A")
			r.git("commit", "-q", "-m", "two")
			r.script(scenario{Files: map[string][]string{"words": {c.to + "=" + strings.TrimSuffix(text, "\n")}}, Remove: map[string][]string{"words": {c.from}}})
			dir := r.prepare(func(spec *host.PrepareSpec) {
				spec.Agents, spec.Request, spec.Name = []byte("session: greet\nagents:\n  - {name: words, branch: feature/words, task: Move it., scope: [words/]}\n"), "", "greet"
			})
			if s := r.run(host.RunSpec{Dir: dir}); s.Outcome != orchestrator.OutcomeDone {
				t.Fatalf("outcome %s: %s", s.Outcome, s.Cause)
			}
			if got := r.git("diff", "--name-status", "-M", "main", "feature/words"); !strings.HasPrefix(got, "R100") {
				t.Fatalf("not a rename: %s", got)
			}
			sess, err := session.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			records, _, err := sess.Events(0)
			if err != nil {
				t.Fatal(err)
			}
			var strays story.Strays
			for _, e := range records {
				strays.Fold(e)
			}
			var paths []string
			for _, stray := range strays {
				paths = append(paths, stray.Owner()+": "+stray.Path)
			}
			want := []string{"agent words: " + c.outside}
			if c.outside == "" {
				want = nil
			}
			if !slices.Equal(paths, want) {
				t.Errorf("outside of the scope %q, want %q", paths, want)
			}
		})
	}
}

var update = flag.Bool("update", false, "write the golden files")

// What an agent of an agents file is told: its task, the paths that it may change and those that it only reads, whose branches
// are there and which plans to read first, one that plans where to write, and a reviewer the commits to look at.
func TestThePromptsOfAgents(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.script(scenario{Files: map[string][]string{
		"words": {"words.txt=hello"}, "greeting": {"greeting.txt=world"}, "outline": {"plans/outline.md=Greet at the top."}, "page": {"page.txt=hello world"},
	}})
	dir := r.prepare(func(spec *host.PrepareSpec) {
		spec.Request, spec.Name = "", "greet"
		spec.Agents = []byte(`session: greet
agents:
  - {name: outline, role: plan, branch: feature/outline, task: Plan the page., scope: [docs/]}
  - {name: words, branch: feature/words, task: Write the words., scope: [words.txt], context: [README.md]}
  - {name: greeting, branch: feature/greeting, task: Write the greeting., depends_on: [words]}
  - {name: page, branch: feature/page, task: Write the page., depends_on: [outline, words]}
  - {name: look, role: review, depends_on: [words, greeting]}
`)
	})
	s := r.run(host.RunSpec{Dir: dir})
	if s.Outcome != orchestrator.OutcomeDone {
		t.Fatalf("outcome %s: %s", s.Outcome, s.Cause)
	}
	names := strings.NewReplacer(
		dir, "SESSION", r.key(dir), "KEY", filepath.Dir(r.project), "ROOT", r.git("rev-parse", "main"), "BASE", s.Team["words"].Commit, "WORDS", s.Team["greeting"].Commit, "GREETING",
	)
	view := regexp.MustCompile(`1\.view-review-look-[0-9a-f]{8}`) // of the path
	for _, name := range []string{"outline", "words", "greeting", "page", "look"} {
		data, err := os.ReadFile(filepath.Join(dir, "06_implementation", name+"_prompt.md"))
		if err != nil {
			t.Fatal(err)
		}
		_, task, _ := strings.Cut(names.Replace(string(data)), "## Your task\n")
		task, rest, _ := strings.Cut(task, "## How to work\n")
		_, writes, _ := strings.Cut(rest, "## What you write\n")
		writes, _, cut := strings.Cut(writes, "## Rules\n")
		got := view.ReplaceAllString("## Your task\n"+task+"## What you write\n"+writes, "VIEW")
		if !cut {
			t.Errorf("%s lacks a part:\n%s", name, data)
		}
		golden := filepath.Join("testdata", "prompts", name+".md")
		if *update {
			must(t, errors.Join(os.MkdirAll(filepath.Dir(golden), 0o755), os.WriteFile(golden, []byte(got), 0o644)))
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%v: %s is told\n%s\nwant\n%s", err, name, got, want)
		}
	}
	plan := r.git("-C", filepath.Join(filepath.Dir(r.project), "greet-page"), "show", "feature/outline:plans/outline.md")
	if plan != "Greet at the top." {
		t.Errorf("the command of page for its plan shows %q", plan)
	}
}
