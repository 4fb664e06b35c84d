package claim

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// fresh makes the listing younger than the call. Calls that wait for their turn meanwhile share
// one answer. With texts the commits of all claims are read, too.
func (d *Remote) fresh(ctx context.Context, texts bool) error {
	d.mu.Lock()
	wanted := d.list.begun + 1
	d.mu.Unlock()
	leave, err := d.server.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	d.mu.Lock()
	answered, err := d.list.done >= wanted, d.list.err
	d.mu.Unlock()
	if !answered {
		err = d.look(ctx)
	}
	if err != nil || !texts {
		return err
	}
	return d.readAll(ctx)
}

// look asks the server for all claims and beats and judges what is held. The caller has the turn.
func (d *Remote) look(ctx context.Context) error {
	d.mu.Lock()
	d.list.begun++
	number := d.list.begun
	d.mu.Unlock()
	began := d.clock.instant()
	refs, err := d.server.refs(ctx)
	d.mu.Lock()
	if err != nil {
		if ctx.Err() == nil { // else others ask for themselves
			d.list.done, d.list.err = number, err
			d.sights.missed()
		}
		d.mu.Unlock()
		return err
	}
	d.list.done, d.list.err = number, nil
	d.list.replace(refs)
	d.beat.found(d.list.hosts[d.o.Host])
	d.sights.update(&d.list, began.running, d.clock.Running())
	lost := d.judge(began)
	d.mu.Unlock()
	for _, h := range lost {
		if err := d.server.repo.Confirm(ctx); err != nil { // another one was listed, which has its name
			return err
		}
		at, _ := d.claimAt(h.issue)
		_ = d.read(ctx, at) // only the name of the other host is wanted
		d.mu.Lock()
		h.lose()
		d.mu.Unlock()
	}
	return nil
}

// judge confirms what is held and returns what is not ours any more. The caller has the lock.
func (d *Remote) judge(began instant) (lost []*remoteHeld) {
	for issue, h := range d.held {
		id := d.list.claims[issue]
		switch c, ours := d.list.made[issue][id]; {
		case ours:
			d.list.put(issue, id)
			h.confirm(Seen{Issue: issue, ID: id, Claim: c}, began)
			if c.State == Handover {
				h.drop()
			}
		case id == "" && h.ending:
			h.drop()
		default:
			lost = append(lost, h)
		}
	}
	return lost
}

// readAll reads the commits of all claims that were not read yet. The caller has the turn.
func (d *Remote) readAll(ctx context.Context) error {
	d.mu.Lock()
	ids := slices.Collect(maps.Values(d.list.claims))
	d.mu.Unlock()
	slices.Sort(ids)
	err := d.read(ctx, ids...)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sights.expect(&d.list, d.clock.Running())
	if d.o.Memory != nil {
		d.o.Memory.keep(d.sights.hosts, d.clock.Running())
	}
	return err
}

// read reads commits of claims that were not read yet. One that the server does not give stays
// unread; it is an error if the server does not answer. The caller has the turn.
func (d *Remote) read(ctx context.Context, ids ...string) error {
	d.mu.Lock()
	ids = d.list.unread(ids)
	d.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	if err := d.readNow(ctx, ids); err == nil || !answered(ctx, err) {
		return err
	}
	// One of them may be gone by now, or be something that is too large to fetch.
	for _, id := range ids {
		if err := d.readNow(ctx, []string{id}); err != nil && !answered(ctx, err) {
			return err
		}
	}
	return nil
}

// answered reports whether an error of a read was about what was asked for.
func answered(ctx context.Context, err error) bool {
	var read *remote.ReadError
	return ctx.Err() == nil && !(errors.As(err, &read) && read.Kind == remote.PushNetwork)
}

func (d *Remote) readNow(ctx context.Context, ids []string) error {
	texts, err := d.server.texts(ctx, ids)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list.read(ids, texts)
	return nil
}
