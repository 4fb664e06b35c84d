package ear

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// Team is the owner of the session of an agents file that a command runs: each of its issues is of one agent.
type Team struct {
	One                   // Issue is not set
	Agents map[int]string // by the issue that they work for
}

// Find knows the issues of agents, and their pull requests. What belongs to none of these agents is nothing.
func (t Team) Find(_ context.Context, number int, pull bool) (Subject, error) {
	if !pull && t.Agents[number] == "" {
		return Subject{}, nil
	}
	state, err := t.state()
	if err != nil {
		return Subject{}, err
	}
	for issue, name := range t.Agents {
		of := state.Team[name].PRNumber
		if !pull && number == issue || pull && of != 0 && number == of {
			return Subject{Issue: issue, Dir: t.Dir, Agent: name, Pull: of, Open: of != 0}, nil
		}
	}
	return Subject{}, nil
}

// Retry refuses: the command is about to end.
func (t Team) Retry(_ context.Context, s Subject, _ Retry) (gate.Decision, error) {
	return gate.Decision{
		What: gate.Refuse, Reason: "the run of the agents has ended",
		Remedy: "agentmux retry --role " + s.Agent + " and then agentmux agents start, on the machine it ran on, give the agent another try",
	}, nil
}

// beyond tells why what was said on the issue of one agent is not for that agent alone; "" if it may be.
func (j *judgement) beyond() string {
	verb := j.order.Verb
	if j.s.Agent == "" || !j.order.known || story.OfAgent(verb) || verb == "approve" || verb == "changes" {
		return "" // a run has no gate and takes no changes, and says so itself
	}
	return fmt.Sprintf("%s is for the whole run, which has other agents: agentmux %s on the machine it runs on", verb, verb)
}

// forAgent has a command on the issue of one agent be for that agent alone. It tells why it cannot be; "" if it is,
// or if the issue is of the whole session.
func (j *judgement) forAgent(p *orchestrator.Payload) string {
	if j.s.Agent == "" {
		return ""
	}
	p.Args.Role = j.s.Agent
	if p.Name != "say" {
		return ""
	}
	p.Args.Text = j.order.Text.String()
	word, rest := firstWord(p.Args.Text)
	switch named := j.teammate(strings.TrimSuffix(word, ":")); named {
	case "":
	case j.s.Agent:
		p.Args.Text = rest
	default:
		return fmt.Sprintf("this issue is of the agent %s: say it on the issue of %s, or begin with %s if it is for this one", j.s.Agent, named, j.s.Agent)
	}
	return ""
}

// teammate returns the agent of the run that a word names; "" if it names none.
func (j *judgement) teammate(word string) string {
	for name := range j.state.Team {
		if strings.EqualFold(name, word) {
			return name
		}
	}
	return ""
}
