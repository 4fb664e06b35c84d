package bot

import (
	"maps"
	"slices"
	"sync"

	"github.com/agentmux/agentmux/bot/due"
	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync"
)

// sessions are those of a repository that the bot knows of: the newest of each issue, and older
// ones once a command has woken them.
type sessions struct {
	mu      sync.Mutex
	byIssue map[int]*hosted
	older   map[string]*hosted      // by directory
	open    map[int]ghsync.OpenPull // pull requests as the list had them last, by number
	left    map[int]bool            // those that are not open any more
	read    due.Settling            // the reviews of those that changed
}

func newSessions() *sessions {
	return &sessions{byIssue: map[int]*hosted{}, older: map[string]*hosted{}, open: map[int]ghsync.OpenPull{}, left: map[int]bool{}}
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

// opened and closed note what the list of open pull requests has, and has no more.
func (s *sessions) opened(p ghsync.OpenPull) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[p.Number] = p
	delete(s.left, p.Number)
}

func (s *sessions) closed(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left[number] = true
	delete(s.open, number)
	s.read.Drop(number)
}

// pull returns an open pull request as the list had it last.
func (s *sessions) pull(number int) (p ghsync.OpenPull, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, open = s.open[number]
	return p, open
}

// isClosed reports whether a pull request was seen to leave the list of open ones.
func (s *sessions) isClosed(number int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left[number]
}

// isOpen reports whether a pull request was not seen to leave the list of open ones.
func (s *sessions) isOpen(number int) bool {
	return number != 0 && !s.isClosed(number)
}

// mode is what the poller of the repository has to read besides issues.
func (s *sessions) mode() intake.Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m intake.Mode
	for _, h := range s.byIssue {
		state := h.state.Load()
		m.Live = m.Live || !state.Ended()
		m.Pulls = m.Pulls || state.Completion.PRNumber != 0 && !s.left[state.Completion.PRNumber]
	}
	return m
}
