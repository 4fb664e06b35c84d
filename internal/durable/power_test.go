package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// losePower runs work once for each of its calls with the power going before
// it, and gives check every directory that may be left. work returns what was
// answered before the power went.
func losePower(t *testing.T, work func(s store, dir string) []string, check func(t *testing.T, answered []string, dir string)) {
	t.Helper()
	for power := 1; ; power++ {
		d := newFaultyDisk(power)
		answered := work(store{disk: d}, t.TempDir())
		d.images(t, func(dir string) {
			t.Helper()
			check(t, answered, dir)
		})
		if d.calls < power {
			return
		}
		if power > 500 {
			t.Fatal("the work does not end")
		}
	}
}

func TestPowerLossLeavesTheOldOrTheNewContent(t *testing.T) {
	texts := []string{"the first content", "second", "the third content, longer"}
	work := func(s store, dir string) (answered []string) {
		for _, text := range texts {
			if s.replace(filepath.Join(dir, "state.json"), []byte(text)) != nil {
				break
			}
			answered = append(answered, text)
		}
		return answered
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
	work := func(s store, dir string) (answered []string) {
		for range 2 { // the second time it is taken
			err := s.create(filepath.Join(dir, "blob"), []byte("content"))
			if err != nil && !errors.Is(err, fs.ErrExist) {
				break
			}
			answered = append(answered, "there")
		}
		return answered
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
	work := func(s store, dir string) (answered []string) {
		for n := range 4 {
			line := fmt.Sprintf("line %d\n", n)
			check := func(Tail) ([]byte, error) { return []byte(line), nil }
			if s.append(filepath.Join(dir, "events.jsonl"), time.Second, check) != nil {
				break
			}
			answered = append(answered, line)
		}
		return answered
	}
	losePower(t, work, func(t *testing.T, answered []string, dir string) {
		path := filepath.Join(dir, "events.jsonl")
		before, _ := content(t, path)
		if !strings.HasPrefix(before, strings.Join(answered, "")) {
			t.Errorf("of %q is left %q", answered, before)
		}
		if err := Append(path, func(Tail) ([]byte, error) { return []byte("next\n"), nil }); err != nil {
			t.Fatal(err)
		}
		after, _ := content(t, path)
		if after != before+"next\n" && after != before+"\nnext\n" || !strings.HasSuffix(after, "\nnext\n") && after != "next\n" {
			t.Errorf("the next line is not whole: %q", after)
		}
	})
}

func TestPowerLossLeavesTheBackupWhole(t *testing.T) {
	work := func(s store, dir string) (answered []string) {
		path := filepath.Join(dir, "state.json")
		for _, text := range []string{"one", "two"} {
			if s.replace(path, []byte(text)) != nil || s.backup(path, path+".bak") != nil {
				break
			}
		}
		return nil
	}
	losePower(t, work, func(t *testing.T, _ []string, dir string) {
		got, exists := content(t, filepath.Join(dir, "state.json.bak"))
		if exists && got != "one" && got != "two" {
			t.Errorf("the backup holds %q", got)
		}
	})
}

func TestAppendThatFailsLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		before string
		fault  func(string) error
	}{
		{"full disk", "one\n", fullDisk("write", 1)},
		{"sync fails", "one\n", fullDisk("sync", 1)},
		{"full disk, new file", "", fullDisk("write", 1)},
		{"directory sync fails", "", fullDisk("sync", 2)},
		{"full disk after a torn line", "one\ntor", fullDisk("write", 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events.jsonl")
			if c.before != "" {
				if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d := newFaultyDisk(0)
			d.live["events.jsonl"] = &node{live: []byte(c.before)}
			d.fault = c.fault
			err := store{disk: d}.append(path, time.Second, func(Tail) ([]byte, error) { return []byte("two\nthree\n"), nil })
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
	operations := map[string]func(s store, path string) error{
		"replace": func(s store, path string) error { return s.replace(path, []byte("new")) },
		"view":    func(s store, path string) error { return s.view(path, []byte("new")) },
		"create":  func(s store, path string) error { return s.create(path+".new", []byte("new")) },
		"backup":  func(s store, path string) error { return s.backup(path, path+".new") },
	}
	for name, operate := range operations {
		for _, call := range []string{"open", "write", "sync", "rename", "link"} {
			dir := t.TempDir()
			path := filepath.Join(dir, "state.json")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			d := newFaultyDisk(0)
			failed := false
			d.fault = func(c string) error {
				if c == call && !failed {
					failed = true
					return fmt.Errorf("no space for %s", c)
				}
				return nil
			}
			err := operate(store{disk: d}, path)
			if failed != (err != nil) {
				t.Errorf("%s, %s: error is %v", name, call, err)
			}
			if got, _ := content(t, path); failed && got != "old" {
				t.Errorf("%s, %s: file holds %q", name, call, got)
			}
			if entries, _ := os.ReadDir(dir); failed && len(entries) != 1 {
				t.Errorf("%s, %s: %v are left", name, call, entries)
			}
		}
	}
}

func TestAppendGivesUpWhenTheFileStaysLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	none := func(Tail) ([]byte, error) { return nil, nil }
	err := Append(path, func(Tail) ([]byte, error) { return nil, machine.append(path, 50*time.Millisecond, none) })
	if !errors.Is(err, ErrBusy) {
		t.Errorf("error is %v, want ErrBusy", err)
	}
}

// swappingDisk replaces the first file it opens, between the opening and the
// lock, as a rename by another process would.
type swappingDisk struct {
	system
	swapped bool
}

func (d *swappingDisk) open(path string, how opening) (file, error) {
	f, err := d.system.open(path, how)
	if err == nil && !d.swapped {
		d.swapped = true
		err = errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
	}
	return f, err
}

func TestLockAndLinesGoToTheFileThatHasTheName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	held, err := store{disk: &swappingDisk{}}.lock(path, "text", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if taken, err := Probe(path); !taken || err != nil {
		t.Errorf("the lock is on a file without a name: %v, %v", taken, err)
	}
	path += "2"
	err = store{disk: &swappingDisk{}}.append(path, time.Second, func(Tail) ([]byte, error) { return []byte("line\n"), nil })
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := content(t, path); got != "line\n" {
		t.Errorf("the file holds %q", got)
	}
}
