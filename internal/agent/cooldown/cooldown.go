// Package cooldown keeps until when the services of providers refuse more, for every host of a
// machine: one that is refused spares the others the same answer.
//
// It writes one file for each login of a provider, <provider>-<account>.json in the directory
// cooldown of the state home: {"v":1,"provider","account","until","cause","noted","times","by"}. A file is
// replaced whole. Of two hosts that write at once the last one counts; both have heard the same.
//
// Promises: a file that cannot be understood, of another version, or from a time that has not come
// yet because the clock was set back, is no cool-down: the next launch costs one refusal, and that
// writes it again. No cool-down is longer than [Longest], because what names a longer one is a
// program that is not trusted; a service that refuses longer is asked again each time. Noting the
// same refusal twice is noting it once.
package cooldown

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
)

const (
	// Longest bounds a cool-down.
	Longest = 6 * time.Hour

	version = 1
	maxFile = 4 << 10
	// forgotten is how long after a cool-down a refusal counts as the first again.
	forgotten = time.Hour
	// kept is how long after it was written a file is kept; it is longer than any cool-down.
	kept = 24 * time.Hour
	// early is how far the clocks of a program and of the host may differ.
	early = 2 * time.Second
	// settled is how long after a refusal the answer to another launch may be to what that asked before.
	settled = 30 * time.Second
)

// Pauses are how long a service that names no time is left alone, by how often in a row it refused;
// the last one repeats.
func Pauses() []time.Duration {
	return []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute}
}

// Login is what a service refuses: an account at a provider.
type Login struct {
	Provider string
	Account  string // tells it from other logins of the provider
}

// file is the name of a login's file.
func (l Login) file() string { return l.Provider + "-" + l.Account + ".json" }

// nameForm is what a login's file may be called. Other names, as those of temporary files, are not read.
var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.json$`) })

// CoolDown is the time for which a service refuses more.
type CoolDown struct {
	Version  int       `json:"v"`
	Provider string    `json:"provider"`
	Account  string    `json:"account"`
	Until    time.Time `json:"until"`
	Cause    string    `json:"cause"` // "limit" or "outage"
	Noted    time.Time `json:"noted"` // when the service refused, or answered again
	Times    int       `json:"times"` // refusals in a row
	By       string    `json:"by"`    // who was refused last
}

// holds reports whether the service still refuses.
func (c CoolDown) holds(now time.Time) bool { return c.Until.After(now) }

// valid reports whether this version wrote c, by a clock that was not set back since.
func (c CoolDown) valid(now time.Time) bool {
	return c.Version == version && !c.Noted.After(now.Add(early)) && !c.Until.After(c.Noted.Add(Longest))
}

// String says it in words, without the account.
func (c CoolDown) String() string {
	what := "refuses more"
	if c.Cause == "outage" {
		what = "does not work"
	}
	return fmt.Sprintf("%s %s until about %s", c.Provider, what, c.Until.UTC().Format("15:04 UTC"))
}

// Dir is the directory of cool-downs. It need not exist.
type Dir string

// In returns the directory in a state home.
func In(stateHome string) Dir { return Dir(filepath.Join(stateHome, "cooldown")) }

// Of returns the cool-down of a login, and whether it has one.
func (d Dir) Of(l Login, now time.Time) (CoolDown, bool) {
	c, ok := d.read(l.file(), now)
	return c, ok && c.holds(now)
}

// Over reports whether the cool-down of a login that followed a refusal is over.
func (d Dir) Over(l Login, refused, now time.Time) bool {
	c, ok := d.read(l.file(), now)
	return ok && !c.Noted.Before(refused) && !c.holds(now)
}

// All returns the cool-downs that hold, in the order of their files.
func (d Dir) All(now time.Time) []CoolDown {
	var list []CoolDown
	entries, _ := os.ReadDir(string(d)) // a directory that cannot be read holds nobody up
	for _, e := range entries {
		if c, ok := d.read(e.Name(), now); ok && c.holds(now) {
			list = append(list, c)
		}
	}
	return list
}

// Left returns how long the services of providers still refuse more, by provider; the longest of its logins.
func (d Dir) Left(now time.Time) map[string]time.Duration {
	left := map[string]time.Duration{}
	for _, c := range d.All(now) {
		left[c.Provider] = max(left[c.Provider], c.Until.Sub(now))
	}
	return left
}

// read returns the file with a name, if this version can use it.
func (d Dir) read(name string, now time.Time) (CoolDown, bool) {
	if !nameForm().MatchString(name) {
		return CoolDown{}, false
	}
	var c CoolDown
	data, err := durable.ReadRegular(string(d), name, maxFile)
	if err != nil || json.Unmarshal(data, &c) != nil || !c.valid(now) {
		return CoolDown{}, false
	}
	return c, (Login{c.Provider, c.Account}).file() == name
}

// Refusal is what a host heard of a service.
type Refusal struct {
	Cause string    // "limit" or "outage"
	At    time.Time // when it refused
	Until time.Time // that it named; zero = none
	By    string    // who was refused: a launch, in words that no other has
}

// Note writes that a service refused. A cool-down that holds is not made shorter.
func (d Dir) Note(l Login, r Refusal, now time.Time) error {
	if r.At.After(now) {
		r.At = now
	}
	old, known := d.read(l.file(), now)
	if known && !r.At.After(old.Noted) {
		return nil
	}
	c := CoolDown{Version: version, Provider: l.Provider, Account: l.Account, Cause: r.Cause, Noted: r.At.UTC(), Times: 1, By: r.By}
	holds := known && old.holds(r.At)
	switch {
	case holds: // several launches hear the same
		c.Times, c.Until = old.Times, latest(old.Until, r.Until)
	case known && r.At.Sub(old.Until) < forgotten:
		c.Times = old.Times + 1
	}
	if named := r.Until.After(r.At); named && !holds {
		c.Until = r.Until
	} else if !holds {
		c.Until = r.At.Add(pause(c.Times))
	}
	if most := r.At.Add(Longest); c.Until.After(most) {
		c.Until = most
	}
	if c.Until = c.Until.UTC(); !c.holds(now) {
		return nil // it was over before it was heard of
	}
	d.sweep(now)
	return d.write(l, c)
}

// pause is how long a service is left alone that has refused so often.
func pause(times int) time.Duration {
	p := Pauses()
	return p[min(max(times, 1), len(p))-1]
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Answered ends the cool-down of a login whose service has answered somebody at a time after its refusal.
func (d Dir) Answered(l Login, by string, at, now time.Time) error {
	c, ok := d.Of(l, now)
	if !ok || at.After(now.Add(early)) || !at.After(c.Noted) || by != c.By && at.Sub(c.Noted) < settled {
		return nil
	}
	// The file stays, so that a refusal from before is not noted again.
	c.Until, c.Noted, c.Times = at.UTC(), at.UTC(), 0
	return d.write(l, c)
}

func (d Dir) write(l Login, c CoolDown) error {
	data, err := json.Marshal(c)
	if err == nil && !nameForm().MatchString(l.file()) {
		err = fmt.Errorf("%q is not a name of a file", l.file())
	}
	if err == nil {
		err = durable.MkdirAll(string(d))
	}
	if err == nil {
		err = durable.Replace(filepath.Join(string(d), l.file()), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("note the cool-down of %s: %w", l.Provider, err)
	}
	return nil
}

// sweep removes files whose cool-down is long over, also those of a login that was replaced. What
// cannot be removed is tried again with the next refusal.
func (d Dir) sweep(now time.Time) {
	old := now.Add(-kept)
	_, _ = durable.RemoveTemps(string(d), old)
	entries, _ := os.ReadDir(string(d))
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && nameForm().MatchString(e.Name()) && info.ModTime().Before(old) {
			_ = os.Remove(filepath.Join(string(d), e.Name()))
		}
	}
}
