package crew

import (
	"path/filepath"
	"sync"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// seals verify that the line of an agent comes from the launch that it names. The checks of a
// launch stay in the memory of the host, so a changed record has no effect while the host runs.
type seals struct {
	mu     sync.Mutex
	checks map[orchestrator.Launch][]string // of each launch
}

// learn stores the checks of a launch.
func (s *seals) learn(launch orchestrator.Launch, checks []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checks == nil {
		s.checks = map[orchestrator.Launch][]string{}
	}
	s.checks[launch] = checks
}

func (s *seals) of(launch orchestrator.Launch) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	checks, known := s.checks[launch]
	return checks, known
}

// Forged reports whether a line names a launch that has not written it, or another agent than
// that of the launch. A line without a launch was written by hand, and the phase decides about
// it. A launch of an older version has no checks.
func (r *Crew) Forged(l orchestrator.Line) bool {
	if l.Launch == "" {
		return false
	}
	parts, ok := l.Launch.Parts()
	if name := string(l.Launch); !ok || filepath.Base(name) != name {
		return true
	}
	checks, known := r.seals.of(l.Launch)
	if !known {
		var err error
		if checks, err = r.sess.Checks(l.Launch); err != nil {
			r.Log.Warn("a line names a launch that is not known", "session", r.sess.Name(), "launch", l.Launch, "err", err)
			return true
		}
	}
	if len(checks) == 0 {
		return false
	}
	r.seals.learn(l.Launch, checks)
	return !session.Genuine(l, checks) || l.Role != "" && l.Role != parts.Role || l.Task != "" && l.Task != parts.Task
}
