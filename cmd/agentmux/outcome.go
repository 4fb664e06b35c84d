package main

import (
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// tellEnd says why a session did not end by itself and what a person can do now. A
// session that is done says nothing more.
func (a *app) tellEnd(dir string, s *orchestrator.State) {
	if s.Outcome != orchestrator.OutcomeNeedsHuman && s.Outcome != orchestrator.OutcomeFailed {
		return
	}
	text, next := endTexts(dir)
	if text == "" {
		text = string(s.Cause)
	}
	a.say("%s: %s %s", s.Outcome, s.OutcomeReason, text)
	if next != "" {
		a.say("next: %s", next)
	}
	if step := nextStep(session.Entry{Name: s.SessionID, Dir: dir, State: s}); step != "" && step != next {
		a.say("      %s", step)
	}
}

// endTexts are the words of the newest record that asks for a person.
func endTexts(dir string) (text, next string) {
	sess, err := session.Open(dir)
	if err != nil {
		return "", ""
	}
	records, _, err := sess.Events(0)
	if err != nil {
		return "", ""
	}
	for _, r := range records {
		switch r.Type {
		case orchestrator.EvNeedsHuman:
			text, _ = r.Data["text"].(string)
			next, _ = r.Data["next"].(string)
		case orchestrator.EvFailed:
			text, _ = r.Data["cause"].(string)
			next, _ = r.Data["next"].(string)
		}
	}
	return text, next
}
