package intake

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// maxPages bounds how far a list is followed; what is behind that is left to a full sync.
const maxPages = 10

// A list is what a poller knows of one of the lists of its repository.
type list struct {
	memory
	tag transport.Validator // of its first page
}

// reading is how a list with entries of one type is read and handed on.
type reading[T any] struct {
	page  func(ctx context.Context, page int) (entries []T, more bool, err error)
	sight func(T) (int64, sight)
	found func(context.Context, []T) error
}

// read reads a list, changed last first, and hands on what is new or changed. A page without an
// entry that was seen as it is leads to the next one, but not on the first reading: that shows
// what changed last, and the full sync the rest. far tells that there was more than is read.
//
// What was seen is noted after all was handed on. An error in between brings all of it again.
//
// found tells that something is new since another reading: on the first one everything is.
func (r reading[T]) read(ctx context.Context, l *list) (found, far bool, err error) {
	fresh, first := map[int64]sight{}, !l.memory.read
	for page := 1; ; page++ {
		at := ctx
		if page == 1 {
			at = l.tag.Context(ctx)
		}
		entries, more, err := r.page(at, page)
		if err != nil {
			return false, false, err
		}
		if page == 1 && l.tag.Unchanged() {
			return false, false, nil
		}
		var changed []T
		for _, e := range entries {
			if id, now := r.sight(e); l.isNew(id, now) {
				fresh[id] = now
				changed = append(changed, e)
			}
		}
		if len(changed) > 0 {
			if err := r.found(ctx, changed); err != nil {
				return false, false, err
			}
		}
		if all := len(changed) == len(entries); !more || !all || first || page == maxPages {
			far = more && all && !first
			break
		}
	}
	l.keep(fresh)
	l.tag.Keep()
	return len(fresh) > 0 && !first, far, nil
}

// readIssues hands on the issues that are new or changed.
func (p *Poller) readIssues(ctx context.Context) (found, far bool, err error) {
	r := reading[ghsync.Issue]{
		page: func(ctx context.Context, n int) ([]ghsync.Issue, bool, error) {
			return p.in.RecentIssues(ctx, p.repo, n)
		},
		sight: issueSight,
		found: func(ctx context.Context, all []ghsync.Issue) error {
			if err := p.follow(ctx, all); err != nil {
				return err
			}
			return p.hand(ctx, Changes{Issues: all, Candidates: p.candidates(all)})
		},
	}
	return r.read(ctx, &p.lists[issues])
}

// readComments hands on the comments that are new or changed.
func (p *Poller) readComments(ctx context.Context) (found, far bool, err error) {
	r := reading[ghsync.IssueComment]{
		page: func(ctx context.Context, n int) ([]ghsync.IssueComment, bool, error) {
			return p.in.RecentComments(ctx, p.repo, n)
		},
		sight: commentSight,
		found: func(ctx context.Context, all []ghsync.IssueComment) error {
			return p.hand(ctx, Changes{Comments: all})
		},
	}
	return r.read(ctx, &p.lists[comments])
}

// listedPulls is how many open pull requests the list has at most.
const listedPulls = 50

// behind reports whether a pull request that a list has no more may still be open, behind its end: as
// many as the list has changed since.
func (l *list) behind(open []ghsync.OpenPull, number int) bool {
	known, ok := l.seen[int64(number)]
	return len(open) >= listedPulls && (!ok || !slices.ContainsFunc(open, func(p ghsync.OpenPull) bool { return p.UpdatedAt.Before(known.updated) }))
}

// readPulls hands on the open pull requests that are new or changed, and which are closed. The list
// is one page: what falls off its end is one on which nothing happens, and may be closed unseen.
func (p *Poller) readPulls(ctx context.Context) (found, far bool, err error) {
	l, former := &p.lists[pulls], p.open
	open, err := p.in.OpenPulls(l.tag.Context(ctx), p.repo)
	if err != nil || l.tag.Unchanged() {
		return false, false, err
	}
	fresh, numbers, c, first := map[int64]sight{}, []int{}, Changes{Whole: len(open) < listedPulls}, !l.memory.read
	for _, pull := range open {
		numbers = append(numbers, pull.Number)
		if id, now := pullSight(pull); l.isNew(id, now) {
			fresh[id] = now
			c.Pulls = append(c.Pulls, pull)
		}
	}
	for _, n := range former {
		switch {
		case slices.Contains(numbers, n):
		case !l.behind(open, n):
			c.Left = append(c.Left, n)
		case len(numbers) < maxMemory:
			numbers = append(numbers, n)
		}
	}
	if len(c.Pulls)+len(c.Left) > 0 || first {
		found = !first
		if err := p.hand(ctx, c); err != nil {
			return false, false, err
		}
	}
	l.keep(fresh)
	l.tag.Keep()
	p.open = numbers
	return found, false, nil
}

func (p *Poller) candidates(all []ghsync.Issue) []Candidate {
	var found []Candidate
	for _, issue := range all {
		if c, ok := candidate(p.o.Client.Host(), p.o.RepoID, p.o.Label, issue, p.repo); ok {
			found = append(found, c)
		}
	}
	return found
}

// hand gives what was read to the owner.
func (p *Poller) hand(ctx context.Context, c Changes) error {
	c.Repo, c.RepoID = p.repo, p.o.RepoID
	if err := p.o.Found(ctx, c); err != nil {
		return fmt.Errorf("take in changes of %s: %w", p.repo, err)
	}
	return nil
}
