package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/internal/durable/powertest"
)

func nothing(int, gate.Trigger) bool { return false }

// compacted is how many lines went.
func (d *desk) compacted(met func(int, gate.Trigger) bool) int {
	d.t.Helper()
	n, err := d.Compact(met)
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

func TestCompactDropsWhatNothingAsksFor(t *testing.T) {
	d := newDesk(t)
	d.add(accepted(12, 1)) // of a label that went
	d.add(started(12, 1, 9))
	d.add(refused(13, 2)) // of a label that could not be taken off
	d.add(journal.Told{Issue: 13, Trigger: trigger(2), Comment: 70})
	d.add(refused(14, 3)) // that was never told
	d.add(refused(15, 4))
	d.add(journal.Told{Issue: 15, Trigger: trigger(4), Comment: 71})
	with := accepted(16, 6)
	with.With = []gate.Trigger{trigger(5)} // the second label is on still
	d.add(with)
	d.add(journal.Seen{Issue: 13, Trigger: trigger(2)})
	d.add(journal.Seen{Issue: 12, Trigger: trigger(1)})
	d.add(command("comment/5", journal.Judged))
	d.add(command("comment/6", journal.Judged))
	d.add(command("comment/6", journal.Done))
	text := d.text() + `{"v":1,"type":"weather","at":"2026-11-21T12:00:00Z","data":7}` + "\n" + `{"v":1,"ty` + "\n\n" + strings.SplitAfter(d.text(), "\n")[0]
	d.write(text)
	d.reopen()
	met := func(issue int, t gate.Trigger) bool {
		return issue == 13 && t == trigger(2) || issue == 16 && t == trigger(5)
	}

	t.Run("nothing is old", func(t *testing.T) {
		young := newDesk(t)
		young.add(accepted(12, 1))
		before, _ := os.Stat(young.path())
		young.pass(71 * time.Hour)
		n := young.compacted(nothing)
		after, _ := os.Stat(young.path())
		if n != 0 || !os.SameFile(before, after) {
			t.Errorf("%d lines went", n)
		}
	})

	d.pass(73 * time.Hour)
	d.add(accepted(17, 8))
	if n := d.compacted(met); n != 8 {
		t.Errorf("%d lines went, and left:\n%s", n, d.text())
	}
	for range 2 {
		for what, kept := range map[string]bool{
			"the label that could not be taken off": d.Decided(13, trigger(2)),
			"the refusal that is owed":              len(d.Owed()) == 1 && d.Owed()[0].Issue == 14,
			"a label beside one that went":          d.Decided(16, trigger(5)) && d.Decided(16, trigger(6)),
			"what is young":                         d.Decided(17, trigger(8)),
			"the texts":                             has(d.FirstSeen(13, trigger(2))),
			"a command under way":                   has(d.Command("comment/5")),
			"a command that is done":                has(d.Command("comment/6")),
			"a record of another version":           strings.Contains(d.text(), "weather"),
		} {
			if !kept {
				t.Errorf("%s is lost", what)
			}
		}
		if d.Decided(12, trigger(1)) || d.Decided(15, trigger(4)) || has(d.FirstSeen(12, trigger(1))) || d.Damage().Count != 0 {
			t.Errorf("kept: %+v\n%s", d.Damage(), d.text())
		}
		d.reopen()
	}
	damaged, err := os.ReadFile(filepath.Join(d.dir, journal.DamagedFile))
	if err != nil || string(damaged) != "{\"v\":1,\"ty\n" {
		t.Errorf("%q, %v", damaged, err)
	}
	d.pass(31 * 24 * time.Hour)
	d.compacted(nothing)
	if has(d.Command("comment/6")) || !has(d.Command("comment/5")) || d.Decided(13, trigger(2)) || len(d.Owed()) != 1 {
		t.Error(d.text())
	}
	if n := d.compacted(nothing); n != 0 {
		t.Errorf("%d more lines went", n)
	}
}

func has[T any](_ T, ok bool) bool { return ok }

// Another process goes on with the new file, and what it has in hand is written there.
func TestCompactBesideAnotherProcess(t *testing.T) {
	d := newDesk(t)
	d.add(accepted(12, 1))
	other := open(t, d.dir, d.clock)
	d.pass(100 * time.Hour)
	if n := d.compacted(nothing); n != 1 {
		t.Fatalf("%d lines went", n)
	}
	if fresh, err := other.Append(accepted(12, 2)); !fresh || err != nil {
		t.Fatalf("%t, %v", fresh, err)
	}
	if err := d.Refresh(); err != nil || !d.Decided(12, trigger(2)) || d.Decided(12, trigger(1)) {
		t.Errorf("%v\n%s", err, d.text())
	}
}

// Whatever moment the power goes at, and whatever the disk makes of it, what was answered is
// there, each start counts once, and the journal goes on.
func TestPowerLossAtEachMomentOfAJournal(t *testing.T) {
	root, c := t.TempDir(), &clock{noon}
	disk := powertest.New(root)
	j, err := on(disk.Disk(), root, c)
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		moment, trigger int
	}
	var answers []answer
	do := func(n int, records ...journal.Record) {
		for _, r := range records {
			if fresh, err := j.Append(r); !fresh || err != nil {
				t.Fatalf("%+v: %t, %v", r, fresh, err)
			}
		}
		answers = append(answers, answer{disk.Moment(), n})
	}
	for n := range 3 {
		do(n, accepted(12, n))
	}
	if err := disk.Write(filepath.Join(root, journal.File), []byte(textOf(t, root)+"{\"torn\n")); err != nil {
		t.Fatal(err)
	}
	synced := disk.Moment()
	c.pass(100 * time.Hour)
	do(3, refused(12, 3), started(12, 3, 9))
	if n, err := j.Compact(func(_ int, t gate.Trigger) bool { return t != trigger(1) }); n != 2 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	do(4, accepted(12, 4))
	for past := range disk.Past() {
		if len(answers) > 0 && past.Moment > answers[2].moment && past.Moment <= synced {
			continue // another program writes, without syncing
		}
		for fate := range powertest.Fates + 4 {
			dir := t.TempDir()
			if err := past.Image(dir, fate); err != nil {
				t.Fatal(err)
			}
			for range 2 { // once more, after another record
				j, err := on(powertest.New(dir).Disk(), dir, c)
				if err != nil {
					t.Fatalf("after %d changes, fate %d: %v", past.Moment, fate, err)
				}
				for _, a := range answers {
					if a.moment <= past.Moment && a.trigger != 1 && !j.Decided(12, trigger(a.trigger)) {
						t.Fatalf("after %d changes, fate %d: trigger %d is lost:\n%s", past.Moment, fate, a.trigger, textOf(t, dir))
					}
				}
				if n := j.StartsBy(9, time.Hour); n > 1 {
					t.Fatalf("after %d changes, fate %d: %d starts", past.Moment, fate, n)
				}
				if _, err := j.Append(accepted(99, 1)); err != nil {
					t.Fatalf("after %d changes, fate %d: %v", past.Moment, fate, err)
				}
			}
		}
	}
}

func textOf(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, journal.File))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// A compaction that fails at any call leaves the journal as it was.
func TestACompactionThatFailsChangesNothing(t *testing.T) {
	for _, call := range []string{"create", "write", "sync", "rename", "syncdir"} {
		dir, c := t.TempDir(), &clock{noon}
		disk := powertest.New(dir)
		failing := false
		disk.Fault = func(at, _ string) error {
			if failing && at == call {
				return syscall.ENOSPC
			}
			return nil
		}
		j, err := on(disk.Disk(), dir, c)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			if _, err := j.Append(refused(12, n)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := j.Append(journal.Told{Issue: 12, Trigger: trigger(0)}); err != nil {
			t.Fatal(err)
		}
		c.pass(100 * time.Hour)
		before := fmt.Sprint(j.Owed())
		failing = true
		if _, err := j.Compact(nothing); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", call, err)
		}
		failing = false
		if next := open(t, dir, c); fmt.Sprint(next.Owed()) != before || fmt.Sprint(j.Owed()) != before {
			t.Errorf("%s: %s", call, textOf(t, dir))
		}
		if fresh, err := j.Append(accepted(13, 1)); !fresh || err != nil {
			t.Errorf("%s: then %t, %v", call, fresh, err)
		}
	}
}
