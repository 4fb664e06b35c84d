package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/durable"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// onlyNames fails if dir holds anything else, a temporary file for instance.
func onlyNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("directory holds %q, want %q", got, want)
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func TestReplaceAndViewMakeAndReplaceAFile(t *testing.T) {
	for name, write := range map[string]func(string, []byte) error{"Replace": durable.Replace, "View": durable.View} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "state.json")
			for _, text := range []string{"first, the longer text", "second", ""} {
				if err := write(path, []byte(text)); err != nil {
					t.Fatal(err)
				}
				if got := read(t, path); got != text {
					t.Errorf("file holds %q, want %q", got, text)
				}
			}
			if got := mode(t, path); got != 0o600 {
				t.Errorf("mode is %v, want 0600", got)
			}
			onlyNames(t, dir, "state.json")
		})
	}
}

func TestReplaceReplacesALinkNotItsTarget(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "victim"), "untouched")
	link := filepath.Join(dir, "link")
	if err := os.Symlink("victim", link); err != nil {
		t.Fatal(err)
	}
	if err := durable.Replace(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, "victim")); got != "untouched" {
		t.Errorf("the target of the link holds %q", got)
	}
	if !mode(t, link).IsRegular() {
		t.Error("the link is still there")
	}
}

func TestFailedReplaceLeavesNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(string, []byte) error{"Replace": durable.Replace, "View": durable.View} {
		if err := write(path, []byte("x")); err == nil {
			t.Errorf("%s replaced a directory", name)
		}
	}
	onlyNames(t, dir, "taken")
	if err := durable.Replace(filepath.Join(dir, "none", "file"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestCreateNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "blob")
	if err := durable.Create(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := durable.Create(path, []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second create: %v, want fs.ErrExist", err)
	}
	if got := read(t, path); got != "one" {
		t.Errorf("file holds %q", got)
	}
	if got := mode(t, path); got != 0o600 {
		t.Errorf("mode is %v, want 0600", got)
	}
	onlyNames(t, dir, "blob")
}

func TestBackupKeepsTheContentOfBefore(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "state.json"), filepath.Join(dir, "state.json.bak")
	for _, text := range []string{"one", "two"} {
		if err := durable.Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time both names are one file
			if err := durable.Backup(path, backup); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := durable.Replace(path, []byte("three")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, backup); got != "two" {
		t.Errorf("backup holds %q, want %q", got, "two")
	}
	onlyNames(t, dir, "state.json", "state.json.bak")
}

func TestPublishRefusesATakenName(t *testing.T) {
	dir := t.TempDir()
	made := filepath.Join(dir, "s.tmp-1")
	if err := durable.Mkdir(made); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(made, "state.json"), "{}")
	full, file := filepath.Join(dir, "full"), filepath.Join(dir, "file")
	if err := durable.MkdirAll(filepath.Join(full, "inside")); err != nil {
		t.Fatal(err)
	}
	write(t, file, "x")
	for _, taken := range []string{full, file} {
		if err := durable.Publish(made, taken); !errors.Is(err, fs.ErrExist) {
			t.Errorf("publish to %s: %v, want fs.ErrExist", filepath.Base(taken), err)
		}
	}
	if err := durable.Publish(made, filepath.Join(dir, "s")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, "s", "state.json")); got != "{}" {
		t.Errorf("published file holds %q", got)
	}
}

func TestMkdir(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	if err := durable.Mkdir(deep); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Mkdir without a parent: %v", err)
	}
	for range 2 {
		if err := durable.MkdirAll(deep); err != nil {
			t.Fatal(err)
		}
	}
	if err := durable.Mkdir(deep); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Mkdir of a taken name: %v", err)
	}
	if got := mode(t, filepath.Join(dir, "a")).Perm(); got != 0o700 {
		t.Errorf("mode is %v, want 0700", got)
	}
	write(t, filepath.Join(dir, "file"), "")
	if err := durable.MkdirAll(filepath.Join(dir, "file")); err == nil {
		t.Error("MkdirAll took a file for a directory")
	}
}

func TestTruncateOnlyCuts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	write(t, path, "one\ntwo\n")
	for _, size := range []int64{-1, 9} {
		if err := durable.Truncate(path, size); err == nil {
			t.Errorf("size %d was accepted", size)
		}
	}
	if err := durable.Truncate(path, 4); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "one\n" {
		t.Errorf("file holds %q", got)
	}
}

func TestFilesThatAreNoFilesAreRefusedWithoutWaiting(t *testing.T) {
	dir := t.TempDir()
	fifo, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "target"), "")
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	operations := map[string]func(string) error{
		"Append":   func(p string) error { return durable.Append(p, lines("x\n")) },
		"Log":      func(p string) error { return durable.Log(p, []byte("x")) },
		"Sync":     durable.Sync,
		"Truncate": func(p string) error { return durable.Truncate(p, 0) },
		"Lock": func(p string) error {
			_, err := durable.Lock(p, "")
			return err
		},
		"Probe": func(p string) error {
			_, err := durable.Probe(p)
			return err
		},
	}
	for name, operate := range operations {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{fifo, link} {
				if err := operate(path); err == nil {
					t.Errorf("accepted a %s", filepath.Base(path))
				}
			}
		})
	}
}

func TestSync(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plan.yaml"), "x")
	if err := durable.Sync(filepath.Join(dir, "plan.yaml")); err != nil {
		t.Error(err)
	}
	if err := durable.Sync(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if err := durable.SyncDir(dir); err != nil {
		t.Error(err)
	}
}
