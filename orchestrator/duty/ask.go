package duty

import (
	"slices"
	"strconv"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// maxOpenQuestions is how many questions one agent may have open.
const maxOpenQuestions = 3

// AskJudgement judges whether an agent may ask one more question. unread counts those that the
// state does not know yet.
func AskJudgement(s *orchestrator.State, role, task string, unread int) Judgement {
	open := unread
	for _, q := range s.Questions {
		if q.Open() && q.Role == role && q.Task == task {
			open++
		}
	}
	if open >= maxOpenQuestions {
		return refuse("you have %d questions open, which is the most an agent may have; go on with what you can decide", open)
	}
	return accepted()
}

// NextQuestion returns the id of the next question; unread are the ids of those before it that the
// state does not know yet.
func NextQuestion(s *orchestrator.State, unread ...string) string {
	for n := len(s.Questions) + len(unread) + 1; ; n++ {
		id := "q" + strconv.Itoa(n)
		if !slices.Contains(unread, id) && !slices.ContainsFunc(s.Questions, func(q orchestrator.Question) bool { return q.ID == id }) {
			return id
		}
	}
}

// askRule accepts questions of agents at work only: no other agent waits for the answer.
func askRule(def *workflows.Definition, s *orchestrator.State, c Call) Judgement {
	key := orchestrator.KeyOf(c.Role, c.Task)
	if _, owed := OwedBy(def, s, key); !owed || c.Launch != "" && s.Agents[key].Launch != c.Launch {
		return refuse("the %s is not at work any more", key)
	}
	return AskJudgement(s, c.Role, c.Task, 0)
}

// OpenQuestions returns the ids of the questions that wait, of all agents or of one of an agents file.
func OpenQuestions(s *orchestrator.State, agent string) []string {
	var ids []string
	for _, q := range s.Questions {
		if q.Open() && (agent == "" || q.Task == agent) {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// Reachable reports whether somebody can answer a question of a task. Where people are reached on issues alone, an agent
// of an agents file needs one of its own.
func Reachable(def *workflows.Definition, s *orchestrator.State, task string) bool {
	if s.Interactive || def.Team == nil || !s.Mirror {
		return s.Settings.Reachable
	}
	a := def.Team.Agent(task)
	return s.Settings.Reachable && a != nil && a.Issue != 0
}
