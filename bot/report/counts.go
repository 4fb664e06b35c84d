package report

import (
	"maps"
	"sync"
	"time"
)

// Counts are what happened since the start. The zero value has none. It is safe for concurrent use.
type Counts struct {
	mu               sync.Mutex
	refused          map[string]int
	accepted, panics int
	phases           map[string]Span
}

// Refuse counts a request that a row of the gate refused.
func (c *Counts) Refuse(row string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = map[string]int{}
	}
	c.refused[row]++
}

// Accept counts a request that was accepted.
func (c *Counts) Accept() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accepted++
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
	r.Refused, r.Phases = maps.Clone(c.refused), maps.Clone(c.phases)
}
