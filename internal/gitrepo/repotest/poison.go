package repotest

import (
	"os"
	"path/filepath"
	"testing"
)

// Poison gives a repository's configuration everything that runs a program.
func Poison(t *testing.T, dir, marker string) {
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
		Git(t, dir, "config", key, value)
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

func Absent(t *testing.T, marker string) {
	t.Helper()
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a command of a repository's own configuration ran")
	}
}
