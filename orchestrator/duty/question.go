package duty

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// HostQuestions begins the ids of the questions that the session itself asks. No
// agent's question has such an id.
const HostQuestions = "host-"

// OfHost reports whether the session itself asks: the answer steers an agent.
func OfHost(q orchestrator.Question) bool { return strings.HasPrefix(q.ID, HostQuestions) }

// HostQuestion is the open question about what to do with an agent, or nil.
func HostQuestion(s *orchestrator.State, key orchestrator.AgentKey) *orchestrator.Question {
	role, task := key.Split()
	for i, q := range s.Questions {
		if q.Open() && OfHost(q) && q.Role == role && q.Task == task {
			return &s.Questions[i]
		}
	}
	return nil
}

// Idles reports whether an agent waits for something that is not its own work.
func Idles(s *orchestrator.State, key orchestrator.AgentKey) bool {
	a := s.Agents[key]
	_, comesBack := s.Deadlines[orchestrator.RelaunchTimer(key)]
	return a.Waiting != "" || a.Limited && (a.Launch != "" || comesBack) || HostQuestion(s, key) != nil
}

// PickFault tells why a number picks none of the options; "" for any other answer.
func PickFault(q *orchestrator.Question, text string) string {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || len(q.Options) == 0 || n >= 1 && n <= len(q.Options) || slices.Contains(q.Options, text) {
		return ""
	}
	return fmt.Sprintf("question %s has no option %d: answer with a number from 1 to %d, or in words", q.ID, n, len(q.Options))
}
