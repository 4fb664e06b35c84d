package claim

import (
	"context"
	"path/filepath"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// callLimit bounds one call to the server: all others of the desk wait for it.
const callLimit = time.Minute

// OpenStore opens the bare repository from which all desks below a state home push. It holds
// nothing but the commits of claims and beats, and no ref: those of a project may be large, and
// git looks through all of it for each push. Its Collect removes what is older than a day.
func OpenStore(ctx context.Context, stateHome string) (*gitrepo.Store, error) {
	return gitrepo.Open(ctx, filepath.Join(stateHome, "claims.git"))
}

// server is where the refs are. Its methods but enter are called by who has the turn.
type server struct {
	repo  remote.Repository
	store *gitrepo.Store
	turn  chan struct{} // holds one value while no call is made
}

func newServer(repo remote.Repository, store *gitrepo.Store) server {
	s := server{repo: repo, store: store, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// enter waits for the turn to speak with the server: one call at a time, so that what one of
// them saw is never older than what another one changed.
func (s server) enter(ctx context.Context) (leave func(), err error) {
	select {
	case <-s.turn:
		return func() { s.turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// refs lists all claims and beats.
func (s server) refs(ctx context.Context) ([]remote.Ref, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return s.repo.Refs(ctx, s.store, claimRefs+"*", hostRefs+"*")
}

// texts reads what commits say.
func (s server) texts(ctx context.Context, ids []string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit/3)
	defer cancel()
	return s.repo.Texts(ctx, s.store, ids)
}

// push is one push.
func (s server) push(ctx context.Context, spec remote.PushSpec) ([]*remote.PushError, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	results, err := s.repo.Push(ctx, s.store, spec)
	crash.Point("claims pushed", "")
	return results, err
}
