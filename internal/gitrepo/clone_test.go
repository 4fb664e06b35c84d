package gitrepo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

func TestInspect(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n", "b": "b\n", "c": "c\n", ".gitignore": "*.log\n"})
	inspect := func() gitrepo.Clone {
		t.Helper()
		c, err := gitrepo.Inspect(t.Context(), r.clone)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	root := must(filepath.EvalSymlinks(r.clone))
	if got, want := inspect(), (gitrepo.Clone{Root: root, Head: r.base, Branch: "main"}); got != want {
		t.Errorf("clean clone: %+v, want %+v", got, want)
	}
	upstream := filepath.Join(t.TempDir(), "up.git")
	git(t, r.clone, "clone", "-q", "--bare", ".", upstream)
	git(t, r.clone, "remote", "add", "origin", upstream)
	git(t, r.clone, "fetch", "-q", "origin")
	git(t, r.clone, "remote", "set-head", "origin", "main")
	write(t, r.clone, map[string]string{"d": "d\n"})
	git(t, r.clone, "add", "d")
	git(t, r.clone, "commit", "-q", "-m", "second")
	write(t, r.clone, map[string]string{"a": "changed\n", "b": "staged\n", "new/x": "x\n", "new/y": "y\n", "debug.log": "log\n"})
	git(t, r.clone, "add", "b")
	remove(t, r.clone, "c")
	head := git(t, r.clone, "rev-parse", "HEAD")
	got := inspect()
	want := gitrepo.Clone{
		Root: root, Head: head, Branch: "main", Changed: 4, Unpushed: 1, Origin: upstream, DefaultBranch: "main",
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	git(t, r.clone, "checkout", "-q", "--detach")
	if got := inspect(); !got.Detached || got.Branch != "" || got.Head != head {
		t.Errorf("detached: %+v", got)
	}
	if sub, err := gitrepo.Inspect(t.Context(), filepath.Join(r.clone, "new")); err != nil || sub.Root != root {
		t.Errorf("from a directory below: %+v, %v", sub, err)
	}
}

func TestInspectWithoutCommitAndOutside(t *testing.T) {
	dir := t.TempDir()
	bare := filepath.Join(t.TempDir(), "bare.git")
	git(t, dir, "init", "-q", "--bare", bare)
	if _, err := gitrepo.Inspect(t.Context(), bare); !errors.Is(err, gitrepo.ErrBare) {
		t.Errorf("in a bare repository: %v", err)
	}
	if _, err := gitrepo.Inspect(t.Context(), dir); !errors.Is(err, gitrepo.ErrNotClone) {
		t.Errorf("outside: %v", err)
	}
	git(t, dir, "init", "-q", "-b", "trunk")
	write(t, dir, map[string]string{"a": "a\n"})
	git(t, dir, "add", "a")
	got, err := gitrepo.Inspect(t.Context(), dir)
	if err != nil || got.Head != "" || got.Branch != "trunk" || got.Changed != 1 {
		t.Errorf("without commit: %+v, %v", got, err)
	}
}

// poison gives a repository's configuration everything that runs a program.
func poison(t *testing.T, dir, marker string) {
	t.Helper()
	script := filepath.Join(filepath.Dir(marker), "evil.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+marker+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"core.fsmonitor": script, "core.hooksPath": filepath.Dir(script), "core.sshCommand": script,
		"filter.evil.clean": script, "filter.evil.smudge": script, "filter.evil.process": script,
		"diff.external": script, "diff.evil.textconv": script, "core.pager": script, "core.editor": script,
		"merge.evil.driver": script, "gpg.program": script, "log.showSignature": "true", "credential.helper": "!" + script,
		"core.alternateRefsCommand": script, "uploadpack.packObjectsHook": script, "core.askPass": script,
		"include.path": script, "core.untrackedCache": "true",
	} {
		if key == "include.path" {
			continue
		}
		git(t, dir, "config", key, value)
	}
	for _, hook := range []string{"post-checkout", "pre-commit", "reference-transaction", "post-index-change", "pre-push", "update"} {
		for _, at := range []string{filepath.Join(dir, ".git", "hooks"), filepath.Dir(script)} {
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(at, hook), []byte("#!/bin/sh\ntouch "+marker+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	info := filepath.Join(dir, ".git", "info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(info, "attributes"), []byte("* filter=evil diff=evil merge=evil\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func absent(t *testing.T, marker string) {
	t.Helper()
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a command of a repository's own configuration ran")
	}
}

func TestSecurity9HostileCloneIsOnlyRead(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n", "b": "b\n"})
	git(t, r.clone, "remote", "add", "origin", "https://example.test/o/r.git")
	marker := filepath.Join(t.TempDir(), "marker")
	write(t, r.clone, map[string]string{"a": "A\n", "c": "c\n"})
	poison(t, r.clone, marker)
	got, err := gitrepo.Inspect(t.Context(), r.clone)
	if err != nil || got.Changed != 2 {
		t.Errorf("inspect: %+v, %v", got, err)
	}
	other, err := gitrepo.OpenHost(t.Context(), filepath.Join(t.TempDir(), "h.git"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.FetchClone(t.Context(), r.clone, "main"); err != nil {
		t.Error(err)
	}
	sha := r.commit(map[string]string{"d": "d\n"}, r.base)
	if err := r.host.ExportToClone(t.Context(), r.clone, "agentmux/x", sha); err != nil {
		t.Error(err)
	}
	absent(t, marker)
	if got := git(t, r.clone, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "rev-parse", "agentmux/x"); got != sha {
		t.Errorf("exported branch is at %s", got)
	}
}

// A directory for temporary files that takes none is named, and not the clone.
func TestInspectNamesTheDirectoryForTemporaryFiles(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	root := must(filepath.EvalSymlinks(r.clone))
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write(t, dir, map[string]string{"file": "x"})
	long := dir // a directory can be made in it, but git's files below that have names that are too long
	for len(long) < 4061 {
		long = filepath.Join(long, strings.Repeat("d", min(200, 4061-len(long))))
	}
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, temp := range map[string]string{"absent": filepath.Join(dir, "none"), "no directory": file, "git cannot write": long} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", temp)
			_, err := gitrepo.Inspect(t.Context(), r.clone)
			var want *gitrepo.TempError
			if !errors.As(err, &want) || want.Dir != temp {
				t.Fatalf("%v", err)
			}
			if text := err.Error(); strings.Contains(text, "inspect "+root) || !strings.Contains(text, "written to "+temp+": ") || !strings.Contains(text, "TMPDIR") {
				t.Errorf("told: %s", text)
			}
		})
	}
}
