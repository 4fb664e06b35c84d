package bot

import (
	"context"
	"sync"
	"time"
)

// met are the issues of a repository that may have changed. Each is judged by what is on GitHub
// and on disk then, one after the other; how often it was noticed meanwhile does not count.
type met struct {
	judge func(ctx context.Context, issue int) (again time.Duration)
	wake  chan struct{}

	mu      sync.Mutex
	due     map[int]time.Time // zero: now
	judging bool
}

func newMet(judge func(context.Context, int) time.Duration) *met {
	return &met{judge: judge, wake: make(chan struct{}, 1), due: map[int]time.Time{}}
}

// add has an issue judged at a time; the zero time means now.
func (m *met) add(issue int, at time.Time) {
	m.mu.Lock()
	if before, known := m.due[issue]; !known || at.Before(before) {
		m.due[issue] = at
	}
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// next takes an issue that is due, and says when the next one is if none is. ok is false then.
func (m *met) next(now time.Time) (issue int, wait time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wait = time.Hour
	for n, at := range m.due {
		if !at.After(now) {
			if !ok || n < issue {
				issue, ok = n, true
			}
			continue
		}
		wait = min(wait, at.Sub(now))
	}
	if m.judging = ok; ok {
		delete(m.due, issue)
	}
	return issue, wait, ok
}

// run judges until ctx ends.
func (m *met) run(ctx context.Context, now func() time.Time) {
	for ctx.Err() == nil {
		issue, wait, ok := m.next(now())
		if ok {
			if again := m.judge(ctx, issue); again > 0 {
				m.add(issue, now().Add(again))
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-m.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// idle reports whether no issue is judged, now or later.
func (m *met) idle() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.due) == 0 && !m.judging
}
