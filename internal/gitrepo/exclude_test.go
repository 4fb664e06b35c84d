package gitrepo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

// Exclude appends what is missing, once, and follows no link.
func TestExcludeAddsToTheListOfTheClone(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	file := filepath.Join(r.clone, ".git", "info", "exclude")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("*.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := gitrepo.Exclude(t.Context(), r.clone, "we[ir]d/x/", "b*"); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(must(os.ReadFile(file))); got != "*.log\n/we\\[ir]d/x/\n/b\\*\n" {
		t.Errorf("%q", got)
	}
	write(t, r.clone, map[string]string{"we[ir]d/x/y": "y\n", "b*": "b\n", "bc": "c\n"})
	if got := git(t, r.clone, "status", "--porcelain"); got != "?? bc" {
		t.Errorf("git sees %q", got)
	}
	away := filepath.Join(t.TempDir(), "away")
	if err := os.WriteFile(away, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, file); err != nil {
		t.Fatal(err)
	}
	if err := gitrepo.Exclude(t.Context(), r.clone, "c"); err == nil {
		t.Error("a link was followed")
	}
	if got := must(os.ReadFile(away)); len(got) > 0 {
		t.Errorf("written through the link: %q", got)
	}
}
