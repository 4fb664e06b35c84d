// Package round tells when a run of the bot that serves once is over, and what it could not do since the server
// refuses it for good. It is called by the bot, which says how each repository does. It stores nothing.
package round

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

// ErrServed says that everything was served.
var ErrServed = errors.New("everything was served")

// pause is between two looks.
const pause = 200 * time.Millisecond

// Part is a repository of the run.
type Part struct {
	Repo string
	Read bool  // its lists were read whole, or a sweep finds what they would show
	Err  error // why they were not read the last time
	Sets []Set
	Idle bool // its commands were judged, and nothing is owed to them
}

// Set has the issues, or the pull requests, that are looked at. Refused are those of which only a person can change
// why that fails, and it is idle with nothing but them.
type Set interface {
	Idle() bool
	Refused() map[int]error
}

// Wait returns when all that may be done was done. The error is ErrServed, or names what the server refused; it is that
// of ctx if that ended before. look returns every repository, and whether anything else is at work.
func Wait(ctx context.Context, look func() (parts []Part, busy bool)) error {
	for transport.Wait(ctx, pause) {
		if parts, busy := look(); !busy && !slices.ContainsFunc(parts, Part.busy) {
			return over(parts)
		}
	}
	return ctx.Err()
}

func (p Part) busy() bool {
	return !p.Idle || !p.Read && !p.refused() || slices.ContainsFunc(p.Sets, func(s Set) bool { return !s.Idle() })
}

// refused reports whether the lists cannot be read until a person changes something.
func (p Part) refused() bool {
	_, passes := transport.Later(p.Err)
	return p.Err != nil && !passes
}

func over(parts []Part) error {
	var refused []error
	for _, p := range parts {
		if !p.Read {
			refused = append(refused, fmt.Errorf("%s is not served: %w", p.Repo, p.Err))
		}
		for _, s := range p.Sets {
			all := s.Refused()
			for _, n := range slices.Sorted(maps.Keys(all)) {
				refused = append(refused, fmt.Errorf("%s#%d is not served: %w", p.Repo, n, all[n]))
			}
		}
	}
	if refused == nil {
		return ErrServed
	}
	return errors.Join(refused...)
}
