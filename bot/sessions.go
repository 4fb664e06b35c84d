package bot

import (
	"maps"
	"slices"
	"sync"

	"github.com/agentmux/agentmux/bot/follow"
	"github.com/agentmux/agentmux/bot/intake"
)

// sessions are those of a repository that the bot knows of: the newest of each issue, and older
// ones once a command has woken them.
type sessions struct {
	mu      sync.Mutex
	byIssue map[int]*hosted
	older   map[string]*hosted // by directory
	pulls   follow.Pulls
}

func newSessions() *sessions {
	return &sessions{byIssue: map[int]*hosted{}, older: map[string]*hosted{}}
}

// of returns the session of an issue; nil without one.
func (s *sessions) of(issue int) *hosted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byIssue[issue]
}

// add makes a session the newest of its issue, and returns the one that is.
func (s *sessions) add(h *hosted) *hosted {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byIssue[h.issue]; known != nil && (known.dir == h.dir || known.began.After(h.began)) {
		return known
	}
	s.byIssue[h.issue] = h
	return h
}

// addOlder is add for a session that need not be the newest, and returns that session.
func (s *sessions) addOlder(h *hosted) *hosted {
	if newest := s.add(h); newest.dir == h.dir {
		return newest
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.older[h.dir] == nil {
		s.older[h.dir] = h
	}
	return s.older[h.dir]
}

// forget forgets sessions that were removed, by their directories.
func (s *sessions) forget(dirs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byIssue, func(_ int, h *hosted) bool { return slices.Contains(dirs, h.dir) })
	maps.DeleteFunc(s.older, func(dir string, _ *hosted) bool { return slices.Contains(dirs, dir) })
}

func (s *sessions) all() []*hosted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byIssue))
}

// ofPull returns the session that has this pull request; nil without one.
func (s *sessions) ofPull(number int) *hosted {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.byIssue {
		if h.state.Load().Completion.PRNumber == number {
			return h
		}
	}
	return nil
}

// mode is what the poller of the repository has to read besides issues.
func (s *sessions) mode() intake.Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m intake.Mode
	for _, h := range s.byIssue {
		state := h.state.Load()
		m.Live = m.Live || !state.Ended()
		m.Pulls = m.Pulls || s.pulls.IsOpen(state.Completion.PRNumber)
	}
	return m
}
