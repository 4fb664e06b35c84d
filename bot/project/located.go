package project

import (
	"context"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// Found is where a clone is and who its commits are made for, on its way to another part of
// the process or to another process. Origin and User may hold a password: it goes through a
// pipe, never into a file, an argument or the environment.
type Found struct {
	Root   string            `json:"root"`
	Origin string            `json:"origin,omitempty"`
	User   remote.UserConfig `json:"user"`
}

// Found returns what was found of the project's clone; nil without one.
func (p *Project) Found() *Found {
	if p.Managed {
		return nil
	}
	return &Found{Root: p.Clone.Root, Origin: p.Clone.Origin, User: p.User}
}

// Located remembers for a moment where clones are, so that a process that starts many sessions
// of one clone asks git once.
type Located struct {
	mu     sync.Mutex
	clones map[string]location // by directory
	user   remote.UserConfig
	userAt time.Time
	stores map[string]*gitrepo.Store // the first one of each directory
}

// share has the stores of one directory know the same of its packs.
func (l *Located) share(store *gitrepo.Store) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := l.stores[store.Dir()]; first != nil {
		store.Share(first)
		return
	}
	if l.stores == nil {
		l.stores = map[string]*gitrepo.Store{}
	}
	l.stores[store.Dir()] = store
}

type location struct {
	clone clone.Clone
	at    time.Time
}

// locatedTime is short, because people change the address of origin.
const locatedTime = 10 * time.Second

func (l *Located) find(ctx context.Context, dir string) (clone.Clone, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.clones[dir]; ok && time.Since(p.at) < locatedTime {
		return p.clone, nil
	}
	clone, err := clone.Locate(ctx, dir)
	if err != nil {
		return clone, err
	}
	l.note(dir, clone)
	return clone, nil
}

// person returns the identity that commits are made for.
func (l *Located) person(ctx context.Context) (remote.UserConfig, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.userAt.IsZero() && time.Since(l.userAt) < locatedTime {
		return l.user, nil
	}
	user, err := remote.ReadUserConfig(ctx)
	if err == nil {
		l.user, l.userAt = user, time.Now()
	}
	return user, err
}

// Know has the next Reopen of the project in dir take what was found of its clone before, and
// not ask git.
func (l *Located) Know(dir string, f Found) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(dir, clone.Clone{Root: f.Root, Origin: f.Origin})
	l.user, l.userAt = f.User, time.Now()
}

// note keeps a clone; the caller holds mu.
func (l *Located) note(dir string, clone clone.Clone) {
	if l.clones == nil {
		l.clones = map[string]location{}
	}
	l.clones[dir] = location{clone, time.Now()}
}
