package claim

import (
	"context"
	"fmt"
	"sync"
)

// remoteHeld is a claim of a Remote. Its fields are guarded by the lock of the desk.
type remoteHeld struct {
	desk     *Remote
	issue    int
	changing sync.Mutex // held by Mark and Release

	seen Seen
	// good is a moment at which others saw the host live while the claim was known to be ours
	// afterwards. Until good plus silentAfter no other host can have taken it, unless it is
	// doubted: then the host was silent before that beat, and one that saw the silence may be
	// about to take the claim.
	good    instant
	doubted bool
	unsure  bool // a change was pushed whose end is not known
	ending  bool // released or handed over, or tried to
	err     *LostError
	lost    chan struct{}
}

func (h *remoteHeld) Seen() Seen {
	h.desk.mu.Lock()
	defer h.desk.mu.Unlock()
	return h.seen
}

func (h *remoteHeld) Lost() <-chan struct{} { return h.lost }

func (h *remoteHeld) Holder() string {
	h.desk.mu.Lock()
	defer h.desk.mu.Unlock()
	return h.err.holder()
}

var _ Shared = (*remoteHeld)(nil)

// Pass is described at Shared.
func (h *remoteHeld) Pass(ctx context.Context, last bool) (bool, error) {
	if !last {
		return h.desk.pace.Spare(), nil
	}
	err := h.desk.pace.Wait(ctx, Normal)
	return err == nil, err
}

func (h *remoteHeld) Check(ctx context.Context) error {
	h.desk.mu.Lock()
	err, known := h.end(), h.covered()
	h.desk.mu.Unlock()
	if err != nil || known {
		return err
	}
	return h.Reread(ctx)
}

// Reread is described at Shared.
func (h *remoteHeld) Reread(ctx context.Context) error {
	if err := h.desk.fresh(ctx, false); err != nil {
		return fmt.Errorf("check the claim of issue %d: %w", h.issue, err)
	}
	h.desk.mu.Lock()
	defer h.desk.mu.Unlock()
	return h.end()
}

// covered reports whether no other host can have taken the claim. The caller has the lock.
func (h *remoteHeld) covered() bool {
	return h.seen.Claim.State == Running && !h.unsure && h.desk.clock.age(h.good) <= guardLimit
}

// end is why the claim is not held any more; nil while it is. The caller has the lock.
func (h *remoteHeld) end() error {
	switch {
	case h.err != nil:
		return h.err
	case h.ending || h.seen.Claim.State == Handover:
		return ErrReleased
	}
	return nil
}

// confirm notes that the server has the claim as ours, when it was asked at began. The caller
// has the lock.
func (h *remoteHeld) confirm(now Seen, began instant) {
	h.seen, h.unsure = now, false
	switch d := h.desk; {
	case !d.o.Host.beats():
		h.good = began
	case !h.doubted:
		h.good = d.beat.landed
	}
}

// lose ends the claim as one of another host. The caller has the lock.
func (h *remoteHeld) lose() {
	if h.err != nil {
		return
	}
	now, _ := h.desk.list.seen(h.issue)
	h.err = &LostError{Issue: h.issue, Host: now.Claim.Host}
	close(h.lost)
	h.drop()
}

// drop forgets the claim. The caller has the lock.
func (h *remoteHeld) drop() {
	if h.desk.held[h.issue] == h {
		delete(h.desk.held, h.issue)
		delete(h.desk.list.made, h.issue)
		h.desk.wake()
	}
}

func (h *remoteHeld) Mark(ctx context.Context, to State) error {
	h.changing.Lock()
	defer h.changing.Unlock()
	d := h.desk
	d.mu.Lock()
	c, old, err := h.seen.Claim, h.seen.ID, h.end()
	switch {
	case to == Handover && h.err == nil:
		// The push may arrive long after this process gave it up.
		h.ending, err = true, nil
		if d.held[c.Issue] != h { // handed over before, or released
			d.mu.Unlock()
			return nil
		}
	case err == nil && (c.State != Queued || to != Running):
		err = fmt.Errorf("mark the claim of issue %d: it is %s and cannot become %s", c.Issue, c.State, to)
	}
	h.unsure = err == nil
	d.mu.Unlock()
	if err != nil {
		return err
	}
	c.State, c.At = to, d.clock.Now()
	id, err := d.write(ctx, c, "")
	if err != nil {
		return fmt.Errorf("mark the claim of issue %d: %w", c.Issue, err)
	}
	at, start, err := d.push(ctx, swap{issue: c.Issue, old: old, new: id})
	if err != nil {
		return fmt.Errorf("mark the claim of issue %d: %w", c.Issue, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if at != id {
		h.lose()
		return h.err
	}
	h.swapped(Seen{Issue: c.Issue, ID: id, Claim: c}, start)
	if to == Handover {
		h.drop()
	}
	return nil
}

// swapped notes a compare-and-swap of the claim: a host that was about to take it cannot any more.
// The caller has the lock.
func (h *remoteHeld) swapped(now Seen, start instant) {
	h.doubted = false
	h.confirm(now, start)
}

func (h *remoteHeld) Release(ctx context.Context) error {
	h.changing.Lock()
	defer h.changing.Unlock()
	d := h.desk
	d.mu.Lock()
	issue, old, lost := h.issue, h.seen.ID, h.err
	held := d.held[issue] == h
	leave := d.o.OneSession && len(d.held) == 1
	h.ending = true
	d.mu.Unlock()
	switch {
	case lost != nil:
		return lost
	case !held: // released before, or handed over
		return nil
	}
	at, _, err := d.push(ctx, swap{issue: issue, old: old, leave: leave})
	if err != nil {
		return fmt.Errorf("release issue %d: %w", issue, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if at != "" {
		h.lose()
		return h.err
	}
	h.drop()
	return nil
}
