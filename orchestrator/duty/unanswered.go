package duty

import (
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
)

// AnswerHow says what a person does about each reason that Unanswered returns.
var AnswerHow = map[string]string{
	orchestrator.ReasonGateTimeout: "approve or say what to change, then resume",
	orchestrator.ReasonQuestion:    "answer it, then resume",
	orchestrator.ReasonAgentDialog: "attach and answer it, then resume",
}

// Unanswered returns what a person has to decide, and the reason that a session is parked with when
// nobody does; "" if there is nothing, or if a researcher works, whose answer an agent may get first.
func Unanswered(s *orchestrator.State) (reason, what string) {
	if s.Gate != nil {
		return orchestrator.ReasonGateTimeout, "the " + s.Gate.Name + " gate"
	}
	for key, a := range s.Agents {
		if Researches(key.Role()) && a.Launch != "" && a.Waiting == "" && !a.Limited {
			return "", ""
		}
	}
	if i := slices.IndexFunc(s.Questions, orchestrator.Question.Open); i >= 0 {
		if s.Questions[i].Kind == orchestrator.KindDialog {
			return orchestrator.ReasonAgentDialog, "the dialog of question " + s.Questions[i].ID
		}
		return orchestrator.ReasonQuestion, "question " + s.Questions[i].ID
	}
	return "", ""
}
