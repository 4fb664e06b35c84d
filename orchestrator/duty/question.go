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

// Pick returns the option that an answer means, by its number or its words; an answer in other words is returned as it is.
func Pick(q *orchestrator.Question, text string) string {
	word := strings.TrimSpace(text)
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1]
	}
	for _, option := range q.Options {
		if q.Kind == orchestrator.KindDialog && strings.EqualFold(option, word) {
			return option
		}
	}
	return text
}

// PickFault tells why an answer picks none of the options: a number that none has, or words where only a choice will do. It
// is "" for any other answer.
func PickFault(q *orchestrator.Question, text string) string {
	if q.Kind == orchestrator.KindDialog && !slices.Contains(q.Options, Pick(q, text)) {
		return fmt.Sprintf("question %s is about a dialog: answer with a number from 1 to %d, or with one of its choices", q.ID, len(q.Options))
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || len(q.Options) == 0 || n >= 1 && n <= len(q.Options) || slices.Contains(q.Options, text) {
		return ""
	}
	return fmt.Sprintf("question %s has no option %d: answer with a number from 1 to %d, or in words", q.ID, n, len(q.Options))
}
