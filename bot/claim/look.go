package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// listing is what the server had when it was asked last.
type listing struct {
	claims map[int]string // issue to commit
	hosts  map[HostID]string
	texts  map[string]Seen // what commits say, if they were read; its issue is not to be trusted

	begun, done int   // how many times it was asked; the last time that was answered
	err         error // of the last time
}

// fresh makes the listing younger than the call. Calls that wait for their turn meanwhile share
// one answer. With texts the commits of all claims are read, too.
func (d *Remote) fresh(ctx context.Context, texts bool) error {
	d.mu.Lock()
	wanted := d.list.begun + 1
	d.mu.Unlock()
	leave, err := d.enter(ctx)
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
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	refs, err := d.o.Repo.Refs(limited, d.o.Store, claimRefs+"*", hostRefs+"*")
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
	d.take(refs)
	d.sights.update(&d.list, began.running, d.clock.Running())
	lost := d.judge(began)
	d.mu.Unlock()
	for _, h := range lost {
		_ = d.read(ctx, d.claimAt(h.seen.Issue)) // only the name of the other host is wanted
		d.mu.Lock()
		h.lose()
		d.mu.Unlock()
	}
	return nil
}

// take makes the server's refs the listing. The caller has the lock.
func (d *Remote) take(refs []remote.Ref) {
	clear(d.list.claims)
	clear(d.list.hosts)
	used := map[string]bool{}
	for _, ref := range refs {
		if issue, isClaim := issueOf(ref.Name); isClaim {
			d.list.claims[issue] = ref.ID
			used[ref.ID] = true
		} else if name, isHost := strings.CutPrefix(ref.Name, hostRefs); isHost {
			if host, err := ParseHostID(name); err == nil {
				d.list.hosts[host] = ref.ID
			}
		}
	}
	d.beat.at = d.list.hosts[d.o.Host]
	for id := range d.list.texts {
		if !used[id] {
			delete(d.list.texts, id)
		}
	}
}

// judge confirms what is held and returns what is not ours any more. The caller has the lock.
func (d *Remote) judge(began instant) (lost []*remoteHeld) {
	for issue, h := range d.held {
		id := d.list.claims[issue]
		switch c, ours := d.made[issue][id]; {
		case ours:
			d.put(issue, id)
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
	var ids []string
	for _, id := range d.list.claims {
		ids = append(ids, id)
	}
	d.mu.Unlock()
	slices.Sort(ids)
	err := d.read(ctx, ids...)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sights.expect(&d.list, d.clock.Running())
	return err
}

// read reads commits of claims that were not read yet. One that the server does not give stays
// unread; it is an error if the server does not answer. The caller has the turn.
func (d *Remote) read(ctx context.Context, ids ...string) error {
	d.mu.Lock()
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool {
		_, known := d.list.texts[id]
		return known || id == ""
	})
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
	ctx, cancel := context.WithTimeout(ctx, callLimit/3)
	defer cancel()
	texts, err := d.o.Repo.Texts(ctx, d.o.Store, ids)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		s := Seen{ID: id}
		if text, there := texts[id]; there {
			s.Claim, s.Problem = ParseClaim(text)
		} else {
			s.Problem = errors.New("it is not a line of text")
		}
		if s.Problem == nil && s.Claim.RepoID != d.o.RepoID {
			s.Claim, s.Problem = Claim{}, fmt.Errorf("it is of the repository with the id %d", s.Claim.RepoID)
		}
		d.list.texts[id] = s
	}
	return nil
}
