package claim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// beating is what is known of this host's own beats.
type beating struct {
	number int
	at     string          // where the server has it; empty if it has none, or was not asked yet
	landed instant         // before the push of the last one that arrived
	mine   map[string]bool // those made since then, and that one
	twin   bool            // the server had one that this process did not make

	tried           time.Duration // when Beat was called last
	failed          bool          // and how it ended
	arrived, missed int           // how many beats, see Beats
}

// found notes where the server has the beat. What was there before the first one of this process
// was made by an earlier one of the same id.
func (b *beating) found(at string) {
	b.at = at
	b.twin = b.twin || at != "" && !b.mine[at] && b.landed != instant{}
}

// Beat tells all hosts that this one lives, unless a claim has just done so, and learns which
// claims are still held. A job has no beat and only asks. ErrTwin if another process beats with
// the same id.
func (d *Remote) Beat(ctx context.Context) error {
	err := d.beatNow(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.beat.tried, d.beat.failed = d.clock.Running(), err != nil && !errors.Is(err, ErrTwin)
	if d.beat.failed {
		d.beat.missed++
	}
	return err
}

// Beats returns how many beats of this process reached the server, and how often Beat failed.
func (d *Remote) Beats() (arrived, missed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.beat.arrived, d.beat.missed
}

func (d *Remote) beatNow(ctx context.Context) error {
	if d.o.Host.beats() {
		d.mu.Lock()
		due := d.clock.age(d.beat.landed) >= beatEvery/2
		d.mu.Unlock()
		if due {
			if err := d.pushBeat(ctx); err != nil {
				return fmt.Errorf("beat: %w", err)
			}
		}
	}
	if err := d.fresh(ctx, false); err != nil {
		return fmt.Errorf("read claims back: %w", err)
	}
	if err := d.renew(ctx); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.beat.twin {
		d.beat.twin = false
		return ErrTwin
	}
	return nil
}

// pushBeat pushes a beat alone.
func (d *Remote) pushBeat(ctx context.Context) (err error) {
	for range pushTries {
		urgency := Low
		d.mu.Lock()
		if len(d.held) > 0 && d.clock.age(d.beat.landed) >= beatLate {
			urgency = Urgent // before the claims count as silent
		}
		d.mu.Unlock()
		if err := d.pace.Wait(ctx, urgency); err != nil {
			return err
		}
		var again bool
		if again, err = d.pushBeatOnce(ctx); !again {
			return err
		}
	}
	return err
}

func (d *Remote) pushBeatOnce(ctx context.Context) (again bool, err error) {
	leave, err := d.server.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	id, err := d.writeBeat(ctx)
	if err != nil {
		return false, err
	}
	d.mu.Lock()
	update := remote.RefUpdate{Ref: hostRef(d.o.Host), New: id, Old: d.beat.at}
	d.mu.Unlock()
	start := d.clock.instant()
	results, err := d.server.push(ctx, remote.PushSpec{Updates: []remote.RefUpdate{update}})
	if err != nil {
		if final := refusal(err, results); final != nil {
			return false, final
		}
		if unsettled := d.settle(ctx, []remote.RefUpdate{update}, results); unsettled != nil {
			return false, errors.Join(err, unsettled)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && d.beat.at != id {
		return passes(err), err
	}
	d.landed(id, start)
	return false, nil
}

// writeBeat makes the commit of the next beat, without a parent: nothing of a beat is kept.
func (d *Remote) writeBeat(ctx context.Context) (string, error) {
	now := d.clock.Now()
	d.mu.Lock()
	d.beat.number++
	b := beat{Host: d.o.Host, Beat: d.beat.number, Sessions: []string{}, At: now}
	for _, issue := range slices.Sorted(maps.Keys(d.held)) {
		b.Sessions = append(b.Sessions, d.held[issue].seen.Claim.Session)
	}
	d.mu.Unlock()
	if d.o.Free != nil {
		b.Free = d.o.Free()
	}
	text, err := b.text()
	if err != nil {
		return "", err
	}
	id, err := remote.WriteRecord(ctx, d.o.Store, text, "", now)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.beat.mine[id] = true
	return id, nil
}

// landed notes a beat that arrived; id is empty for one that was removed. After a silence all
// claims are doubted. The caller has the lock.
func (d *Remote) landed(id string, start instant) {
	if d.beat.at = id; id == "" {
		return
	}
	d.beat.arrived++
	if d.beat.landed.until(start) > guardLimit {
		for _, h := range d.held {
			h.doubted = true
		}
	}
	d.beat.landed, d.beat.mine = start, map[string]bool{id: true}
}

// renew swaps the claims that are doubted for new ones, in one push: a host that is about to take
// one of them cannot do so afterwards. Those that wait in a queue may be taken at any time anyway.
func (d *Remote) renew(ctx context.Context) error {
	list, updates, err := d.renewals(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	if err := d.pace.Wait(ctx, Claiming); err != nil {
		return err
	}
	leave, err := d.server.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	start := d.clock.instant()
	results, err := d.server.push(ctx, remote.PushSpec{Updates: updates})
	if err != nil {
		err = fmt.Errorf("renew claims: %w", err)
	}
	d.mu.Lock()
	for i, h := range list {
		if results != nil && results[i] == nil && h.seen.ID == updates[i].Old {
			d.list.put(h.issue, updates[i].New)
			h.swapped(Seen{Issue: h.issue, ID: updates[i].New, Claim: d.list.made[h.issue][updates[i].New]}, start)
		}
	}
	d.mu.Unlock()
	if err == nil || refusal(err, results) != nil {
		return err
	}
	return errors.Join(err, d.look(ctx)) // some may be lost
}

// renewals writes the commits of the claims that are to be renewed.
func (d *Remote) renewals(ctx context.Context) (list []*remoteHeld, updates []remote.RefUpdate, err error) {
	d.mu.Lock()
	for _, issue := range slices.Sorted(maps.Keys(d.held)) {
		if h := d.held[issue]; h.doubted && !h.ending && !h.unsure && h.seen.Claim.State == Running && d.o.Host.beats() {
			list = append(list, h)
			updates = append(updates, remote.RefUpdate{Ref: claimRef(issue), Old: h.seen.ID})
		}
	}
	d.mu.Unlock()
	for i, h := range list {
		c := h.Seen().Claim
		c.At = d.clock.Now()
		if updates[i].New, err = d.write(ctx, c, ""); err != nil {
			return nil, nil, fmt.Errorf("renew claims: %w", err)
		}
	}
	return list, updates, nil
}

// Run beats every two minutes while a claim is held, and sooner after a beat that failed. The log
// tells that beats fail once in ten minutes.
func (d *Remote) Run(ctx context.Context) error {
	told := time.Duration(-1)
	for {
		d.mu.Lock()
		wait, changed := d.untilBeat(), d.changed
		d.mu.Unlock()
		var due <-chan time.Time
		if wait >= 0 {
			due = d.clock.After(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			continue
		case <-due:
		}
		switch err := d.Beat(ctx); {
		case err == nil:
			told = -1
		case ctx.Err() == nil && (told < 0 || d.clock.Running()-told >= tellEvery):
			told = d.clock.Running()
			d.o.Log.Warn("a beat failed", "err", err)
		}
	}
}

// untilBeat is how long it is to the next beat, -1 while nothing is held. The caller has the lock.
func (d *Remote) untilBeat() time.Duration {
	if len(d.held) == 0 {
		return -1
	}
	last, every := max(d.beat.tried, d.beat.landed.running), beatEvery
	if d.beat.failed {
		every = beatAgain
	}
	if last == 0 {
		return 0
	}
	return max(0, last+every-d.clock.Running())
}
