package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// Away has the checkpoints of a session pushed to the server. Its fields are set before the first
// push, and one push is made at a time.
type Away struct {
	Host string // id of this host
	Last string // the commit that it pushed last; empty for none
	// Pass reports whether one push may be made. For the last one of a session it waits until it may.
	Pass func(ctx context.Context, last bool) (bool, error)
	// Reread asks the server for the claim when the checkpoint there is of another host, which then may have that, too;
	// its error is why the claim is not held. May be nil.
	Reread func(ctx context.Context) error
	// Note is told of each commit that was pushed, before the next one is.
	Note func(commit string) error

	seen inspection
}

// OtherHostError says that the checkpoint on the server is of another host.
type OtherHostError struct {
	Session, Host string
	ID            string // of its commit
}

func (e *OtherHostError) Error() string {
	return fmt.Sprintf("the checkpoint of %s on the server is of host %s", e.Session, e.Host)
}

// pushTries bounds how often a push follows a ref that is not where it was pushed to last.
const pushTries = 3

// Pushing is one checkpoint to push.
type Pushing struct {
	To      remote.Repository
	Session string // its name on the server
	Commit  string // of the store
	Final   bool   // the session has ended: no later one follows
	Stopped bool   // by a person, of whom little time is taken
	Guard   func(context.Context) error
}

// ErrBusy says that the pace of the repository has no room now.
var ErrBusy = errors.New("other pushes to the repository come first")

// A push, with its wait for others, takes no longer than pushTime, and stopTime if the session was
// stopped: a later checkpoint makes up for it.
const (
	pushTime = 90 * time.Second
	stopTime = 2 * time.Second
)

// Push moves the session's ref on the server to its checkpoint.
// The error is ErrBusy if it is not the last one of the session and has to wait, that of the guard, which is
// asked right before each try, or *OtherHostError if the ref is at a checkpoint of another host. The last one of a session is
// tried again behind an error that may pass: without it another machine has the session as it was before its end.
func (a *Away) Push(ctx context.Context, store *gitrepo.Store, p Pushing) error {
	limit := pushTime
	if p.Stopped {
		limit = stopTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for again := 0; ; again++ {
		err := a.push(ctx, store, p)
		if !p.Final || again == len(pauses) || !passes(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pauses[again]):
		}
	}
}

// pauses are those between the tries of the last push of a session.
var pauses = []time.Duration{time.Second, 4 * time.Second, 15 * time.Second}

// passes reports whether a push failed for what may be over soon, and not by a refusal.
func passes(err error) bool {
	var push *remote.PushError
	var read *remote.ReadError
	return errors.As(err, new(*movedError)) || errors.As(err, &push) && (push.Kind == remote.PushNetwork || push.Kind == remote.PushOther) ||
		errors.As(err, &read) && read.Kind == remote.PushNetwork
}

// movedError says that a ref was elsewhere at each try.
type movedError struct{ ref string }

func (e *movedError) Error() string {
	return fmt.Sprintf("push the checkpoint: %s moved %d times meanwhile", e.ref, pushTries)
}

// push follows a ref that is not where it was pushed to last.
func (a *Away) push(ctx context.Context, store *gitrepo.Store, p Pushing) error {
	ref, old := gitrepo.CheckpointRef(p.Session), a.Last
	for range pushTries {
		if pass, err := a.Pass(ctx, p.Final); err != nil {
			return err
		} else if !pass {
			return ErrBusy
		}
		if err := p.Guard(ctx); err != nil {
			return err
		}
		crash.Point("push checkpoint", "")
		_, err := p.To.Push(ctx, store, remote.PushSpec{Updates: []remote.RefUpdate{{Ref: ref, New: p.Commit, Old: old}}})
		if err == nil {
			crash.Point("pushed checkpoint", "")
			a.Last = p.Commit
			return a.Note(p.Commit)
		}
		var push *remote.PushError
		if !errors.As(err, &push) || push.Kind != remote.PushStale {
			return err
		}
		if old, err = a.there(ctx, store, p.To, p.Session); err != nil {
			if a.Reread != nil && errors.As(err, new(*OtherHostError)) {
				return errors.Join(a.Reread(ctx), err)
			}
			return err
		}
	}
	return &movedError{ref}
}

// Newer returns an *OtherHostError if the ref of a session is at a checkpoint of another host.
func (a *Away) Newer(ctx context.Context, store *gitrepo.Store, from remote.Repository, session string) error {
	refs, err := from.Refs(ctx, store, gitrepo.CheckpointRef(session))
	if err != nil || len(refs) == 0 || refs[0].ID == a.Last {
		return err
	}
	if err := from.Fetch(ctx, store, "+"+refs[0].ID+":"+gitrepo.FetchedRef(session)); err != nil {
		return err
	}
	_, err = a.ours(ctx, store, session, refs[0].ID)
	return err
}

// there is where the session's ref is on the server, if it may be moved from there: it was removed,
// or this host pushed it and was killed before it noted that.
func (a *Away) there(ctx context.Context, store *gitrepo.Store, from remote.Repository, session string) (string, error) {
	refs, err := from.Refs(ctx, store, gitrepo.CheckpointRef(session))
	if err != nil || len(refs) == 0 {
		return "", err
	}
	return a.ours(ctx, store, session, refs[0].ID)
}

// ours returns the commit of a checkpoint that this host made, else an *OtherHostError.
func (a *Away) ours(ctx context.Context, store *gitrepo.Store, session, id string) (string, error) {
	other := &OtherHostError{Session: session, Host: "unknown", ID: id}
	m, err := ManifestOf(ctx, store, id)
	// One that cannot be read was not made here.
	if err != nil || m.Host != a.Host || m.Session != session {
		if m.Host != "" {
			other.Host = m.Host
		}
		return "", other
	}
	return id, nil
}

// Names lists the sessions that have a checkpoint on the server, by their names there.
func Names(ctx context.Context, store *gitrepo.Store, from remote.Repository) ([]string, error) {
	refs, err := from.Refs(ctx, store, gitrepo.CheckpointRef("*"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range refs {
		names = append(names, strings.TrimPrefix(r.Name, gitrepo.CheckpointRef("")))
	}
	return names, nil
}
