package report

import (
	"maps"
	"sync"
	"time"
)

// Counts are what happened since the start, and which repositories are not served. The zero value has none. It is safe for
// concurrent use.
type Counts struct {
	mu               sync.Mutex
	refused          map[string]int
	accepted, panics int
	phases           map[string]Span
	unserved         map[string]string
}

// Judge counts a request that a row of the gate refused or accepted; one that is neither is not counted.
func (c *Counts) Judge(row string, refused, accepted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if accepted {
		c.accepted++
	}
	if !refused {
		return
	}
	if c.refused == nil {
		c.refused = map[string]int{}
	}
	c.refused[row]++
}

// Serve notes why a repository is not served, in one line; empty: it is.
func (c *Counts) Serve(repo, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if why == "" {
		delete(c.unserved, repo)
		return
	}
	if c.unserved == nil {
		c.unserved = map[string]string{}
	}
	c.unserved[repo] = why
}

// Panic counts a panic.
func (c *Counts) Panic() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.panics++
}

// End counts a phase that ended, and how long it lasted.
func (c *Counts) End(phase string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phases == nil {
		c.phases = map[string]Span{}
	}
	c.phases[phase] = c.phases[phase].With(d)
}

// Into puts the counts into a report.
func (c *Counts) Into(r *Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Accepted, r.Panics = c.accepted, c.panics
	r.Refused, r.Phases, r.Unserved = maps.Clone(c.refused), maps.Clone(c.phases), maps.Clone(c.unserved)
}
