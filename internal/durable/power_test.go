package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/durable/powertest"
)

// losePower runs work, lets the power go at every moment of it, and gives check
// what was answered before and a directory that may be left.
func losePower(t *testing.T, work func(d durable.Disk, dir string, answered func(string)), check func(t *testing.T, answered []string, dir string)) {
	t.Helper()
	root := t.TempDir()
	recorder := powertest.New(root)
	type answer struct {
		moment int
		text   string
	}
	var answers []answer
	work(recorder.Disk(), root, func(text string) { answers = append(answers, answer{recorder.Moment(), text}) })
	if recorder.Moment() == 0 {
		t.Fatal("nothing was done")
	}
	for past := range recorder.Past() {
		var answered []string
		for _, a := range answers {
			if a.moment <= past.Moment {
				answered = append(answered, a.text)
			}
		}
		for fate := range powertest.Fates + 8 {
			dir := t.TempDir()
			if err := past.Image(dir, fate); err != nil {
				t.Fatal(err)
			}
			check(t, answered, dir)
			if t.Failed() {
				t.Fatalf("after %d changes, fate %d", past.Moment, fate)
			}
		}
	}
}

func TestPowerLossLeavesTheOldOrTheNewContent(t *testing.T) {
	texts := []string{"the first content", "second", "the third content, longer"}
	work := func(d durable.Disk, dir string, answered func(string)) {
		for _, text := range texts {
			if d.Replace(filepath.Join(dir, "state.json"), []byte(text)) != nil {
				break
			}
			answered(text)
		}
	}
	losePower(t, work, func(t *testing.T, answered []string, dir string) {
		got, exists := content(t, filepath.Join(dir, "state.json"))
		n := len(answered)
		switch {
		case n == 0 && !exists:
		case exists && n > 0 && got == texts[n-1]:
		case exists && n < len(texts) && got == texts[n]:
		default:
			t.Errorf("after %q were answered the file holds %q (%v)", answered, got, exists)
		}
	})
}

func TestPowerLossLeavesCreatedFilesWhole(t *testing.T) {
	work := func(d durable.Disk, dir string, answered func(string)) {
		for range 2 { // the second time it is taken
			err := d.Create(filepath.Join(dir, "blob"), []byte("content"))
			if err != nil && !errors.Is(err, fs.ErrExist) {
				break
			}
			answered("there")
		}
	}
	losePower(t, work, func(t *testing.T, answered []string, dir string) {
		got, exists := content(t, filepath.Join(dir, "blob"))
		if exists && got != "content" {
			t.Errorf("a part of the file is there: %q", got)
		}
		if len(answered) > 0 && !exists {
			t.Error("the file was answered and is not there")
		}
	})
}

func TestPowerLossKeepsEveryAnsweredLine(t *testing.T) {
	work := func(d durable.Disk, dir string, answered func(string)) {
		for n := range 4 {
			line := fmt.Sprintf("line %d\n", n)
			check := func(durable.Tail) ([]byte, error) { return []byte(line), nil }
			if d.Append(filepath.Join(dir, "events.jsonl"), check) != nil {
				break
			}
			answered(line)
		}
	}
	losePower(t, work, func(t *testing.T, answered []string, dir string) {
		path := filepath.Join(dir, "events.jsonl")
		before, _ := content(t, path)
		if !strings.HasPrefix(before, strings.Join(answered, "")) {
			t.Errorf("of %q is left %q", answered, before)
		}
		if err := durable.Append(path, func(durable.Tail) ([]byte, error) { return []byte("next\n"), nil }); err != nil {
			t.Fatal(err)
		}
		after, _ := content(t, path)
		if after != before+"next\n" && after != before+"\nnext\n" || !strings.HasSuffix(after, "\nnext\n") && after != "next\n" {
			t.Errorf("the next line is not whole: %q", after)
		}
	})
}

func TestPowerLossLeavesTheBackupWhole(t *testing.T) {
	work := func(d durable.Disk, dir string, answered func(string)) {
		path := filepath.Join(dir, "state.json")
		for _, text := range []string{"one", "two"} {
			if d.Replace(path, []byte(text)) != nil || d.Backup(path, path+".bak") != nil {
				break
			}
		}
	}
	losePower(t, work, func(t *testing.T, _ []string, dir string) {
		got, exists := content(t, filepath.Join(dir, "state.json.bak"))
		if exists && got != "one" && got != "two" {
			t.Errorf("the backup holds %q", got)
		}
	})
}

func TestProtocolJ8AnAppendThatFailsLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		before string
		fault  func(call, path string) error
	}{
		{"full disk", "one\n", fullDisk("write", 1)},
		{"sync fails", "one\n", fullDisk("sync", 1)},
		{"full disk, new file", "", fullDisk("write", 1)},
		{"directory sync fails", "", fullDisk("syncdir", 1)},
		{"full disk after a torn line", "one\ntor", fullDisk("write", 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events.jsonl")
			if c.before != "" {
				if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			disk := powertest.New(filepath.Dir(path))
			disk.Fault = c.fault
			err := disk.Disk().Append(path, func(durable.Tail) ([]byte, error) { return []byte("two\nthree\n"), nil })
			if err == nil {
				t.Error("the lines were answered")
			}
			want := c.before
			if strings.HasSuffix(want, "tor") {
				want += "\n"
			}
			if got, _ := content(t, path); got != want {
				t.Errorf("the file holds %q, want %q", got, want)
			}
		})
	}
}

func TestFullDiskLeavesTheOldContentAndNoTemporaryFile(t *testing.T) {
	operations := map[string]func(d durable.Disk, path string) error{
		"replace": func(d durable.Disk, path string) error { return d.Replace(path, []byte("new")) },
		"view":    func(d durable.Disk, path string) error { return d.View(path, []byte("new")) },
		"create":  func(d durable.Disk, path string) error { return d.Create(path+".new", []byte("new")) },
		"backup":  func(d durable.Disk, path string) error { return d.Backup(path, path+".new") },
	}
	for name, operate := range operations {
		t.Run(name, func(t *testing.T) {
			for _, call := range []string{"create", "write", "sync", "rename", "link"} {
				dir := t.TempDir()
				path := filepath.Join(dir, "state.json")
				if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
				disk := powertest.New(dir)
				failed := false
				disk.Fault = func(c, _ string) error {
					if c == call && !failed {
						failed = true
						return fmt.Errorf("no space for %s", c)
					}
					return nil
				}
				err := operate(disk.Disk(), path)
				if failed != (err != nil) {
					t.Errorf("%s: error is %v", call, err)
				}
				if got, _ := content(t, path); failed && got != "old" {
					t.Errorf("%s: file holds %q", call, got)
				}
				if entries, _ := os.ReadDir(dir); failed && len(entries) != 1 {
					t.Errorf("%s: %v are left", call, entries)
				}
			}
		})
	}
}

func TestAppendGivesUpWhenTheFileStaysLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	none := func(durable.Tail) ([]byte, error) { return nil, nil }
	err := durable.Append(path, func(durable.Tail) ([]byte, error) { return nil, durable.AppendWithin(path, 50*time.Millisecond, none) })
	if !errors.Is(err, durable.ErrBusy) {
		t.Errorf("error is %v, want ErrBusy", err)
	}
}

// swappingDisk replaces the first file it opens, between the opening and the
// lock, as a rename by another process would.
type swappingDisk struct {
	durable.System
	swapped bool
}

func (d *swappingDisk) Open(path string, how durable.Opening) (durable.File, error) {
	f, err := d.System.Open(path, how)
	if err == nil && !d.swapped {
		d.swapped = true
		err = errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
	}
	return f, err
}

func TestLockAndLinesGoToTheFileThatHasTheName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	held, err := durable.On(&swappingDisk{}).LockWithin(path, "text", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if taken, err := durable.Probe(path); !taken || err != nil {
		t.Errorf("the lock is on a file without a name: %v, %v", taken, err)
	}
	path += "2"
	err = durable.On(&swappingDisk{}).Append(path, func(durable.Tail) ([]byte, error) { return []byte("line\n"), nil })
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := content(t, path); got != "line\n" {
		t.Errorf("the file holds %q", got)
	}
}

// fullDisk fails the n-th call of a kind, counted from 1.
func fullDisk(kind string, n int) func(call, path string) error {
	return func(call, _ string) error {
		if call != kind {
			return nil
		}
		if n--; n == 0 {
			return syscall.ENOSPC
		}
		return nil
	}
}

// content returns the content of a file, and whether it exists.
func content(t *testing.T, path string) (string, bool) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data), err == nil
}
