package cooldown_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent/cooldown"
)

var (
	noon  = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	login = cooldown.Login{Provider: "claude", Account: "0123456789ab"}
)

func in(t *testing.T) cooldown.Dir { t.Helper(); return cooldown.In(t.TempDir()) }

// note notes a refusal at the moment it is heard of.
func note(t *testing.T, d cooldown.Dir, at, until time.Time) {
	t.Helper()
	if err := d.Note(login, cooldown.Refusal{Cause: "limit", At: at, Until: until}, at); err != nil {
		t.Fatal(err)
	}
}

// left is how long the login cools down from a time on.
func left(d cooldown.Dir, now time.Time) time.Duration {
	c, ok := d.Of(login, now)
	if !ok {
		return 0
	}
	return c.Until.Sub(now)
}

func TestAServiceIsLeftAloneLongerEachTime(t *testing.T) {
	d := in(t)
	now := noon
	for i, want := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
		note(t, d, now, time.Time{})
		if got := left(d, now); got != want {
			t.Errorf("refusal %d: %s, want %s", i+1, got, want)
		}
		if got := left(d, now.Add(want)); got != 0 {
			t.Errorf("refusal %d: %s are left at its end", i+1, got)
		}
		now = now.Add(want)
	}
	if note(t, d, now.Add(2*time.Hour), time.Time{}); left(d, now.Add(2*time.Hour)) != time.Minute {
		t.Error("a refusal of hours ago counts")
	}
}

func TestANamedTimeCounts(t *testing.T) {
	d := in(t)
	note(t, d, noon, noon.Add(3*time.Hour))
	if got := left(d, noon); got != 3*time.Hour {
		t.Errorf("%s", got)
	}
	note(t, d, noon.Add(time.Second), noon.Add(time.Hour)) // another launch, with less
	note(t, d, noon.Add(2*time.Second), time.Time{})
	if got := left(d, noon); got != 3*time.Hour {
		t.Errorf("made shorter: %s", got)
	}
	note(t, d, noon.Add(3*time.Second), noon.Add(100*24*time.Hour))
	if got := left(d, noon.Add(3*time.Second)); got != cooldown.Longest {
		t.Errorf("not bounded: %s", got)
	}
}

func TestARefusalIsNotedOnce(t *testing.T) {
	d := in(t)
	note(t, d, noon, time.Time{})
	for _, now := range []time.Time{noon.Add(time.Second), noon.Add(2 * time.Minute)} {
		if err := d.Note(login, cooldown.Refusal{Cause: "limit", At: noon}, now); err != nil {
			t.Fatal(err)
		}
	}
	if got := left(d, noon.Add(2*time.Minute)); got != 0 {
		t.Errorf("the same refusal again: %s", got)
	}
	other := in(t) // a host that hears of it an hour later
	if err := other.Note(login, cooldown.Refusal{Cause: "limit", At: noon}, noon.Add(time.Hour)); err != nil || len(other.All(noon.Add(time.Hour))) != 0 {
		t.Errorf("%v, %v", err, other.All(noon.Add(time.Hour)))
	}
}

func TestAnAnswerEndsACoolDown(t *testing.T) {
	d := in(t)
	note(t, d, noon, noon.Add(3*time.Hour))
	if now := noon.Add(time.Minute); d.Over(login, noon, now) || !d.Over(login, noon, noon.Add(3*time.Hour)) || d.Over(login, noon.Add(time.Second), noon.Add(3*time.Hour)) {
		t.Error("not over at its end, or before")
	}
	answered := func(after time.Duration) time.Duration {
		t.Helper()
		now := noon.Add(after)
		if err := d.Answered(login, "another", now, now); err != nil {
			t.Fatal(err)
		}
		return left(d, now)
	}
	if answered(time.Second) == 0 {
		t.Error("an answer to what was asked before the refusal ended it")
	}
	if answered(time.Minute) != 0 {
		t.Error("an answer did not end it")
	}
	if !d.Over(login, noon, noon.Add(2*time.Minute)) || in(t).Over(login, noon, noon.Add(2*time.Minute)) {
		t.Error("whether it is over is not told")
	}
	if err := d.Note(login, cooldown.Refusal{Cause: "limit", At: noon, Until: noon.Add(3 * time.Hour)}, noon.Add(2*time.Minute)); err != nil || left(d, noon.Add(2*time.Minute)) != 0 {
		t.Errorf("the refusal from before the answer is back, %v", err)
	}
	if err := errors.Join(d.Note(login, cooldown.Refusal{Cause: "limit", At: noon.Add(2 * time.Minute), By: "me"}, noon.Add(2*time.Minute)), d.Answered(login, "me", noon.Add(121*time.Second), noon.Add(121*time.Second))); err != nil || left(d, noon.Add(121*time.Second)) != 0 {
		t.Errorf("who was refused is answered, and it is not over, %v", err)
	}
	if note(t, d, noon.Add(3*time.Minute), time.Time{}); left(d, noon.Add(3*time.Minute)) != time.Minute {
		t.Error("after an answer the next refusal is not the first")
	}
}

func TestLoginsCoolDownByThemselves(t *testing.T) {
	d := in(t)
	note(t, d, noon, time.Time{})
	for _, other := range []cooldown.Login{{"claude", "ba9876543210"}, {"codex", "0123456789ab"}} {
		if _, ok := d.Of(other, noon); ok {
			t.Errorf("%+v cools down, too", other)
		}
	}
	if all := d.All(noon); len(all) != 1 || all[0].Provider != "claude" || all[0].String() != "claude refuses more until about 12:01 UTC" {
		t.Errorf("%v", all)
	}
	if left := d.Left(noon.Add(20 * time.Second)); len(left) != 1 || left["claude"] != 40*time.Second {
		t.Errorf("%v", left)
	}
	if all := d.All(noon.Add(time.Minute)); len(all) != 0 {
		t.Errorf("over: %v", all)
	}
	for _, bad := range []string{"../claude", "", ".x", strings.Repeat("x", 300)} {
		if err := d.Note(cooldown.Login{Provider: bad, Account: "a"}, cooldown.Refusal{At: noon}, noon); bad != "" && err == nil {
			t.Errorf("%q was written", bad)
		}
	}
}

// What lies in the place of a file keeps no launch from starting, and the next refusal is noted all the same.
func TestFilesThatCannotBeUsed(t *testing.T) {
	content := func(s string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(s), 0o600) }
	}
	good := `{"v":1,"provider":"claude","account":"0123456789ab","until":"2026-05-01T13:00:00Z","cause":"limit","noted":"2026-05-01T12:00:00Z","times":1}`
	for name, make := range map[string]func(path string) error{
		"empty":         content(""),
		"torn":          content(good[:len(good)/2]),
		"garbage":       content("\x00\xff{"),
		"a list":        content("[" + good + "]"),
		"newer":         content(strings.Replace(good, `"v":1`, `"v":2`, 1)),
		"of another":    content(strings.Replace(good, "claude", "codex", 1)),
		"too long":      content(strings.Replace(good, "2026-05-01T13", "2027-05-01T13", 1)),
		"of the future": content(strings.NewReplacer("T12", "T15", "T13", "T16").Replace(good)), // the clock was set back
		"huge":          content(good + strings.Repeat(" ", 1<<20)),
		"a link": func(path string) error {
			target := filepath.Join(filepath.Dir(path), "target.json")
			return errors.Join(os.WriteFile(target, []byte(good), 0o600), os.Symlink(target, path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := in(t)
			path := filepath.Join(string(d), "claude-0123456789ab.json")
			if err := errors.Join(os.MkdirAll(string(d), 0o700), make(path)); err != nil {
				t.Fatal(err)
			}
			now := noon.Add(time.Minute)
			if c, ok := d.Of(login, now); ok || len(d.All(now)) != 0 {
				t.Fatalf("a cool-down: %+v", c)
			}
			if note(t, d, now, time.Time{}); left(d, now) != time.Minute {
				t.Error("the next refusal was not noted")
			}
		})
	}
	d := in(t)
	if err := errors.Join(os.MkdirAll(string(d), 0o700), content(good)(filepath.Join(string(d), "claude-0123456789ab.json"))); err != nil {
		t.Fatal(err)
	}
	if left(d, noon) != time.Hour {
		t.Error("the good file holds nothing")
	}
}

func TestNoFileStaysForEver(t *testing.T) {
	d := in(t)
	note(t, d, noon, time.Time{})
	path := filepath.Join(string(d), "claude-0123456789ab.json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	foreign := filepath.Join(string(d), "README")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, foreign} {
		if err := os.Chtimes(p, noon, noon); err != nil {
			t.Fatal(err)
		}
	}
	now := noon.Add(25 * time.Hour)
	if err := d.Note(cooldown.Login{Provider: "codex", Account: "a"}, cooldown.Refusal{Cause: "outage", At: now}, now); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the old file: %v", err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a file of others: %v", err)
	}
	if all := d.All(now); len(all) != 1 || all[0].String() != "codex does not work until about 13:01 UTC" {
		t.Errorf("%v", all)
	}
}

// Hosts that write at once leave one whole file.
func TestHostsWriteAtOnce(t *testing.T) {
	d := in(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			at := noon.Add(time.Duration(i) * time.Millisecond)
			if err := d.Note(login, cooldown.Refusal{Cause: "limit", At: at}, at); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := left(d, noon); got < time.Minute || got > time.Minute+time.Second {
		t.Errorf("%s", got)
	}
	if entries, err := os.ReadDir(string(d)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestNamedTimes(t *testing.T) {
	for words, want := range map[string]time.Duration{
		"":                               0,
		"API Error: 429 rate_limit":      0,
		"rate_limit resets the counter":  0,
		"try again in 30 months":         0,
		"Please try again later.":        0,
		"usage limit reached|1777640400": time.Hour,
		"usage limit reached|1777636800": 0, // is over
		"You've hit your usage limit. Try again in 2 hours 5 minutes.": 125 * time.Minute,
		"try again in 3 days, 4 hours and 5 minutes":                   76*time.Hour + 5*time.Minute,
		"Please retry in 34.5s.":                                       34500 * time.Millisecond,
		"Rate limit reached. Please try again in 6m0s":                 6 * time.Minute,
		"try again in 250ms":                                           250 * time.Millisecond,
		`429 {"retry-after": 30}`:                                      30 * time.Second,
		"You've hit your limit · resets 3pm (UTC)":                     3 * time.Hour,
		"resets 11am (UTC)":                                            23 * time.Hour,
		"resets 12pm":                                                  24 * time.Hour,
		"resets 12:30pm":                                               30 * time.Minute,
		"try again at 3:05 PM":                                         3*time.Hour + 5*time.Minute,
		"resets 3pm (Europe/Berlin)":                                   time.Hour,
		"resets 3pm (Nowhere/Town)":                                    0,
		"resets 13pm":                                                  0,
		"resets 3:75pm":                                                0,
	} {
		got := time.Duration(0)
		if until := cooldown.Named(words, noon); !until.IsZero() {
			got = until.Sub(noon)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}

func FuzzNamed(f *testing.F) {
	for _, s := range []string{"try again in 2 hours", "limit reached|1777640400", "resets 3pm (UTC)", "retry-after: 9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, words string) {
		if until := cooldown.Named(words, noon); !until.IsZero() && until.Before(noon) {
			t.Error(until)
		}
	})
}
