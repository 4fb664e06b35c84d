package postbox_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/durable/powertest"
	"github.com/agentmux/agentmux/orchestrator/postbox"
)

// post sends a letter as the tool of an agent does: the line names the file.
func post(box postbox.Box, id string) (file string, err error) {
	m := letter()
	m.ID = id
	err = box.Post(m, noon, func(name postbox.Name) error {
		return box.Disk.Append(filepath.Join(box.Dir, "index.jsonl"), func(durable.Tail) ([]byte, error) {
			var sum string
			var err error
			file, sum, err = name(m.ID)
			return []byte(file + " " + sum + "\n"), err
		})
	})
	return file, err
}

// Whenever the power goes while agents write at once, what was answered has its line, once, and its file,
// whole; and a file is whole or not there.
func TestPowerLossKeepsEveryAnsweredMessage(t *testing.T) {
	root := t.TempDir()
	recorder := powertest.New(root)
	box := postbox.Box{Dir: filepath.Join(root, "msgs"), Disk: recorder.Disk()}
	if err := box.Disk.MkdirAll(box.Dir); err != nil {
		t.Fatal(err)
	}
	answered := map[string]int{} // file: the moment
	var mu sync.Mutex
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for n := range 2 {
				file, err := post(box, fmt.Sprintf("page-%d%d", w, n))
				mu.Lock()
				if answered[file] = recorder.Moment(); err != nil {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	for past := range recorder.Past() {
		for fate := range powertest.Fates + 2 {
			dir := t.TempDir()
			if err := past.Image(dir, fate); err != nil {
				t.Fatal(err)
			}
			dir = filepath.Join(dir, "msgs")
			index, _ := os.ReadFile(filepath.Join(dir, "index.jsonl"))
			for file, moment := range answered {
				l := postbox.Read(dir, file, nil)
				if l.SHA256 != "" && (l.Problem != "" || string(l.Message.Body) != string(letter().Body)) {
					t.Errorf("%s is not whole: %+v", file, l)
				}
				if n := strings.Count(string(index), file+" "+l.SHA256+"\n"); moment <= past.Moment && (l.SHA256 == "" || n != 1) {
					t.Errorf("%s was answered, its line is there %d times: %+v", file, n, l)
				}
			}
			if t.Failed() {
				t.Fatalf("the power went after %d changes, fate %d", past.Moment, fate)
			}
		}
	}
}

// A message that was not sent leaves no file, which would be taken as one by hand.
func TestAMessageThatIsNotSentHasNoFile(t *testing.T) {
	for _, call := range []string{"create", "write", "sync", "link", "syncdir"} {
		for n := 1; ; n++ {
			root := t.TempDir()
			left, failed := n, false
			recorder := powertest.New(root)
			recorder.Fault = func(c, _ string) error {
				if c == call {
					left--
				}
				if failed = failed || left == 0; c == call && left == 0 {
					return syscall.ENOSPC
				}
				return nil
			}
			_, err := post(postbox.Box{Dir: root, Disk: recorder.Disk()}, "page-1")
			if !failed {
				break
			}
			index, _ := os.ReadFile(filepath.Join(root, "index.jsonl"))
			files, _ := filepath.Glob(filepath.Join(root, "*.md"))
			temps, _ := filepath.Glob(filepath.Join(root, ".*"))
			if !errors.Is(err, syscall.ENOSPC) || len(temps) > 0 || len(files) > 0 {
				t.Errorf("%s %d fails: %v, left %q %q, index %q", call, n, err, files, temps, index)
			}
		}
	}
}

// A name that is taken, and an id that is, cost another draft.
func TestADraftIsWrittenAgainUnderAnotherID(t *testing.T) {
	box := postbox.Box{Dir: t.TempDir()}
	var file, sum string
	if _, _, err := box.Write(letter(), noon); err != nil {
		t.Fatal(err)
	}
	err := box.Post(letter(), noon, func(name postbox.Name) (err error) {
		file, sum, err = name("page-7")
		return err
	})
	if got := postbox.Read(box.Dir, file, nil); err != nil || got.Message.ID != "page-7" || got.SHA256 != sum {
		t.Errorf("%s, %v: %+v", file, err, got)
	}
	if temps, _ := filepath.Glob(filepath.Join(box.Dir, ".*")); len(temps) > 0 {
		t.Errorf("left: %q", temps)
	}
}
