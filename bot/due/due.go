// Package due keeps the numbers of issues or pull requests that have to be looked at, and when. It is
// used by the bot, once for each repository and kind. One is looked at after the other; how often a
// number was added meanwhile does not count, and one that is added while it is looked at is looked at
// again. It stores nothing.
package due

import (
	"context"
	"maps"
	"sync"
	"time"
)

// The pauses after an error.
const (
	TryPause = 15 * time.Second // GitHub did not answer
	maxPause = 5 * time.Minute
)

// After is until the next try after an error, of which it is known whether it passes, and after what wait at the earliest.
// What GitHub refuses for good is tried seldom: each try costs requests, and a person has to change something.
func After(wait time.Duration, passes bool) time.Duration {
	if !passes {
		return maxPause
	}
	return max(wait, TryPause)
}

// Set is safe for concurrent use.
type Set struct {
	look func(ctx context.Context, number int) (again time.Duration)
	wake chan struct{}

	mu      sync.Mutex
	due     map[int]time.Time // zero: now
	refused map[int]error     // of those that are due
	looking bool
}

// New returns an empty set. look returns after how long to look at the number again, 0 for not.
func New(look func(context.Context, int) time.Duration) *Set {
	return &Set{look: look, wake: make(chan struct{}, 1), due: map[int]time.Time{}, refused: map[int]error{}}
}

// Add has a number looked at at a time; the zero time means now.
func (s *Set) Add(number int, at time.Time) {
	s.mu.Lock()
	delete(s.refused, number)
	s.mu.Unlock()
	s.add(number, at)
}

func (s *Set) add(number int, at time.Time) {
	s.mu.Lock()
	if before, known := s.due[number]; !known || at.Before(before) {
		s.due[number] = at
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Failed says that the look at a number failed, and returns after how long to look again, as After does. later tells
// whether the error passes, and after what wait at the earliest.
func (s *Set) Failed(number int, err error, later func(error) (time.Duration, bool)) (again time.Duration) {
	wait, passes := later(err)
	if !passes {
		s.mu.Lock()
		s.refused[number] = err
		s.mu.Unlock()
	}
	return After(wait, passes)
}

// Refused are the numbers whose last look failed with an error that does not pass, while they wait for the next.
func (s *Set) Refused() map[int]error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.refused)
}

// Hurry has a number looked at now, if it is to be looked at later.
func (s *Set) Hurry(number int) {
	s.mu.Lock()
	_, known := s.due[number]
	s.mu.Unlock()
	if known {
		s.Add(number, time.Time{})
	}
}

// next takes a number that is due, and says when the next one is if none is. ok is false then.
func (s *Set) next(now time.Time) (number int, wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait = time.Hour
	for n, at := range s.due {
		if !at.After(now) {
			if !ok || n < number {
				number, ok = n, true
			}
			continue
		}
		wait = min(wait, at.Sub(now))
	}
	if s.looking = ok; ok {
		delete(s.due, number)
		delete(s.refused, number)
	}
	return number, wait, ok
}

// Run looks at what is due until ctx ends.
func (s *Set) Run(ctx context.Context, now func() time.Time) {
	defer func() {
		s.mu.Lock()
		s.looking = false
		s.mu.Unlock()
	}()
	for ctx.Err() == nil {
		number, wait, ok := s.next(now())
		if ok {
			if again := s.look(ctx, number); again > 0 {
				s.add(number, now().Add(again))
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Idle reports whether nothing is looked at, now or later, but for what was refused.
func (s *Set) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.due) == len(s.refused) && !s.looking
}
