package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/document"
)

// realCase is a published module at a version with a known bug, and the way to
// the version without it. One file under testdata/real holds one.
type realCase struct {
	Module       string       `doc:"module"`
	Buggy        string       `doc:"buggy"`
	Fixed        string       `doc:"fixed"`
	Files        int          `doc:"files"` // the least number of files of the module
	Leave        []string     `doc:"leave"` // changed paths that are no part of this; a final / means what is below
	Issue        realIssue    `doc:"issue"`
	Told         string       `doc:"told"` // words of the issue that must reach an agent
	Architecture string       `doc:"architecture"`
	Groups       [][]realPart `doc:"groups"`
	Reviewers    []string     `doc:"reviewers"`
	Review       *realReview  `doc:"review"` // of the failing round, if there is one
	Commit       string       `doc:"commit"`
	Proof        realProof    `doc:"proof"`
	Packages     []string     `doc:"packages"` // green at the end
	Look         []string     `doc:"look"`     // changed paths that the pull request names on top

	base, goal string // module directories of the two versions
	changes    []realChange
}

type realIssue struct {
	Title string `doc:"title"`
	Body  string `doc:"body"`
}

// realPart is a subplan. Its coder writes the tests first, sees those of Run fail,
// and sees them pass after the change.
type realPart struct {
	Title     string   `doc:"title"`
	Scope     string   `doc:"scope"`
	Owns      []string `doc:"owns"`
	Approach  string   `doc:"approach"`
	Accept    string   `doc:"accept"`
	Rationale string   `doc:"rationale"`
	Packages  []string `doc:"packages"`
	Run       string   `doc:"run"`
	Fails     bool     `doc:"fails"` // what makes the tests pass is in another part
}

// realReview is what the first round finds: files that a coder left out.
type realReview struct {
	Forgotten      []string `doc:"forgotten"`
	Summary        string   `doc:"summary"`
	Location       string   `doc:"location"`
	Issue          string   `doc:"issue"`
	Recommendation string   `doc:"recommendation"`
}

// realProof is a test of the fixed version that shows the bug on the buggy one.
type realProof struct {
	Packages []string `doc:"packages"`
	Run      string   `doc:"run"`
	Says     string   `doc:"says"`
}

// realChange is a file that differs between the two versions.
type realChange struct {
	status byte // A, M, D
	path   string
}

func loadReal(t *testing.T, file string) *realCase {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c realCase
	node, problems := document.Parse(file, data)
	problems = append(problems, document.Decode(node, &c, document.Options{})...)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return &c
}

// fetch downloads both versions and finds what is to be changed.
func (c *realCase) fetch(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	c.base = c.download(t, dir, c.Buggy).Dir
	c.goal = c.download(t, dir, c.Fixed).Dir
	before, after := readTree(t, c.base), readTree(t, c.goal)
	if len(before) < c.Files {
		t.Fatalf("%s %s has %d files, want %d", c.Module, c.Buggy, len(before), c.Files)
	}
	for path, text := range before {
		if now, ok := after[path]; !ok {
			c.changes = append(c.changes, realChange{'D', path})
		} else if now != text {
			c.changes = append(c.changes, realChange{'M', path})
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			c.changes = append(c.changes, realChange{'A', path})
		}
	}
	c.changes = slices.DeleteFunc(c.changes, func(ch realChange) bool { return under(c.Leave, ch.path) })
	slices.SortFunc(c.changes, func(a, b realChange) int { return strings.Compare(a.path, b.path) })
	for _, ch := range c.changes {
		if n := c.owners(ch.path); n != 1 {
			t.Fatalf("%s changes between the versions and is in %d parts", ch.path, n)
		}
	}
}

// owners counts the parts a path belongs to.
func (c *realCase) owners(path string) int {
	n := 0
	for _, group := range c.Groups {
		for _, part := range group {
			if under(part.Owns, path) {
				n++
			}
		}
	}
	return n
}

// under reports whether a path is one of a list, or below one that ends in /.
func under(list []string, path string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		return path == entry || strings.HasSuffix(entry, "/") && strings.HasPrefix(path, entry)
	})
}

func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[filepath.ToSlash(path[len(dir)+1:])] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// download is one version in the module cache.
func (c *realCase) download(t *testing.T, dir, version string) (found struct{ Dir, GoMod, Error string }) {
	t.Helper()
	out, err := goCommand(t, dir, "mod", "download", "-json", c.Module+"@"+version).Output()
	if err := errors.Join(json.Unmarshal(out, &found), err); err != nil || found.Dir == "" {
		t.Fatalf("download %s@%s: %v %s", c.Module, version, err, found.Error)
	}
	return found
}

// repository makes a git repository of the buggy version. A module cache may lack
// go.mod and go.sum, which the repository then gets as the go command knows them.
func (c *realCase) repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(c.base)); err != nil {
		t.Fatal(err)
	}
	makeWritable(t, dir)
	mod := filepath.Join(dir, "go.mod")
	if _, err := os.Stat(mod); errors.Is(err, fs.ErrNotExist) {
		copyFile(t, c.download(t, t.TempDir(), c.Buggy).GoMod, mod)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.sum")); errors.Is(err, fs.ErrNotExist) {
		c.sums(t, dir)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "--all", "--force"},
		{"-c", "user.name=Mia", "-c", "user.email=mia@example.com", "commit", "--quiet", "-m", "Import " + c.Module + " " + c.Buggy},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// sums writes go.sum for what go.mod requires.
func (c *realCase) sums(t *testing.T, dir string) {
	t.Helper()
	out, err := goCommand(t, dir, "mod", "edit", "-json").Output()
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := errors.Join(err, json.Unmarshal(out, &mod)); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if out, err := goCommand(t, dir, "mod", "download", r.Path+"@"+r.Version).CombinedOutput(); err != nil {
			t.Fatalf("download %s: %v\n%s", r.Path, err, out)
		}
	}
}

// realFlags keep the go command from what the tests need nothing of.
const realFlags = "-buildvcs=false"

func goCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS="+realFlags, "GOWORK=off", "PWD="+dir)
	return cmd
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func makeWritable(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode()|0o200)
	})
	if err != nil {
		t.Fatal(err)
	}
}
