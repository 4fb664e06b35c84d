package workspace_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

func TestSecurity11SnapshotTakesEveryKindOfChange(t *testing.T) {
	base := map[string]string{
		".gitignore":       "node_modules/\n*.log\n",
		"keep.txt":         "keep\n",
		"edit.txt":         "old\n",
		"gone.txt":         "gone\n",
		"tool.sh":          "echo\n",
		"file-to-dir":      "file\n",
		"dir-to-file/a":    "a\n",
		"dir-to-file/b/c":  "c\n",
		"dir-to-link/a":    "a\n",
		"link":             "->keep.txt",
		"link-to-file":     "->keep.txt",
		"name with spaces": "x\n",
		"ünïcode/日本.txt":   "x\n",
		"new\nline":        "x\n",
		":(top)magic":      "x\n",
	}
	r := newRig(t, base)
	w := r.Workspace("coder")
	if got := r.Snapshot(w); got.Tree != repotest.Must(r.Store.Tree(t.Context(), r.Base)) || len(got.Changes) != 0 {
		t.Fatalf("an untouched workspace gives %+v", got)
	}
	repotest.Remove(t, w, "gone.txt", "file-to-dir", "dir-to-file", "dir-to-link", "name with spaces")
	repotest.Write(t, w, map[string]string{
		"edit.txt":              "new\n",
		"tool.sh":               "#!/bin/sh\n",
		"file-to-dir/x":         "x\n",
		"dir-to-file":           "now a file\n",
		"dir-to-link":           "->keep.txt",
		"link":                  "->edit.txt",
		"link-to-file":          "text\n",
		"ünïcode/日本.txt":        "y\n",
		"new\nline":             "y\n",
		":(top)magic":           "y\n",
		"bin":                   "\x00\x01\xff",
		"-dash":                 "d\n",
		"deep/a/b/c/d/e.txt":    "e\n",
		"node_modules/p/x.js":   "ignored\n",
		"debug.log":             "ignored\n",
		"name with  two spaces": "x\n",
	})
	if err := os.Chmod(filepath.Join(w, "tool.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	got := r.Snapshot(w)
	want := map[string]string{
		".gitignore":            "100644 node_modules/\n*.log\n",
		"keep.txt":              "100644 keep\n",
		"edit.txt":              "100644 new\n",
		"tool.sh":               "100755 #!/bin/sh\n",
		"file-to-dir/x":         "100644 x\n",
		"dir-to-file":           "100644 now a file\n",
		"dir-to-link":           "120000 keep.txt",
		"link":                  "120000 edit.txt",
		"link-to-file":          "100644 text\n",
		"ünïcode/日本.txt":        "100644 y\n",
		"new\nline":             "100644 y\n",
		":(top)magic":           "100644 y\n",
		"bin":                   "100644 \x00\x01\xff",
		"-dash":                 "100644 d\n",
		"deep/a/b/c/d/e.txt":    "100644 e\n",
		"name with  two spaces": "100644 x\n",
	}
	if have := r.Tree(got.Tree); !maps.Equal(have, want) {
		t.Fatalf("tree is\n%q\nwant\n%q", have, want)
	}
	if second := r.Snapshot(w); second.Tree != got.Tree || repotest.Summary(second.Changes) != repotest.Summary(got.Changes) {
		t.Fatal("the second snapshot differs from the first")
	}
}

func TestSnapshotKeepsIgnoredFilesOfTheBase(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	repotest.Write(t, r.Clone, map[string]string{".gitignore": "vendor/\n*.gen\n", "vendor/lib/x.go": "x\n", "b.gen": "b\n"})
	repotest.Git(t, r.Clone, "add", "-A", "-f")
	repotest.Git(t, r.Clone, "commit", "-q", "-m", "tracked though ignored")
	r.Fetch("HEAD")
	w := r.Workspace("coder")
	repotest.Write(t, w, map[string]string{"vendor/lib/x.go": "changed\n", "vendor/lib/new.go": "n\n", "vendor/other/y": "y\n", "c.gen": "c\n"})
	repotest.Remove(t, w, "b.gen")
	if got := repotest.Summary(r.Snapshot(w).Changes); got != "D b.gen, M vendor/lib/x.go" {
		t.Fatalf("changes are %s", got)
	}
}
