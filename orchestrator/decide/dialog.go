package decide

import (
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/dialog"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// knownDialog asks a person about a known dialog, and reports whether an agent's program shows one.
func (c *crew) knownDialog(rep *orchestrator.AgentReport) bool {
	seen := dialog.See(c.s, rep)
	if seen.Gone {
		c.closeDialog(rep.Key)
		c.noLongerWaits(rep.Key)
	}
	if seen.Ask != nil {
		c.questions.ask(*seen.Ask)
		c.waits(rep)
	}
	seen.Count(c.s, rep.Launch, questionTimer)
	return seen.Known
}

// answerDialog has the answer to a question pressed at the pane of its agent.
func (c *crew) answerDialog(q *orchestrator.Question) {
	key := orchestrator.KeyOf(q.Role, q.Task)
	launch := c.s.Agents[key].Launch
	delete(c.s.Counters, dialog.Rule(launch))
	c.effect(orchestrator.EffAnswerDialog, "dialog/"+string(launch), orchestrator.Args{Launch: launch, Role: q.Role, Task: q.Task, Question: q.ID})
	c.noLongerWaits(key)
}

// closeDialog withdraws the question about a dialog of an agent.
func (c *crew) closeDialog(key orchestrator.AgentKey) {
	if q := dialog.Of(c.s, key); q != nil {
		c.questions.withdraw(q)
	}
}

func dialogAnswered(r *reducer, e orchestrator.Effect, res orchestrator.Result) {
	said, parked := dialog.Answered(r.s, e, res)
	if r.clock.heard(orchestrator.KeyOf(e.Args.Role, e.Args.Task), e.Args.Launch); said != "" {
		r.ignore(duty.Call{Tool: e.Type, Role: e.Args.Role, Task: e.Args.Task}, said)
	}
	if parked != "" {
		r.outcome.park(orchestrator.ReasonAgentDialog, parked, duty.AnswerHow[orchestrator.ReasonAgentDialog])
	}
}
