package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// sightsFile is beside the objects of a store: since when each checkpoint on the server is known to be
// what it is now. A checkpoint is fetched for no other purpose than to continue its session, so its own
// time is not known here.
const sightsFile = "agentmux-checkpoints.json"

// maxRemovals bounds the refs of one push.
const maxRemovals = 100

type sight struct {
	ID    string    `json:"id"`
	Since time.Time `json:"since"`
}

// Removing says which checkpoints to remove from the server.
type Removing struct {
	From remote.Repository
	Keep time.Duration       // how long one stays that does not change; 0 = for ever
	Held func(s string) bool // whether a session of this name on the server is claimed: its checkpoint stays
	Now  time.Time
}

// RemoveOld removes the checkpoints that have not changed since they were first seen from this store
// longer than r.Keep ago, and returns the names of their sessions. One that is pushed meanwhile stays.
func RemoveOld(ctx context.Context, store *gitrepo.Store, r Removing) ([]string, error) {
	if r.Keep == 0 {
		return nil, nil
	}
	prefix := gitrepo.CheckpointRef("")
	refs, err := r.From.Refs(ctx, store, prefix+"*")
	if err != nil {
		return nil, err
	}
	known, err := readSights(store)
	if err != nil {
		return nil, err
	}
	seen, old := map[string]sight{}, []remote.RefUpdate{}
	for _, ref := range refs {
		session, found := strings.CutPrefix(ref.Name, prefix)
		if !found {
			continue
		}
		now := known[session]
		if now.ID != ref.ID || r.Held(session) {
			now = sight{ref.ID, r.Now}
		}
		seen[session] = now
		if r.Now.Sub(now.Since) > r.Keep && len(old) < maxRemovals {
			old = append(old, remote.RefUpdate{Ref: ref.Name, Old: ref.ID})
		}
	}
	if err := writeSights(store, seen); err != nil || len(old) == 0 {
		return nil, err
	}
	results, err := r.From.Push(ctx, store, remote.PushSpec{Updates: old})
	var gone []string
	for i, problem := range results {
		if problem == nil {
			gone = append(gone, strings.TrimPrefix(old[i].Ref, prefix))
		}
	}
	if err != nil {
		return gone, fmt.Errorf("remove old checkpoints: %w", err)
	}
	return gone, nil
}

// Remove removes the checkpoint of a session from the server if it is still the one that was pushed last.
func Remove(ctx context.Context, store *gitrepo.Store, from remote.Repository, session, last string) error {
	ref := gitrepo.CheckpointRef(session)
	refs, err := from.Refs(ctx, store, ref)
	if err != nil || len(refs) == 0 || refs[0].ID != last {
		return err
	}
	_, err = from.Push(ctx, store, remote.PushSpec{Updates: []remote.RefUpdate{{Ref: ref, Old: last}}})
	return err
}

func readSights(store *gitrepo.Store) (map[string]sight, error) {
	known := map[string]sight{}
	data, err := os.ReadFile(filepath.Join(store.Dir(), sightsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(data, &known) != nil {
		return map[string]sight{}, nil // they all count from now on
	}
	return known, nil
}

func writeSights(store *gitrepo.Store, seen map[string]sight) error {
	data, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(store.Dir(), sightsFile), data)
}
