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
// time is asked for, and only for one that was not noted before, as on a runner that is thrown away.
const sightsFile = "agentmux-checkpoints.json"

// maxRemovals bounds the refs of one push, and maxAsked the requests for times of one look.
const maxRemovals, maxAsked = 100, 20

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
	// GitHub is asked when a checkpoint was made that is seen for the first time; nil: it counts from now on.
	GitHub interface {
		Read(ctx context.Context, path string, out any) error
	}
	Repo string // owner/name, at GitHub
}

// mayBeOld reports whether it is worth asking when a checkpoint was made: it is younger than its session, and that of a claimed one
// counts from now on.
func (r Removing) mayBeOld(session string) bool {
	began, ok := began(session)
	return ok && r.GitHub != nil && r.Now.Sub(began) > r.Keep && !r.Held(session)
}

// made returns when a checkpoint was made, by the clock of its host, or now if that is not known. Who may push there may write any
// time into it, and might as well remove it.
func (r Removing) made(ctx context.Context, commit string) time.Time {
	var read struct {
		Commit struct {
			Committer struct {
				Date time.Time `json:"date"`
			} `json:"committer"`
		} `json:"commit"`
	}
	err := r.GitHub.Read(ctx, fmt.Sprintf("repos/%s/commits/%s?per_page=1", r.Repo, commit), &read)
	if at := read.Commit.Committer.Date; err == nil && !at.IsZero() && at.Before(r.Now) {
		return at
	}
	return r.Now
}

// began reads when a session was made from its name on the server, which begins with it: 20261121-100431-issue-12-... The name does not
// say in which location, so it may be off by most of a day.
func began(session string) (at time.Time, ok bool) {
	const form = "20060102-150405"
	at, err := time.Parse(form, session[:min(len(form), len(session))])
	return at, err == nil
}

// RemoveOld removes the checkpoints that have not changed for longer than r.Keep: since they were first seen from
// this store, or since they were made where that was the first look. It returns the names of their sessions. One that is pushed meanwhile stays.
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
	seen, old, asked := map[string]sight{}, []remote.RefUpdate{}, 0
	for _, ref := range refs {
		session, found := strings.CutPrefix(ref.Name, prefix)
		if !found {
			continue
		}
		now, noted := known[session]
		if now.ID != ref.ID || r.Held(session) {
			now = sight{ref.ID, r.Now}
		}
		if !noted && asked < maxAsked && r.mayBeOld(session) {
			asked++
			now.Since = r.made(ctx, ref.ID)
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
