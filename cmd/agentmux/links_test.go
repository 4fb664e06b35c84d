package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
)

// A repository whose own .agentmux/.gitignore leaves the sessions out of account, or takes
// them back, does not get them into a commit of its person.
func TestSessionsAreIgnoredWhateverTheRepositorySays(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, text := range map[string]string{"nothing": "*.log\n", "the opposite": "*\n!.sessions/\n!.gitignore\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: quickPlaybook})
			r.write(filepath.Join(r.clone, ".agentmux", ".gitignore"), text)
			r.git(r.clone, "add", "-f", ".agentmux")
			r.git(r.clone, "commit", "-q", "-m", "ignore")
			for _, session := range []string{"first", "second"} {
				r.expect(0, append([]string{"run", "Say two", "--name", session}, quickRun...)...)
				if got := r.git(r.clone, "status", "--porcelain", "--untracked-files=all"); got != "" {
					t.Errorf("git sees after %s:\n%s", session, got)
				}
			}
			exclude, err := os.ReadFile(filepath.Join(r.clone, ".git", "info", "exclude"))
			if err != nil || strings.Count(string(exclude), "\n/.agentmux/.sessions/\n") != 1 {
				t.Errorf("info/exclude, %v:\n%s", err, exclude)
			}
		})
	}
}

// Symlinks where directories of ours should be are refused by name, whatever the command.
func TestLinksInPlaceOfOurDirectoriesAreRefused(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.write(filepath.Join(r.clone, ".agentmux", "config.yaml"), "version: 2\n")
	away := filepath.Join(r.dir, "away")
	kept := filepath.Join(away, "20200101-000000-x", "state.json")
	r.write(kept, "{}\n")
	for _, name := range []string{".agentmux/prompts", ".agentmux/prompts/agents", ".agentmux/workflows", ".agentmux/.sessions", ".agentmux"} {
		link := filepath.Join(r.clone, name)
		if err := os.RemoveAll(link); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(away, link); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			append([]string{"run", "Say two"}, quickRun...), append([]string{"issue", "1"}, quickRun...), {"sessions"}, {"status"}, {"clean", "--force"},
			{"resume"}, {"workflows", "check"}, {"config", "check"}, {"init", "--defaults"},
		} {
			if res := r.agentmux(args...); res.code != 2 || !strings.Contains(res.err, link+" is a symlink") {
				t.Errorf("%s as a link, %v: exit %d\n%s", name, args, res.code, res.err)
			}
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("what the links led to: %v", err)
	}
}

// A file of the repository may be a link to another file of it. One that leads elsewhere is named and not read: what is
// wrong in a file is said in its own words.
func TestLinksOfAProjectThatLeadElsewhereAreNotRead(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	const secret = "hunter2"
	away := filepath.Join(r.dir, "away.yaml")
	r.write(away, secret+": x\n")
	for name, c := range map[string]struct {
		file string
		args [][]string
	}{
		"configuration": {".agentmux/config.yaml", [][]string{{"config", "check"}, {"config", "show"}, append([]string{"run", "Say two"}, quickRun...)}},
		"workflow":      {".agentmux/workflows/own.yaml", [][]string{{"workflows", "check"}, {"workflows", "show", "own"}, {"run", "Say two", "--workflow", "own"}}},
		"agents file":   {".dmux-agents.yml", [][]string{{"agents", "start", "--yes", "--headless"}}},
	} {
		link := filepath.Join(r.clone, c.file)
		for to, want := range map[string]string{away: "is a link that leads out of the project", filepath.Join(r.clone, "README.md"): "", "../../away.yaml": ""} {
			if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, link); err != nil {
				t.Fatal(err)
			}
			for _, args := range c.args {
				if res := r.agentmux(args...); res.code != 2 || !strings.Contains(res.err, want) || strings.Contains(res.err+res.out, secret) {
					t.Errorf("%s as a link to %s, %v: exit %d, want 2 and %q\n%s%s", name, to, args, res.code, want, res.out, res.err)
				}
			}
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(r.sessions()); n > 0 {
		t.Errorf("%d sessions", n)
	}
	r.write(filepath.Join(r.clone, ".agentmux", "shared.yaml"), "version: 2\ndefaults: {workflow: quick}\n")
	if err := os.Symlink("shared.yaml", filepath.Join(r.clone, ".agentmux", "config.yaml")); err != nil {
		t.Fatal(err)
	}
	if res := r.expect(0, "config", "show"); !strings.Contains(res.out, "quick") {
		t.Errorf("a link within the project: %s", res.out)
	}
}
