package claim

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// pushTries bounds how often a push is repeated that neither moved its refs nor lost them.
const pushTries = 5

// swap is a change of one claim by compare-and-swap.
type swap struct {
	issue    int
	old, new string // commits; old is empty where there must be no claim, new to remove it
	take     bool   // a claim that was removed meanwhile is taken, too
	beat     bool   // a beat of ours goes along
	leave    bool   // our last beat is removed with it
}

// push carries a swap out. It returns where the claim is at the end, s.new if the swap was made,
// and the moment before the push that made it; the zero instant if that is not known. After an
// error the place of the claim is not known.
func (d *Remote) push(ctx context.Context, s swap) (at string, start instant, err error) {
	for range pushTries {
		if err := d.pace.Wait(ctx, Claiming); err != nil {
			return "", start, err
		}
		var again bool
		if at, again, start, err = d.pushOnce(ctx, &s); !again {
			return at, start, err
		}
	}
	return "", start, fmt.Errorf("gave up after %d pushes: %w", pushTries, err)
}

// pushOnce makes one push and settles what it did. again is true if it did nothing and may do
// better next time; s is then as it should be.
func (d *Remote) pushOnce(ctx context.Context, s *swap) (at string, again bool, start instant, err error) {
	leave, err := d.server.enter(ctx)
	if err != nil {
		return "", false, start, err
	}
	defer leave()
	updates, err := d.updates(ctx, s)
	if err != nil {
		return "", false, start, err
	}
	start = d.clock.instant()
	results, err := d.server.push(ctx, remote.PushSpec{Updates: updates, Atomic: true})
	if err == nil {
		d.moved(s, updates, start)
		return s.new, false, start, nil
	}
	start, sent := instant{}, start
	if final := refusal(err, results); final != nil {
		return "", false, start, final
	}
	if unsettled := d.settle(ctx, updates, results); unsettled != nil {
		return "", false, start, errors.Join(err, unsettled)
	}
	at, ours := d.claimAt(s.issue)
	switch {
	case at == s.new && d.arrived(updates):
		d.moved(s, updates, sent)
		return at, false, sent, nil
	case at == s.new: // by an earlier push, with its own beat
		return at, false, start, nil
	case at == s.old:
		return "", passes(err), start, err
	case at == "" && s.take, ours:
		s.old = at
		return "", true, start, err
	}
	// Of the holder only its name is wanted: without it the claim is no less theirs.
	_ = d.read(ctx, at)
	return at, false, start, nil
}

// updates are the refs of a swap: first the claim, then the beat that goes with it.
func (d *Remote) updates(ctx context.Context, s *swap) ([]remote.RefUpdate, error) {
	list := []remote.RefUpdate{{Ref: claimRef(s.issue), New: s.new, Old: s.old}}
	d.mu.Lock()
	last := d.beat.at
	d.mu.Unlock()
	switch {
	case s.beat:
		id, err := d.writeBeat(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, remote.RefUpdate{Ref: hostRef(d.o.Host), New: id, Old: last})
	case s.leave && last != "":
		list = append(list, remote.RefUpdate{Ref: hostRef(d.o.Host), Old: last})
	}
	return list, nil
}

// moved notes that all refs of a swap are where it wanted them.
func (d *Remote) moved(s *swap, updates []remote.RefUpdate, start instant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list.put(s.issue, s.new)
	if len(updates) > 1 {
		d.landed(updates[1].New, start)
	}
}

// arrived reports whether the beat of a push is where it wanted it, as far as it has one.
func (d *Remote) arrived(updates []remote.RefUpdate) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(updates) == 1 || d.beat.at == updates[1].New
}

// settle learns where the refs of a push are that was refused or not answered. The refusal tells
// if it came from a comparison; else the server is asked.
func (d *Remote) settle(ctx context.Context, updates []remote.RefUpdate, results []*remote.PushError) error {
	known := len(results) == len(updates)
	for _, r := range results {
		known = known && r != nil && r.Now != nil
	}
	if !known {
		return d.look(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, u := range updates {
		if issue, isClaim := issueOf(u.Ref); isClaim {
			d.list.put(issue, *results[i].Now)
		} else {
			d.beat.found(*results[i].Now)
		}
	}
	return nil
}

// refusal is the error of a push that the server will not take later either; nil if only the
// place of a ref or the network was in the way.
func refusal(err error, results []*remote.PushError) error {
	var whole *remote.PushError
	if !errors.As(err, &whole) {
		return nil
	}
	for _, r := range append(results, whole) {
		if r == nil {
			continue
		}
		switch r.Kind {
		case remote.PushHidden, remote.PushRule, remote.PushHook:
			return &RefusedError{Text: r.Text}
		case remote.PushDenied, remote.PushSecret, remote.PushWorkflows:
			return r
		}
	}
	return nil
}

// Denied reports whether a claim failed because the account may not write to the repository.
func Denied(err error) bool {
	var push *remote.PushError
	return errors.As(err, &push) && push.Kind == remote.PushDenied
}

// passes reports whether a push that moved nothing may be made again at once.
func passes(err error) bool {
	var push *remote.PushError
	return errors.As(err, &push) && (push.Kind == remote.PushStale || push.Kind == remote.PushNetwork)
}

// claimAt is where the claim of an issue is, and whether it is one of ours.
func (d *Remote) claimAt(issue int) (id string, ours bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id = d.list.claims[issue]
	return id, d.list.isMade(issue, id)
}
