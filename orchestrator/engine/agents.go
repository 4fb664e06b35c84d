package engine

import (
	"context"
	"slices"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// forward is a report that the reducer has judged.
type forward struct {
	report  orchestrator.AgentReport
	version int // of the state it was judged in
	at      time.Time
}

// hasAgents reports whether there is an agent to look at.
func hasAgents(st *orchestrator.State) bool {
	if st.Ended() {
		return false
	}
	for _, a := range st.Agents {
		if a.Launch != "" {
			return true
		}
	}
	return false
}

// agents takes reports. One that says nothing new about an agent, in a state
// that has not changed, is passed over.
func (l *loop) agents(ctx context.Context, reports []orchestrator.AgentReport) error {
	for _, rep := range reports {
		l.looks.silent(rep, l.st.Settings.LimitStall.D())
		if l.st.Ended() || l.takes.holds(rep.Launch) || !l.counts(rep) || !l.isNew(rep) {
			continue
		}
		l.forwarded[rep.Key] = forward{report: rep, version: l.version, at: l.Now()}
		if _, err := l.apply(ctx, orchestrator.Input{Kind: orchestrator.InAgent, Agent: &rep}); err != nil {
			return err
		}
		f := l.forwarded[rep.Key]
		f.version = l.version
		l.forwarded[rep.Key] = f
	}
	return nil
}

// counts reports whether a report is about a current launch, and for a missing
// pane whether it has been missing for long enough.
func (l *loop) counts(rep orchestrator.AgentReport) bool {
	if l.st.Agents[rep.Key].Launch != rep.Launch {
		return false
	}
	if rep.Condition != orchestrator.AgentAbsent || rep.ServerLost {
		delete(l.absent, rep.Launch)
		return true
	}
	starting := slices.ContainsFunc(l.st.Pending, func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStartAgent && e.Args.Launch == rep.Launch
	})
	if starting {
		delete(l.absent, rep.Launch)
		return false
	}
	first, seen := l.absent[rep.Launch]
	if !seen {
		l.absent[rep.Launch] = l.Now()
		l.looks.within(absentFor)
		return false
	}
	return l.Now().Sub(first) >= absentFor
}

func (l *loop) isNew(rep orchestrator.AgentReport) bool {
	judged, known := l.forwarded[rep.Key]
	if !known || judged.version != l.version {
		return true
	}
	if limit := l.st.Settings.LimitStall; limit > 0 && rep.Silence >= limit && l.Now().Sub(judged.at) >= silencePause {
		return true
	}
	return !same(judged.report, rep)
}

// same compares what reports say about an agent's condition; the length of its
// silence and its screen change all the time.
func same(a, b orchestrator.AgentReport) bool {
	code := func(r orchestrator.AgentReport) int {
		if r.ExitCode == nil {
			return -1
		}
		return *r.ExitCode
	}
	return code(a) == code(b) && a.Launch == b.Launch && a.Condition == b.Condition && a.Signal == b.Signal &&
		a.TurnEnded == b.TurnEnded && a.PersonTurn == b.PersonTurn && a.Dialog == b.Dialog && slices.Equal(a.Choices, b.Choices) && a.RateLimited == b.RateLimited &&
		a.ServerLost == b.ServerLost && a.CLISession == b.CLISession && a.Until == b.Until &&
		a.Answered == b.Answered && slices.Equal(a.Fallbacks, b.Fallbacks)
}

// live returns the launches that are alive at a resume, and how others have ended. If
// the agents cannot be observed, every launch counts as alive: one that is not is noticed later.
func (l *loop) live(ctx context.Context) (live []orchestrator.Launch, exited []orchestrator.AgentReport) {
	live = slices.Clone(l.Start.Live)
	for _, e := range l.st.Pending {
		if e.Type == orchestrator.EffStartAgent {
			live = append(live, e.Args.Launch) // it is not observed until its start has ended
		}
	}
	ctx, cancel := context.WithTimeout(ctx, observeBound)
	defer cancel()
	found, err := l.Agents.Observe(ctx, l.st)
	l.looks.at = l.Now() // the loop has no need to look again at once
	if err != nil {
		l.Log.Warn("agents cannot be observed", "err", err)
		for _, a := range l.st.Agents {
			if a.Launch != "" {
				live = append(live, a.Launch)
			}
		}
		return live, nil
	}
	for _, rep := range found.Reports {
		switch rep.Condition {
		case orchestrator.AgentLive:
			live = append(live, rep.Launch)
		case orchestrator.AgentDead:
			exited = append(exited, rep)
		}
	}
	return live, exited
}
