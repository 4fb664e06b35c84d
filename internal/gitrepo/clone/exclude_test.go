package clone_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

// Exclude appends what is missing, once, and follows no link.
func TestExcludeAddsToTheListOfTheClone(t *testing.T) {
	r := repotest.New(t, map[string]string{"a": "a\n"})
	file := filepath.Join(r.Clone, ".git", "info", "exclude")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("*.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := clone.Exclude(t.Context(), r.Clone, "we[ir]d/x/", "b*"); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(repotest.Must(os.ReadFile(file))); got != "*.log\n/we\\[ir]d/x/\n/b\\*\n" {
		t.Errorf("%q", got)
	}
	repotest.Write(t, r.Clone, map[string]string{"we[ir]d/x/y": "y\n", "b*": "b\n", "bc": "c\n"})
	if got := repotest.Git(t, r.Clone, "status", "--porcelain"); got != "?? bc" {
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
	if err := clone.Exclude(t.Context(), r.Clone, "c"); err == nil {
		t.Error("a link was followed")
	}
	if got := repotest.Must(os.ReadFile(away)); len(got) > 0 {
		t.Errorf("written through the link: %q", got)
	}
}
