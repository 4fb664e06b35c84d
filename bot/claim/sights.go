package claim

import "time"

const (
	silentAfter = 10 * time.Minute
	waitedAfter = time.Minute
)

// sights is what this process saw of others, and for how long, by its own monotonic clock.
type sights struct {
	hosts  map[HostID]sight
	claims map[int]sight
	looked bool          // the server answered at least once,
	last   time.Duration // last when it was asked at this moment,
	gap    bool          // and not when it was asked since
}

// sight is a commit that a ref was seen at, the first and the last time.
type sight struct {
	id          string // empty: there was no ref yet
	first, last time.Duration
	changed     bool // there was another one before: of a host a sign of life
}

// length is for how long the same was seen.
func (s sight) length() time.Duration { return s.last - s.first }

func newSights() sights {
	return sights{hosts: map[HostID]sight{}, claims: map[int]sight{}}
}

// missed notes that the server did not answer.
func (s *sights) missed() { s.gap = true }

// update takes a listing that was asked for at began and answered at ended.
func (s *sights) update(l *listing, began, ended time.Duration) {
	if s.gap && s.looked {
		// While the server did not answer us, other hosts may have tried to beat in vain.
		away := began - s.last
		shift(s.hosts, away)
		shift(s.claims, away)
	}
	before := s.looked
	s.gap, s.looked, s.last = false, true, began
	for host, old := range s.hosts {
		s.hosts[host] = old.next(l.hosts[host], began, ended)
	}
	for host, id := range l.hosts {
		if _, known := s.hosts[host]; !known {
			s.hosts[host] = sight{id, ended, ended, before}
		}
	}
	for issue := range s.claims {
		if l.claims[issue] == "" {
			delete(s.claims, issue)
		}
	}
	for issue, id := range l.claims {
		s.claims[issue] = s.claims[issue].next(id, began, ended)
	}
}

// next is the sight after one more look. The removal of a beat is not a sign of life.
func (s sight) next(id string, began, ended time.Duration) sight {
	if id != "" && id != s.id {
		return sight{id, ended, ended, true}
	}
	s.last = max(s.last, began)
	return s
}

// shift moves sights by a time in which nothing was seen.
func shift[K comparable](of map[K]sight, by time.Duration) {
	for k, s := range of {
		of[k] = sight{s.id, s.first + by, s.last + by, s.changed}
	}
}

// expect begins to wait for the beats of hosts that have a claim and no beat, and forgets hosts
// that have neither. The texts of the claims were read.
func (s *sights) expect(l *listing, now time.Duration) {
	claimed := map[HostID]bool{}
	for _, id := range l.claims {
		host := l.texts[id].Claim.Host
		claimed[host] = true
		if _, known := s.hosts[host]; !known && host != "" {
			s.hosts[host] = sight{"", now, now, false}
		}
	}
	for host := range s.hosts {
		if l.hosts[host] == "" && !claimed[host] {
			delete(s.hosts, host)
		}
	}
}
