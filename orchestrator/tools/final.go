package tools

import (
	"fmt"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/toolset"
)

// finalChecks run after all others, while no other writer can write. They may complete the
// payload.
var finalChecks = map[string]func(*call, session.Tail, []session.Written) (*Answer, error){
	toolset.ReportStatus: throttle,
	toolset.AskHuman:     number,
	toolset.DispatchCode: dispatchable,
	toolset.DispatchWeb:  dispatchable,
}

const (
	statusPause = 10 * time.Second
	statusTail  = 64 << 10 // how far back an earlier status is looked for
)

// throttle answers a status without recording it if the agent's last one is too young.
func throttle(c *call, tail session.Tail, _ []session.Written) (*Answer, error) {
	recent, err := tail.Last(statusTail)
	if err != nil {
		return nil, err
	}
	for _, l := range recent {
		age := c.now.Sub(l.At)
		if l.Tool == c.tool.Name && c.mine(l) && age >= 0 && age < statusPause {
			return &Answer{OK: true, Phase: tail.State.Phase, Warnings: c.warnings,
				Text: fmt.Sprintf("not recorded: your last status is less than %d seconds old. Go on.", int(statusPause.Seconds()))}, nil
		}
	}
	return nil, nil
}

func (c *call) mine(l session.Written) bool { return l.Role == c.who.Role && l.Task == c.who.Task }

// number gives the question the next id after those that the session knows and those in
// lines that it has not read.
func number(c *call, tail session.Tail, unread []session.Written) (*Answer, error) {
	asked, mine := []string{}, 0
	for _, l := range unread {
		if l.Tool != c.tool.Name {
			continue
		}
		p, _ := l.Decode()
		asked = append(asked, p.ID)
		if c.mine(l) {
			mine++
		}
	}
	if j := duty.AskJudgement(tail.State, c.who.Role, c.who.Task, mine); !j.OK {
		a := refused("%s", j.Reason)
		a.Phase = tail.State.Phase
		return &a, nil
	}
	c.payload.ID = duty.NextQuestion(tail.State, asked...)
	return nil, nil
}

// dispatchable judges a dispatch as the session will when it has read the lines before it.
// An agent that is told "dispatched" waits for a result, so a dispatch that the session would
// ignore is refused here.
func dispatchable(c *call, tail session.Tail, unread []session.Written) (*Answer, error) {
	st := tail.State.Clone()
	for _, l := range unread {
		tool, _ := toolset.Find(l.Tool)
		if tool.Research == "" || l.Corrupt != "" {
			continue
		}
		p, err := l.Decode()
		earlier := duty.Call{Tool: l.Tool, Role: l.Role, Task: l.Task, Launch: l.Launch, Visit: l.Visit, Payload: p}
		if err == nil && duty.Accepts(c.def, st, earlier).OK {
			noteDispatched(st, tool.Research, p.Topic)
		}
	}
	if j := c.accepts(st); !j.OK {
		return c.refuse(st, j), nil
	}
	return nil, nil
}

func noteDispatched(st *orchestrator.State, kind, topic string) {
	tasks := &st.ResearchTasks
	if kind == "web" {
		tasks = &st.WebResearchTasks
	}
	if *tasks == nil {
		*tasks = map[string]string{}
	}
	(*tasks)[topic] = orchestrator.ResearchDispatched
}
