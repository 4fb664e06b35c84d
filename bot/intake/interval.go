package intake

import (
	"cmp"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

// MinInterval is the shortest time between two readings that no hook asked for.
const MinInterval = 5 * time.Second

const (
	fewRepositories = 20 // up to which auto is fewInterval
	fewInterval     = 15 * time.Second
	manyInterval    = time.Minute
	liveInterval    = 15 * time.Second // of comments in a repository with a live session
	syncInterval    = 30 * time.Minute
	maxInterval     = 30 * time.Minute
	maxSync         = 6 * time.Hour

	// ownReads is half of the reads a second that the transport sends.
	ownReads = 2.5
	// usable is the part of a rate that is planned with: the rest is for further pages, hooks
	// and the spread of the intervals.
	usable = 0.9
	// syncReads is what the full sync of a usual repository costs.
	syncReads = 4
)

// Load is what the discovery of one identity has to do.
type Load struct {
	Repositories int // that are polled
	Live         int // of them with a live session
	Pulls        int // of them with an open pull request of a session
	// Core is the quota of the server; the zero Quota is none.
	Core transport.Quota
	// Reads is how many reads a second discovery may send, 0 for half of what the transport sends.
	Reads float64
}

// Reason says why a Pace is slower than it was asked for.
type Reason string

const (
	ByLimit Reason = "request limit" // so many repositories need half of the transport's own limit
	ByQuota Reason = "quota"         // discovery has used most of its half of the server's quota
)

// Pace is how often what is read.
type Pace struct {
	Every    time.Duration // the lists of a repository
	Comments time.Duration // the comments of one with a live session
	Sync     time.Duration // everything
	Slow     Reason        // why Every is longer than asked for; empty: it is not
}

// Pace returns the pace for bot.poll_interval, 0 for auto. An interval that a person has set is
// kept to. Auto is stretched so that discovery stays within half of the limits.
//
// It counts every read of the transport's limit, but of the server's quota only those that were
// answered by something new, which cannot be known before. Once half of discovery's share is used,
// the rest is divided as if each read cost one. So the share lasts until the reset, and
// the interval shortens again while there is nothing new.
func (l Load) Pace(configured time.Duration, now time.Time) Pace {
	base := configured
	if configured == 0 {
		base = manyInterval
		if l.Repositories <= fewRepositories {
			base = fewInterval
		}
	}
	base = max(base, MinInterval)
	p := Pace{Every: base, Comments: min(liveInterval, base), Sync: syncInterval}
	rate, slow, most, mostSync := usable*cmp.Or(l.Reads, ownReads), ByLimit, maxInterval, maxSync
	if share := l.Core.Limit / 2; share > 0 && 2*l.Core.Discovery >= share && l.Core.Reset.After(now) {
		until := min(l.Core.Reset.Sub(now), time.Hour) // a clock that is behind makes it longer
		if left := float64(max(share-l.Core.Discovery, 0)) / until.Seconds(); left < rate {
			rate, slow = left, ByQuota // there is more after the reset
			most, mostSync = min(most, max(until, base)), max(until, syncInterval)
		}
	}
	if configured != 0 {
		return p
	}
	all, live := float64(l.Repositories), float64(l.Live)
	lists := 2*all + float64(l.Pulls)
	// No part gets so much that nothing is left for the ones behind it.
	p.Sync = within(syncInterval, mostSync, all*syncReads, rate/4)
	rate -= all * syncReads / p.Sync.Seconds()
	p.Comments = within(p.Comments, most, live, rate*3/4)
	rate -= live / p.Comments.Seconds()
	p.Every = within(base, most, lists-live, rate)
	if p.Every > base {
		p.Slow = slow
	}
	return p
}

// within returns the interval at which reads need no more than a rate, between least and most.
func within(least, most time.Duration, reads, rate float64) time.Duration {
	if reads <= 0 {
		return least
	}
	if rate <= reads/most.Seconds() {
		return most
	}
	return max(least, time.Duration(reads/rate*float64(time.Second)))
}
