package postbox_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/workflows/message"
)

// search is a finder whose looks are as far apart as it asks for.
type search struct {
	*testing.T
	postbox.Finder
	now time.Time
}

func newSearch(t *testing.T) *search {
	dir := t.TempDir()
	s := &search{T: t, now: noon, Finder: postbox.Finder{Dir: filepath.Join(dir, "msgs"), Logs: []string{filepath.Join(dir, "index.jsonl")}}}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *search) lay(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *search) look() []string {
	s.Helper()
	found, _, err := s.Look(s.now)
	if err != nil {
		s.Fatal(err)
	}
	s.now = s.now.Add(2 * time.Second)
	slices.Sort(found)
	return found
}

// all looks until nothing more is to be expected.
func (s *search) all() (all []string) {
	s.Helper()
	for range 1000 {
		found, soon, err := s.Look(s.now)
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, found...)
		s.Know(found...)
		if !soon {
			slices.Sort(all)
			return all
		}
		s.now = s.now.Add(500 * time.Millisecond)
	}
	s.Fatal("no end of looking")
	return nil
}

const front = "---\nto: shop/api\nfrom: shop/page\ntype: ask\n---\n"

// A file that nobody changes any more is found, whatever is in it; what is not the file of a message,
// or larger than one, is not, and a pipe blocks nothing.
func TestProtocolT8WhatIsFoundByHand(t *testing.T) {
	s := newSearch(t)
	long := strings.Repeat("n", 252) + ".md"
	found := []string{long, "exact.md", "nul.md", "open.md", "twice.md", "esc.md", "list.md"}
	s.lay(long, front)
	s.lay("exact.md", front+strings.Repeat("x", message.MaxFile-len(front)))
	s.lay("nul.md", "---\nto: a/b\x00\n---\n")
	s.lay("open.md", "---\nto: a/b\n")
	s.lay("twice.md", front+front)
	s.lay("esc.md", "---\nto: shop/api\nfrom: shop/page\ntype: ask\nheadline: \"\\e[31m\\u202e\"\n---\n")
	s.lay("list.md", "---\nto: [shop/api]\nfrom: shop/page\ntype: ask\n---\n")
	for _, name := range []string{"large.md", "empty.md", ".hidden.md", "half.md.tmp", "x-done.md", "x-failed.md", "x-orphan.md", "queue.json"} {
		s.lay(name, front)
	}
	s.lay("large.md", front+strings.Repeat("x", message.MaxFile-len(front)+1))
	s.lay("empty.md", "")
	if err := errors.Join(os.Symlink("exact.md", filepath.Join(s.Dir, "link.md")), os.Mkdir(filepath.Join(s.Dir, "dir.md"), 0o700),
		syscall.Mkfifo(filepath.Join(s.Dir, "pipe.md"), 0o600)); err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	if got := s.all(); !slices.Equal(got, found) {
		t.Errorf("found %q, want %q", got, found)
	}
	if got := s.all(); len(got) > 0 {
		t.Errorf("found again: %q", got)
	}
	s.lay("empty.md", front) // the directory is as before
	s.now = s.now.Add(time.Minute)
	if got := s.all(); !slices.Equal(got, []string{"empty.md"}) {
		t.Errorf("found %q", got)
	}
	if l := postbox.Read(s.Dir, "twice.md", nil); l.Problem != "" || string(l.Message.Body) != front {
		t.Errorf("a second frontmatter is text of the first: %+v", l)
	}
	if l := postbox.Read(s.Dir, "esc.md", nil); l.Problem != "" || l.Message.Headline != "[31m" {
		t.Errorf("headline %q, %s", l.Message.Headline, l.Problem)
	}
}

// A file that grows is not taken, however long; one that is gone or becomes a pipe between two looks was
// never there.
func TestProtocolT8AFileThatGrowsIsNotTaken(t *testing.T) {
	s := newSearch(t)
	s.lay("gone.md", front)
	s.lay("swapped.md", front)
	for n := range 30 {
		s.lay("grows.md", front+strings.Repeat("x", n))
		if found := s.look(); len(found) > 0 && n < 2 || slices.Contains(found, "grows.md") {
			t.Fatalf("look %d found %q", n, found)
		}
		if n == 0 {
			gone, swapped := filepath.Join(s.Dir, "gone.md"), filepath.Join(s.Dir, "swapped.md")
			if err := errors.Join(os.Remove(gone), os.Remove(swapped), syscall.Mkfifo(swapped, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.look()
	if found := s.look(); !slices.Equal(found, []string{"grows.md"}) {
		t.Errorf("found %q", found)
	}
}

// What a line names is no file by hand, also when the line came after the file.
func TestWhatALogNamesIsNotByHand(t *testing.T) {
	s := newSearch(t)
	s.lay("sent.md", front)
	s.lay("a>b.md", front)
	s.lay("late.md", front)
	s.lay("kept.md", front)
	log := func(line string) {
		t.Helper()
		f, err := os.OpenFile(s.Logs[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(line)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	log(`{"tool":"msg_send","payload":{"file":"msgs/sent.md","sha256":"x"}}` + "\n" + `{"payload":{"file":"msgs/a\u003eb.md"}}` + "\n" + `{"payload":{"file":"msgs/la`)
	s.Know("kept.md")
	s.look()
	if found := s.look(); !slices.Equal(found, []string{"late.md"}) {
		t.Fatalf("found %q", found)
	}
	log("te.md\"}}\n")
	if ok, err := s.ByHand("late.md"); ok || err != nil {
		t.Errorf("by hand: %t, %v", ok, err)
	}
	if found := s.all(); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

// Thousands of files are all found, some at each look.
func TestAFloodOfFilesIsFoundInParts(t *testing.T) {
	t.Parallel()
	s := newSearch(t)
	for n := range 5000 {
		s.lay(fmt.Sprintf("%d.md", n), front)
	}
	s.look()
	for range 50 {
		if found := s.look(); len(found) > 100 {
			t.Errorf("one look found %d", len(found))
		}
	}
	if found := s.all(); len(slices.Compact(found)) != 5000 {
		t.Errorf("found %d", len(found))
	}
}
