package journal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/internal/durable/powertest"
)

func TestWhatIsWrittenIsKnownToTheNextProcess(t *testing.T) {
	d := newDesk(t)
	two := accepted(12, 1)
	two.With = []gate.Trigger{trigger(0)}
	texts := gate.Texts{Title: "a", Body: "b"}
	d.add(two)
	d.add(refused(13, 2))
	d.add(started(12, 1, 9))
	d.add(journal.Started{Issue: 12, Trigger: gate.CommentTrigger(5), Actor: 9, Session: "s2"})
	d.add(journal.Started{Issue: 12, Trigger: gate.CLITrigger("s3"), Actor: 9, Session: "s3"})
	d.add(journal.Told{Issue: 13, Trigger: trigger(2), Comment: 77})
	d.add(command("comment/5", journal.Judged))
	d.add(command("review/6", journal.Refused))
	d.add(command("comment/5", journal.Accepted))
	d.add(journal.Seen{Issue: 12, Trigger: trigger(1), Texts: texts})
	for range 2 {
		for _, n := range []int{0, 1} {
			if got, ok := d.Decision(12, trigger(n)); !ok || got.What != gate.Start || got.Row != gate.RowStart {
				t.Errorf("trigger %d: %+v, %t", n, got, ok)
			}
		}
		if d.Decided(13, trigger(1)) || d.Decided(12, trigger(2)) || !d.Decided(13, trigger(2)) {
			t.Error("a trigger is one of an issue")
		}
		if n := d.LabelStarts(12, time.Hour); n != 1 {
			t.Errorf("%d starts by label", n)
		}
		if n := d.StartsBy(9, time.Hour); n != 2 {
			t.Errorf("%d starts by the account", n)
		}
		if d.StartsBy(10, time.Hour) != 0 || d.LabelStarts(13, time.Hour) != 0 {
			t.Error("starts of others")
		}
		if all, of, other := d.Refusals(time.Hour), d.RefusalsOf(13, time.Hour), d.RefusalsOf(12, time.Hour); all != 1 || of != 1 || other != 0 {
			t.Errorf("refusals %d, %d, %d", all, of, other)
		}
		if got, ok := d.FirstSeen(12, trigger(1)); !ok || got != texts {
			t.Errorf("texts %+v, %t", got, ok)
		}
		want := []journal.Command{command("comment/5", journal.Accepted), command("review/6", journal.Refused)}
		if got := d.Commands(12); !slices.Equal(got, want) || len(d.Commands(13)) != 0 {
			t.Errorf("commands %+v", got)
		}
		if got := d.Pending(); !slices.Equal(got, want[:1]) {
			t.Errorf("pending %+v", got)
		}
		if c, ok := d.Command("review/6"); !ok || c.State != journal.Refused {
			t.Errorf("%+v, %t", c, ok)
		}
		d.reopen()
	}
}

// What is known is not written again, and a command never goes back.
func TestWhatIsKnownIsNoNews(t *testing.T) {
	d := newDesk(t)
	d.add(refused(12, 1))
	d.add(started(12, 1, 9))
	d.add(journal.Told{Issue: 12, Trigger: trigger(1)})
	d.add(command("comment/5", journal.Accepted))
	d.add(command("comment/5", journal.Done))
	d.add(journal.Seen{Issue: 12, Trigger: trigger(1), Texts: gate.Texts{Title: "first"}})
	before := d.text()
	for _, r := range []journal.Record{
		accepted(12, 1), started(12, 1, 10), journal.Told{Issue: 12, Trigger: trigger(1), Comment: 3},
		command("comment/5", journal.Judged), command("comment/5", journal.Accepted), command("comment/5", journal.Refused),
		journal.Seen{Issue: 12, Trigger: trigger(1), Texts: gate.Texts{Title: "second"}},
	} {
		if fresh, err := d.Append(r); fresh || err != nil {
			t.Errorf("%+v: %t, %v", r, fresh, err)
		}
	}
	if d.text() != before {
		t.Error("the file changed")
	}
	if got, _ := d.Decision(12, trigger(1)); got.What != gate.Refuse {
		t.Errorf("%+v", got)
	}
}

func TestARefusalIsOwedUntilItIsTold(t *testing.T) {
	d := newDesk(t)
	d.add(refused(14, 3))
	d.add(accepted(12, 1))
	silent := refused(13, 2)
	silent.What = gate.RefuseSilently
	d.add(silent)
	d.reopen()
	owed := d.Owed()
	if len(owed) != 2 || owed[0].Issue != 13 || owed[1].Issue != 14 || owed[1].Reason == "" || owed[1].Remedy == "" {
		t.Fatalf("%+v", owed)
	}
	d.add(journal.Told{Issue: 14, Trigger: trigger(3), Comment: 5})
	d.add(journal.Told{Issue: 13, Trigger: trigger(2)})
	d.reopen()
	if owed := d.Owed(); len(owed) != 0 {
		t.Errorf("%+v", owed)
	}
	if n := d.Refusals(time.Hour); n != 1 {
		t.Errorf("%d comments", n)
	}
}

// An accepted request is refused once more when it gets its slot and its base commit is bad; no
// other decision takes the place of the first.
func TestABadBaseCommitRefusesWhatWasAccepted(t *testing.T) {
	d := newDesk(t)
	d.add(accepted(12, 1))
	if fresh, err := d.Append(refused(12, 1)); fresh || err != nil {
		t.Fatalf("refused beside a start: %t, %v", fresh, err)
	}
	base := journal.Decided{Issue: 12, Trigger: trigger(1), Row: gate.RowBase, What: gate.Refuse, Reason: "bad", Details: []string{"a.yaml:3: bad"}}
	d.add(base)
	d.reopen()
	if owed := d.Owed(); len(owed) != 1 || !slices.Equal(owed[0].Details, base.Details) {
		t.Errorf("%+v", owed)
	}
	if fresh, err := d.Append(base); fresh || err != nil {
		t.Errorf("twice: %t, %v", fresh, err)
	}
	d.add(journal.Told{Issue: 12, Trigger: trigger(1), Comment: 7})
	if fresh, err := d.Append(accepted(12, 1)); fresh || err != nil || len(d.Owed()) != 0 {
		t.Errorf("accepted again: %t, %v", fresh, err)
	}
}

// Two processes record the same triggers; each of them is fresh for one of them.
func TestOfTwoProcessesOneIsFirst(t *testing.T) {
	d := newDesk(t)
	const triggers = 40
	var fresh atomic.Int32
	var wg sync.WaitGroup
	for range 2 {
		j := open(t, d.dir, d.clock)
		for range 2 {
			wg.Go(func() {
				for n := range triggers {
					first, err := j.Append(accepted(12, n))
					if err != nil {
						t.Error(err)
					}
					if first {
						fresh.Add(1)
					}
				}
			})
		}
	}
	wg.Wait()
	if fresh.Load() != triggers || lines(d.text()) != triggers {
		t.Errorf("%d were fresh, %d lines, want %d", fresh.Load(), lines(d.text()), triggers)
	}
	if d.Decided(12, trigger(0)) {
		t.Error("known without a look")
	}
	if err := d.Refresh(); err != nil || !d.Decided(12, trigger(0)) || !d.Decided(12, trigger(triggers-1)) {
		t.Errorf("not known after a look: %v", err)
	}
}

func TestDamageIsPassedOverAndNamed(t *testing.T) {
	d := newDesk(t)
	d.add(accepted(12, 1))
	first := d.text()
	d.add(accepted(12, 2))
	second := strings.TrimPrefix(d.text(), first)
	long := `{"v":1,"type":"decided","pad":"` + strings.Repeat("x", 70<<10) + "\"}\n"
	for _, c := range []struct {
		name, text string
		bad        []journal.BadLine
		torn       bool
		known      []int
	}{
		{"whole", first + second, nil, false, []int{1, 2}},
		{"empty", "", nil, false, nil},
		{"a torn line at the end", first + second[:30], nil, true, []int{1}},
		{"a line that only lacks its end", first + strings.TrimSuffix(second, "\n"), nil, true, []int{1}},
		{"a torn line in the middle", first[:30] + "\n" + second, []journal.BadLine{{Line: 1, Reason: "bad JSON"}}, false, []int{2}},
		{"zeros", first + strings.Repeat("\x00", 40) + "\n" + second, []journal.BadLine{{Line: 2, Reason: "bad JSON"}}, false, []int{1, 2}},
		{"blank lines", "\n" + first + "  \n" + second, nil, false, []int{1, 2}},
		{"a long line", first + long + second, []journal.BadLine{{Line: 2, Reason: "longer than 64 KiB"}}, false, []int{1, 2}},
		{"no object", first + "[1]\n7\n" + second, []journal.BadLine{{Line: 2, Reason: "bad JSON"}, {Line: 3, Reason: "bad JSON"}}, false, []int{1, 2}},
		{"no version", first + "{}\n" + second, []journal.BadLine{{Line: 2, Reason: "bad version 0"}}, false, []int{1, 2}},
		{"no type", first + "{\"v\":1}\n" + second, []journal.BadLine{{Line: 2, Reason: "no type"}}, false, []int{1, 2}},
		{"another type of a key", "{\"v\":1,\"type\":7}\n" + first, []journal.BadLine{{Line: 1, Reason: "a key has another type"}}, false, []int{1}},
		{"a type that is not known", "{\"v\":1,\"type\":\"weather\",\"data\":7}\n" + first, nil, false, []int{1}},
		{"a bad trigger", strings.Replace(first, "label/agentmux", "lable/agentmux", 1) + second, []journal.BadLine{{Line: 1, Reason: `bad decided: "lable/agentmux/2026-11-21T12:00:01Z/9" is not a trigger`}}, false, []int{2}},
		{"a bad issue", strings.Replace(first, `"issue":12`, `"issue":-1`, 1) + second, []journal.BadLine{{Line: 1, Reason: "bad decided: bad issue -1"}}, false, []int{2}},
		{"no data", "{\"v\":1,\"type\":\"decided\"}\n" + second, []journal.BadLine{{Line: 1, Reason: "bad decided: unexpected end of JSON input"}}, false, []int{2}},
		{"a bad time", strings.Replace(first, "2026-11-21T12:00:00Z", "noon", 1) + second, nil, false, []int{1, 2}},
		{"unknown keys", strings.Replace(first, `"v":1`, `"v":1,"x":{}`, 1) + second, nil, false, []int{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.write(c.text)
			d.reopen()
			if got := d.Damage(); !slices.Equal(got.Bad, c.bad) || got.Count != len(c.bad) || got.Torn != c.torn {
				t.Errorf("damage %+v, want %+v, torn %t", got, c.bad, c.torn)
			}
			for n := range 3 {
				if got := d.Decided(12, trigger(n)); got != slices.Contains(c.known, n) {
					t.Errorf("trigger %d known: %t", n, got)
				}
			}
			d.add(accepted(12, 7))
			d.reopen()
			if !d.Decided(12, trigger(7)) || d.Damage().Torn || !strings.HasPrefix(d.text(), c.text) {
				t.Errorf("after another record: %+v\n%s", d.Damage(), d.text())
			}
		})
	}
}

// A line whose end alone is missing counts once the next writer has ended it.
func TestALineWithoutItsEndIsWhole(t *testing.T) {
	d := newDesk(t)
	d.add(accepted(12, 1))
	d.write(strings.TrimSuffix(d.text(), "\n"))
	d.reopen()
	if fresh, err := d.Append(accepted(12, 1)); fresh || err != nil || !d.Decided(12, trigger(1)) || d.Damage().Count != 0 {
		t.Errorf("%t, %v, %+v", fresh, err, d.Damage())
	}
}

// Cut anywhere, a journal is read as far as it goes.
func TestAJournalCutAtEachByteGoesAsFarAsItGoes(t *testing.T) {
	d := newDesk(t)
	var ends []int
	for n := range 4 {
		d.add(refused(12, n))
		ends = append(ends, len(d.text()))
	}
	text := d.text()
	for cut := range len(text) {
		d.write(text[:cut])
		d.reopen()
		for n, end := range ends {
			if got := d.Decided(12, trigger(n)); got != (cut >= end) {
				t.Fatalf("cut at %d, trigger %d: %t", cut, n, got)
			}
		}
		if torn := d.Damage().Torn; torn != (cut > 0 && !slices.Contains(ends, cut)) {
			t.Fatalf("cut at %d: torn %t", cut, torn)
		}
	}
}

// A journal that is cut or removed while it is open counts as far as it goes.
func TestAJournalThatIsLostUnderAProcess(t *testing.T) {
	d := newDesk(t)
	d.add(accepted(12, 1))
	first := d.text()
	d.add(accepted(12, 2))
	d.write(first)
	if err := d.Refresh(); err != nil || !d.Decided(12, trigger(1)) || d.Decided(12, trigger(2)) {
		t.Errorf("cut: %v", err)
	}
	if err := os.Remove(d.path()); err != nil {
		t.Fatal(err)
	}
	if err := d.Refresh(); err != nil || d.Decided(12, trigger(1)) {
		t.Errorf("removed: %v", err)
	}
	d.add(accepted(12, 1))
	if lines(d.text()) != 1 {
		t.Error(d.text())
	}
	if err := os.RemoveAll(d.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Append(accepted(12, 3)); err == nil {
		t.Error("a record in a directory that is not there")
	}
}

func TestANewerJournalIsRefusedAndLeftAlone(t *testing.T) {
	d := newDesk(t)
	d.add(accepted(12, 1))
	for _, newer := range []string{"{\"v\":2,\"kind\":{}}\n", `{"v":2,"type":"decided"}` + "\n{\"v\":1"} {
		text := d.text() + newer
		other := newDesk(t)
		other.write(text)
		j, err := journal.Open(other.dir, journal.Options{})
		if j != nil || !errors.Is(err, journal.ErrNewer) || !strings.Contains(err.Error(), other.path()+": line 2: ") {
			t.Errorf("%v, %v", j, err)
		}
		if other.text() != text {
			t.Errorf("it was written to: %q", other.text())
		}
		// The same, when the newer version comes while this one is at work.
		live := newDesk(t)
		live.add(accepted(12, 1))
		live.write(text)
		if _, err := live.Append(accepted(12, 3)); !errors.Is(err, journal.ErrNewer) {
			t.Errorf("append: %v", err)
		}
		if _, err := live.Compact(func(int, gate.Trigger) bool { return false }); !errors.Is(err, journal.ErrNewer) {
			t.Errorf("compact: %v", err)
		}
		if live.text() != text {
			t.Errorf("it was written to: %q", live.text())
		}
	}
}

func TestAJournalIsARegularFile(t *testing.T) {
	for name, lay := range map[string]func(path string) error{
		"a link":      func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "elsewhere"), path) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		d := newDesk(t)
		if err := lay(d.path()); err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Open(d.dir, journal.Options{}); err == nil {
			t.Errorf("%s was opened", name)
		}
		if _, err := d.Append(accepted(12, 1)); err == nil {
			t.Errorf("%s was written to", name)
		}
	}
}

func TestARecordThatNothingCouldReadIsNotWritten(t *testing.T) {
	d := newDesk(t)
	big := refused(12, 1)
	big.Reason = strings.Repeat("x", 70<<10)
	for _, r := range []journal.Record{
		big, accepted(0, 1), journal.Decided{Issue: 12}, journal.Started{Issue: 12, Trigger: trigger(1), Actor: -1}, journal.Told{Issue: 12, Trigger: gate.CLITrigger("")},
		command("", journal.Judged), command("comment/5", "flying"), journal.Command{Source: "comment/5", State: journal.Judged}, journal.Seen{},
	} {
		if fresh, err := d.Append(r); err == nil || fresh {
			t.Errorf("%.80v was written", r)
		}
	}
	if _, err := os.Stat(d.path()); err == nil {
		t.Errorf("%q", d.text())
	}
}

// A full disk loses nothing that was answered, and what was not answered can be tried again.
func TestGitHub80AFullDiskAtTheJournal(t *testing.T) {
	dir, c := t.TempDir(), &clock{noon}
	disk := powertest.New(dir)
	full := ""
	disk.Fault = func(call, path string) error {
		if call == full && filepath.Base(path) == journal.File {
			return syscall.ENOSPC
		}
		return nil
	}
	j, err := on(disk.Disk(), dir, c)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, full = range []string{"", "write", "", "sync", ""} {
		n++
		fresh, err := j.Append(accepted(12, n))
		if (err == nil) != (full == "") || fresh != (full == "") {
			t.Fatalf("%q: %t, %v", full, fresh, err)
		}
		for i := 1; i < n; i += 2 {
			if !j.Decided(12, trigger(i)) {
				t.Errorf("%q: trigger %d is lost", full, i)
			}
		}
		if known := j.Decided(12, trigger(n)); known != (full == "") {
			t.Errorf("%q: known %t", full, known)
		}
	}
	full = ""
	for _, n := range []int{2, 4} {
		if fresh, err := j.Append(accepted(12, n)); !fresh || err != nil {
			t.Errorf("trigger %d again: %t, %v", n, fresh, err)
		}
	}
	if next := open(t, dir, c); next.Damage().Count != 0 || !next.Decided(12, trigger(2)) || !next.Decided(12, trigger(5)) {
		t.Errorf("%+v", next.Damage())
	}
}

// What was done already is recorded when the disk takes it, however late that is.
func TestGitHub80ADecisionWaitsForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		disk := powertest.New(dir)
		var full atomic.Bool
		full.Store(true)
		disk.Fault = func(call, path string) error {
			if full.Load() && call == "write" && filepath.Base(path) == journal.File {
				return syscall.ENOSPC
			}
			return nil
		}
		j, err := journal.Open(dir, journal.Options{Disk: disk.Disk()})
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(slog.DiscardHandler)
		short, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := j.Insist(short, accepted(12, 1), log); !errors.Is(err, context.DeadlineExceeded) || j.Decided(12, trigger(1)) {
			t.Errorf("a full disk: %v", err)
		}
		time.AfterFunc(time.Hour, func() { full.Store(false) })
		begun := time.Now()
		if err := j.Insist(t.Context(), accepted(12, 1), log); err != nil || !j.Decided(12, trigger(1)) {
			t.Errorf("a disk that was mended: %v", err)
		}
		if late := time.Since(begun); late < time.Hour || late > time.Hour+time.Minute {
			t.Errorf("after %s", late)
		}
		if err := j.Insist(t.Context(), accepted(12, 1), log); err != nil {
			t.Errorf("once more: %v", err)
		}
	})
}

func FuzzJournal(f *testing.F) {
	d := newDesk(f)
	for _, r := range []journal.Record{refused(12, 1), started(12, 1, 9), journal.Told{Issue: 12, Trigger: trigger(1), Comment: 7}, command("comment/5", journal.Judged), journal.Seen{Issue: 12, Trigger: trigger(1)}} {
		d.add(r)
	}
	f.Add([]byte(d.text()))
	f.Add([]byte(d.text() + `{"v":1,"type":"decided","at":"`))
	f.Add([]byte("{\"v\":2}\n"))
	f.Add([]byte("\n\x00\n{\"v\":1,\"type\":\"weather\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newDesk(t)
		d.write(string(data))
		j, err := on(powertest.New(d.dir).Disk(), d.dir, d.clock) // which does not sync
		if err != nil {
			if !errors.Is(err, journal.ErrNewer) || d.text() != string(data) {
				t.Fatalf("%v; the file is %q", err, d.text())
			}
			return
		}
		known := j.Decided(99, trigger(9))
		fresh, err := j.Append(accepted(99, 9))
		if errors.Is(err, journal.ErrNewer) {
			return // the torn line was one of a newer version
		}
		if err != nil || fresh == known {
			t.Fatalf("known %t, fresh %t, %v", known, fresh, err)
		}
		if !strings.HasPrefix(d.text(), string(data)) {
			t.Fatalf("%q became %q", data, d.text())
		}
		was := fmt.Sprintf("%+v %+v %d", j.Owed(), j.Commands(12), j.Refusals(24*time.Hour))
		if _, err := j.Compact(func(int, gate.Trigger) bool { return true }); err != nil {
			t.Fatal(err)
		}
		d.reopen()
		if is := fmt.Sprintf("%+v %+v %d", d.Owed(), d.Commands(12), d.Refusals(24*time.Hour)); is != was || !d.Decided(99, trigger(9)) || d.Damage().Count != 0 {
			t.Fatalf("after compaction %s, before %s, %+v", is, was, d.Damage())
		}
	})
}
