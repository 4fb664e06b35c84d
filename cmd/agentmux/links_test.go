package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A repository whose own .agentmux/.gitignore leaves the sessions out of account, or takes
// them back, does not get them into a commit of its person.
func TestSessionsAreIgnoredWhateverTheRepositorySays(t *testing.T) {
	t.Parallel()
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
