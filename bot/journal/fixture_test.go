package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/durable"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// clock is a clock that tests set.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time       { return c.now }
func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

// desk is a journal with its clock.
type desk struct {
	*journal.Journal
	*clock
	t   testing.TB
	dir string
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	d := &desk{clock: &clock{noon}, t: t, dir: t.TempDir()}
	d.reopen()
	return d
}

// reopen is what the next process finds.
func (d *desk) reopen() {
	d.t.Helper()
	d.Journal = open(d.t, d.dir, d.clock)
}

func open(t testing.TB, dir string, c *clock) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir, journal.Options{Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// add appends a record that is not known yet.
func (d *desk) add(r journal.Record) {
	d.t.Helper()
	if fresh, err := d.Append(r); !fresh || err != nil {
		d.t.Fatalf("%+v: %t, %v", r, fresh, err)
	}
}

func (d *desk) path() string { return filepath.Join(d.dir, journal.File) }

func (d *desk) text() string {
	d.t.Helper()
	data, err := os.ReadFile(d.path())
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

func (d *desk) write(text string) {
	d.t.Helper()
	if err := os.WriteFile(d.path(), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// trigger is the n-th label that an account set.
func trigger(n int) gate.Trigger {
	return gate.LabelTrigger(ghsync.LabelEvent{Name: "agentmux", At: noon.Add(time.Duration(n) * time.Second), Actor: ghsync.Account{ID: 9}})
}

func refused(issue, n int) journal.Decided {
	return journal.Decided{Issue: issue, Trigger: trigger(n), Row: gate.RowPermission, What: gate.Refuse, Reason: "eve has read permission", Remedy: "ask"}
}

func accepted(issue, n int) journal.Decided {
	return journal.Decided{Issue: issue, Trigger: trigger(n), Row: gate.RowStart, What: gate.Start}
}

func started(issue, n int, actor int64) journal.Started {
	return journal.Started{Issue: issue, Trigger: trigger(n), Actor: actor, Session: "s"}
}

func command(id string, s journal.State) journal.Command {
	return journal.Command{Source: id, Issue: 12, Verb: "stop", Author: "mia", AuthorID: 9, State: s}
}

// lines counts the lines of a text.
func lines(text string) int { return strings.Count(text, "\n") }

func on(disk durable.Disk, dir string, c *clock) (*journal.Journal, error) {
	return journal.Open(dir, journal.Options{Now: c.Now, Disk: disk})
}
