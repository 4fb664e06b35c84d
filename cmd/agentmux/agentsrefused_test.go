package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/workflows/agents"
)

// shopper is a person at a terminal in a clone with an agents file, on a machine of their own.
type shopper struct {
	*rig
}

func newShopper(t *testing.T, file string) *shopper {
	t.Helper()
	dir := t.TempDir()
	s := &shopper{rig: &rig{t: t, dir: dir, clone: filepath.Join(dir, "web")}}
	home, book := filepath.Join(dir, "home"), filepath.Join(dir, "book.yaml")
	s.write(book, teamPlaybook)
	s.write(filepath.Join(home, ".config", "agentmux", "config.yaml"), fmt.Sprintf("version: 2\ndefaults: {provider: script}\nproviders: {script: {interactive_args: [%q], headless_args: [%[1]q]}}\n", book))
	run, err := os.MkdirTemp("", "amx") // short: sockets lie below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.RemoveAll(run)
		s.remove()
	})
	for name, value := range map[string]string{
		"HOME": home, "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "", "XDG_RUNTIME_DIR": run, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Mia", "GIT_AUTHOR_EMAIL": "mia@example.com", "GIT_COMMITTER_NAME": "Mia", "GIT_COMMITTER_EMAIL": "mia@example.com",
	} {
		t.Setenv(name, value)
	}
	s.git(dir, "init", "--quiet", "--initial-branch=main", s.clone)
	s.write(filepath.Join(s.clone, agents.File), file)
	return s
}

func (s *shopper) commit() {
	s.t.Helper()
	s.git(s.clone, "commit", "--quiet", "--allow-empty", "-m", "Begin")
}

// starts types answers to agents start, and returns what it prints.
func (s *shopper) starts(code int, answers string, args ...string) string {
	s.t.Helper()
	var out bytes.Buffer
	std := console.Streams{In: strings.NewReader(answers), Out: &out, Err: &out, Terminal: true}
	if got := run(s.t.Context(), append([]string{"--project", s.clone, "agents", "start"}, args...), std); got != code {
		s.t.Fatalf("exit %d, want %d\n%s", got, code, &out)
	}
	return out.String()
}

// nothingMade fails if there is a session, a workspace, a link or a branch that was not there.
func (s *shopper) nothingMade(before map[string]string) {
	s.t.Helper()
	if diff := changed(before, s.cloneFiles()); diff != "" {
		s.t.Errorf("the clone changed: %s", diff)
	}
	if n := len(s.sessions()); n != 0 {
		s.t.Errorf("%d sessions were made", n)
	}
	if got := s.git(s.clone, "for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		s.t.Errorf("refs %q", got)
	}
	for _, gone := range []string{filepath.Join(s.clone, ".dmux"), filepath.Join(s.dir, "trees")} {
		if _, err := os.Lstat(gone); !errors.Is(err, fs.ErrNotExist) {
			s.t.Errorf("%s is there: %v", gone, err)
		}
	}
}

// Only n stops, and nothing is made before the answer; nor where a place that an agent needs is taken,
// be it by a file that would lie beside its workspace.
func TestProtocolM4NothingIsMadeBeforeTheAnswer(t *testing.T) {
	s := newShopper(t, strings.Replace(teamFile, "agents:\n", "worktree_base: ../trees\nagents:\n", 1))
	s.commit()
	before := s.cloneFiles()
	for _, no := range []string{"n\n", "N\n", "n"} {
		if out := s.starts(exit.Done, no); !strings.Contains(out, "2 worktrees, 0 review agents") || !strings.Contains(out, "Proceed? [Y/n]") {
			t.Errorf("it prints\n%s", out)
		}
		s.nothingMade(before)
	}
	if out := s.starts(exit.BadUsage, ""); !strings.Contains(out, "the input ended before the answer, nothing was started") {
		t.Errorf("an answer that does not come: %s", out)
	}
	s.nothingMade(before)

	for _, taken := range []string{"shop-words", "shop-words.index", "shop-words.removing"} {
		file := filepath.Join(s.dir, "trees", taken)
		s.write(filepath.Join(file, "mine"), "kept\n")
		if out := s.starts(exit.BadUsage, "n\n"); !strings.Contains(out, "agents[0].name: "+file+" is there already") || strings.Contains(out, "agents[1]") {
			t.Errorf("%s: %s", taken, out)
		}
		if got := s.read(file, "mine"); got != "kept\n" {
			t.Errorf("%s holds %q", taken, got)
		}
		if err := os.RemoveAll(filepath.Join(s.dir, "trees")); err != nil {
			t.Fatal(err)
		}
	}
	s.nothingMade(before)
}

// A clone or a place that no run can begin in is refused with what to do, and nothing is made.
func TestAgentsStartOfBadPlaces(t *testing.T) {
	testfull.Only(t)
	t.Run("no commit", func(t *testing.T) {
		s := newShopper(t, teamFile)
		if out := s.starts(exit.BadUsage, "n\n"); !strings.Contains(out, "commit") {
			t.Errorf("it says\n%s", out)
		}
		if n := len(s.sessions()); n != 0 {
			t.Errorf("%d sessions", n)
		}
	})
	t.Run("no branch is checked out", func(t *testing.T) {
		s := newShopper(t, teamFile)
		s.commit()
		s.git(s.clone, "checkout", "--quiet", "--detach")
		before := s.cloneFiles()
		s.starts(exit.Done, "n\n")
		s.nothingMade(before)
	})
	bases := map[string]struct {
		make func(*shopper, string) error
		want string
	}{
		"a link":            {func(s *shopper, base string) error { return os.Symlink(s.dir, base) }, "is a link; name the directory itself"},
		"a link to nothing": {func(s *shopper, base string) error { return os.Symlink("nowhere", base) }, "is a link; name the directory itself"},
		"a file":            {func(s *shopper, base string) error { return os.WriteFile(base, nil, 0o600) }, "is not a directory"},
		"a link on the way": {func(s *shopper, base string) error { return os.Symlink(s.dir, filepath.Dir(base)) }, "is a link; name the directory itself"},
		"a file on the way": {func(s *shopper, base string) error { return os.WriteFile(filepath.Dir(base), nil, 0o600) }, "is not a directory"},
	}
	for name, tt := range bases {
		t.Run(name, func(t *testing.T) {
			s := newShopper(t, strings.Replace(teamFile, "agents:\n", "worktree_base: ../way/trees\nagents:\n", 1))
			s.commit()
			base := filepath.Join(s.dir, "way", "trees")
			if !strings.HasSuffix(name, "on the way") {
				if err := os.Mkdir(filepath.Dir(base), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := tt.make(s, base); err != nil {
				t.Fatal(err)
			}
			before := s.cloneFiles()
			if out := s.starts(exit.BadUsage, "n\n"); !strings.Contains(out, "worktree_base: ") || !strings.Contains(out, tt.want) {
				t.Errorf("it says\n%s", out)
			}
			s.nothingMade(before)
		})
	}
}

// Every mistake of a file is said before anything else is looked at, by the same code that init uses.
func TestAgentsStartOfBadFiles(t *testing.T) {
	testfull.Only(t)
	s := newShopper(t, "")
	s.commit()
	files := map[string]struct{ text, want string }{
		"empty":        {"", "session"},
		"tabs":         {"session: s\nagents:\n\t- name: a\n", "tab"},
		"a bomb":       {"session: &a [x]\nagents: [*a, *a]\n", "anchors are not supported"},
		"core":         {"session: s\nagents: [{name: core, branch: b, task: t}]\n", `"core" is a name that messages use`},
		"like a role":  {"session: s\nagents: [{name: review, role: plan, branch: plan, task: t}]\n", ""},
		"an option":    {"session: s\nagents: [{name: a, branch: --help, task: t}]\n", "must not begin with -"},
		"HEAD":         {"session: s\nagents: [{name: a, branch: HEAD, task: t}]\n", "HEAD"},
		"a range":      {"session: s\nagents: [{name: a, branch: a..b, task: t}]\n", "a..b"},
		"scope leaves": {"session: s\nagents: [{name: a, branch: b, task: t, scope: [../x]}]\n", ".."},
		"large":        {"session: s\n" + strings.Repeat("# x\n", 1<<20), "larger than 1 MiB"},
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		tt := files[name]
		s.write(filepath.Join(s.clone, agents.File), tt.text)
		before := s.cloneFiles()
		code := exit.BadUsage
		if tt.want == "" {
			code = exit.Done
		}
		if out := s.starts(code, "n\n"); tt.want != "" && (!strings.Contains(out, tt.want) || !strings.Contains(out, agents.File)) {
			t.Errorf("%s: %s", name, out)
		}
		s.nothingMade(before)
	}
}

// An agents file that is a pipe which nothing writes to, or that has no end, holds nothing up.
func TestAgentsStartOfAFileWithoutEnd(t *testing.T) {
	testfull.Only(t)
	s := newShopper(t, "session: s\n")
	s.commit()
	before := s.cloneFiles()
	pipe := filepath.Join(s.dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{pipe: "session: required key missing", "/dev/zero": "larger than 1 MiB"} {
		if out := s.starts(exit.BadUsage, "n\n", "--file", file); !strings.Contains(out, want) {
			t.Errorf("%s: %s", file, out)
		}
	}
	s.nothingMade(before)
}

// A CLI without a flag that its launches need is found before anything is made, with its version and the ones
// that are needed: at the start of an agents file and of an issue.
func TestACLIThatIsTooOldIsRefusedBeforeTheRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: teamPlaybook, config: "roles: {coder: {provider: claude}}\n"})
	r.withPlayedClaude()
	program := filepath.Join(r.dir, "claude")
	r.write(program, strings.NewReplacer("2.1.330", "1.0.2", " --strict-mcp-config", "").Replace(r.read(program)))
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), "session: shop\nagents: [{name: a, branch: b, task: t, provider: claude}]\n")
	for _, args := range [][]string{{"agents", "start", "--yes", "--headless"}, append([]string{"issue", "1"}, quickRun...)} {
		res := r.expect(exit.BadUsage, args...)
		if want := "(1.0.2 (Claude Code)) does not know --strict-mcp-config, which agents are started with; install version 2.1.329 or 2.1.330"; !strings.Contains(res.err, want) {
			t.Errorf("%q says\n%s", args, res.err)
		}
	}
	if n := len(r.sessions()); n != 0 {
		t.Errorf("%d sessions", n)
	}
}
