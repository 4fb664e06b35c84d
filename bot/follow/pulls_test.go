package follow_test

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/follow"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
)

// A pull request that the list of open ones does not have is closed if the list has all of them and is not older than it;
// else GitHub is asked, once it is known that the list was read.
func TestAPullRequestThatTheListDoesNotHave(t *testing.T) {
	const number = 7
	for name, c := range map[string]struct {
		do          func(p *follow.Pulls, s *orchestrator.State)
		whole       bool
		closed, ask bool
	}{
		"the list has all":          {nil, true, true, false},
		"the list has some":         {nil, false, false, true},
		"it was made just now":      {func(_ *follow.Pulls, s *orchestrator.State) { s.PhaseEnteredAt.Time = noon.Add(-time.Minute) }, true, false, true},
		"it is followed no more":    {func(_ *follow.Pulls, s *orchestrator.State) { s.PhaseEnteredAt.Time = noon.Add(-25 * time.Hour) }, false, false, false},
		"the session is under way":  {func(_ *follow.Pulls, s *orchestrator.State) { s.Phase, s.Outcome = "implementing", "" }, true, false, false},
		"without a pull request":    {func(_ *follow.Pulls, s *orchestrator.State) { s.Completion.PRNumber = 0 }, true, false, false},
		"it was listed":             {func(p *follow.Pulls, _ *orchestrator.State) { p.Opened(ghsync.OpenPull{Number: number}) }, false, false, false},
		"it is known to be closed":  {func(p *follow.Pulls, _ *orchestrator.State) { p.Closed(number) }, false, false, false},
		"it was closed, and opened": {func(p *follow.Pulls, _ *orchestrator.State) { p.Closed(number); p.Reopened(number) }, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var p follow.Pulls
			s := &orchestrator.State{Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone}
			s.Completion.PRNumber = number
			s.PhaseEnteredAt.Time = noon.Add(-time.Hour)
			if c.do != nil {
				c.do(&p, s)
			}
			if p.Unsure(number) {
				t.Error("unsure before a list was read")
			}
			closed, ask := p.Unlisted(s, c.whole, 24*time.Hour, noon)
			if closed != c.closed || ask != c.ask || p.Unsure(number) != c.ask {
				t.Errorf("closed %t, ask %t, unsure %t", closed, ask, p.Unsure(number))
			}
			p.Opened(ghsync.OpenPull{Number: number})
			if _, open := p.Listed(number); !open || p.Unsure(number) || !p.IsOpen(number) {
				t.Error("it is not open")
			}
			if p.Closed(number); p.IsOpen(number) || p.Unsure(number) {
				t.Error("it is open")
			}
		})
	}
}
