package crew

import (
	"path/filepath"
	"sync"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// seals tell whether the line of an agent is of the launch that it names. What a host has
// seen of a launch stays in its memory: who writes its record anew gains nothing while the
// host runs.
type seals struct {
	mu     sync.Mutex
	checks map[string][]string // of each launch
}

// learn takes the checks of a launch.
func (s *seals) learn(launch string, checks []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checks == nil {
		s.checks = map[string][]string{}
	}
	s.checks[launch] = checks
}

func (s *seals) of(launch string) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	checks, known := s.checks[launch]
	return checks, known
}

// Forged reports whether a line names a launch that has not written it, or another agent than
// the launch's. A line without a launch is one made by hand and is judged by the phase; a
// launch of an older version has nothing to be checked with.
func (r *Crew) Forged(l orchestrator.Line) bool {
	if l.Launch == "" {
		return false
	}
	_, role, task, _, ok := orchestrator.LaunchParts(l.Launch)
	if !ok || filepath.Base(l.Launch) != l.Launch {
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
	return !session.Genuine(l, checks) || l.Role != "" && l.Role != role || l.Task != "" && l.Task != task
}
