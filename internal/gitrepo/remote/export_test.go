package remote

import (
	"slices"
	"time"
)

// WithPauses is r with reads that wait n times d between their tries.
func (r Repository) WithPauses(d time.Duration, n int) Repository {
	r.pauses = slices.Repeat([]time.Duration{d}, n)
	return r
}
