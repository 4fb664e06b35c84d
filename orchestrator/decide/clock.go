package decide

import (
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/pause"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
)

// clock keeps the moments of a session: its deadlines, since when the limits do not count, and
// when each agent was last heard of. What a deadline leads to is in timer.go.
type clock struct{ *queue }

// arm arms a timer; a span of 0 or less means that the limit is off. What is
// armed while time does not count is moved with the rest when it does again.
func (c *clock) arm(name string, span orchestrator.Duration) {
	if span <= 0 {
		c.disarm(name)
		return
	}
	from := c.now
	switch {
	case c.s.Paused && name != CheckpointTimer:
		from = pause.Since(c.s)
	case counted[name] && !c.s.StillSince.IsZero():
		from = c.s.StillSince
	}
	c.s.Deadlines[name] = from.Later(span.D())
	c.changed = true
}

func (c *clock) disarm(names ...string) {
	for _, name := range names {
		if _, ok := c.s.Deadlines[name]; ok {
			delete(c.s.Deadlines, name)
			c.changed = true
		}
	}
}

// shift moves every deadline by a span that does not count.
func (c *clock) shift(span time.Duration) {
	for name, at := range c.s.Deadlines {
		c.s.Deadlines[name] = at.Later(span)
	}
	c.changed = true
}

func (c *clock) armPhase(phase workflows.Phase) { c.arm("phase", c.phaseLimit(phase)) }

// phaseLimit is the phase's own limit, which may be none, else the configured one.
func (c *clock) phaseLimit(phase workflows.Phase) orchestrator.Duration {
	if phase.Timeout != nil {
		return orchestrator.Duration(*phase.Timeout)
	}
	return c.s.Settings.LimitPhase
}

// rearm starts every deadline again from its full length.
func (c *clock) rearm() {
	phase, ok := c.phase()
	if !ok {
		return
	}
	c.s.Deadlines, c.s.StillSince = map[string]orchestrator.Time{}, orchestrator.Time{}
	c.arm("total", c.s.Settings.LimitTotal)
	c.armPhase(phase)
	if c.s.Gate != nil && !c.s.Interactive {
		c.arm("gate", c.s.Settings.LimitHumanWait)
	}
	for _, q := range c.s.Questions {
		if q.Open() && !c.s.Interactive {
			c.arm(questionTimer(q.ID), c.s.Settings.LimitHumanWait)
		}
	}
	switch {
	case c.s.AwaitingSummary:
		c.arm("summary", c.s.Settings.LimitSummary)
	case phase.Kind == workflows.KindReview:
		c.arm("review", c.s.Settings.ReviewTimeout)
	}
}

// goOnSoon has the work taken up when unread lines are applied: deadlines come last. A
// session that ended again at once has none.
func (c *clock) goOnSoon() {
	if !c.s.Ended() {
		c.s.Deadlines["owed"] = c.now
	}
}

// comesBack reports whether a lost agent is to be started again after a pause.
func (c *clock) comesBack(key orchestrator.AgentKey) bool {
	_, armed := c.s.Deadlines[orchestrator.RelaunchTimer(key)]
	return armed
}

// counted are the deadlines that bound the work of agents. They do not move while
// agents only wait for something that is not theirs to do.
var counted = map[string]bool{"phase": true, "total": true, "review": true, "summary": true}

// keepTime notes when the limits begin to stand still, and moves them by the span
// when they count again.
func (c *clock) keepTime() {
	still := duty.StandsStill(c.def, c.s)
	switch {
	case still && c.s.StillSince.IsZero():
		c.s.StillSince = c.now
	case !still && !c.s.StillSince.IsZero():
		span := c.now.Sub(c.s.StillSince.Time)
		for name, at := range c.s.Deadlines {
			if counted[name] {
				c.s.Deadlines[name] = at.Later(span)
			}
		}
		c.s.StillSince = orchestrator.Time{}
	}
	if reason, _ := duty.Unanswered(c.s); !still || reason == "" || c.s.Stays != "" { // who answers elsewhere would find nothing of it
		c.disarm(parkTimer)
	} else if _, armed := c.s.Deadlines[parkTimer]; !armed {
		c.arm(parkTimer, c.s.Settings.ParkAfter)
	}
}

// jumped moves what the state holds of moments when the clock was set, or the machine slept:
// that time is neither time at work nor time waited.
func (c *clock) jumped() {
	span := c.in.Jump.D()
	if span == 0 {
		return
	}
	s := c.s
	c.shift(span)
	s.StillSince = s.StillSince.Later(span)
	for i := range s.Pending {
		e := &s.Pending[i]
		e.NotBefore, e.Since = e.NotBefore.Later(span), e.Since.Later(span)
	}
	for i := range s.Messages {
		s.Messages[i].NextAt = s.Messages[i].NextAt.Later(span)
	}
	for name, c := range s.Counters {
		c.Since = c.Since.Later(span)
		s.Counters[name] = c
	}
	for key, a := range s.Agents {
		a.Heard, a.LimitedSince = c.now, a.LimitedSince.Later(span) // what was silent meanwhile says nothing
		s.Agents[key] = a
	}
	if span < 0 { // files that are written from now on are older than these moments
		s.PhaseEnteredAt = s.PhaseEnteredAt.Later(span)
		if s.Gate != nil {
			s.Gate.OpenedAt = s.Gate.OpenedAt.Later(span)
		}
	}
}

// heard notes that an agent gave a sign of life.
func (c *clock) heard(key orchestrator.AgentKey, launch orchestrator.Launch) {
	if a, ok := c.s.Agents[key]; ok && launch != "" && a.Launch == launch {
		a.Heard, a.LimitedSince = c.now, orchestrator.Time{}
		c.s.Agents[key] = a
		c.changed = true
	}
}

// silence is how long an agent that may work was not heard of.
func (c *clock) silence(rep *orchestrator.AgentReport) orchestrator.Duration {
	heard := c.s.Agents[rep.Key].Heard
	if heard.IsZero() {
		return rep.Silence
	}
	return min(rep.Silence, orchestrator.Duration(c.now.Sub(heard.Time)))
}
