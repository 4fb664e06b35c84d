package show

import (
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/agent/cooldown"
	"github.com/agentmux/agentmux/orchestrator"
)

// coolDownJSON says until when the service of a provider refuses more.
type coolDownJSON struct {
	Provider string    `json:"provider"`
	Cause    string    `json:"cause"`
	Until    time.Time `json:"until"`
}

// coolDowns are those of this machine that a session may meet: none once it has ended.
func coolDowns(s *orchestrator.State) []cooldown.CoolDown {
	if s.Ended() && !s.Parked() {
		return nil
	}
	return cooldown.In(site.StateHome()).All(time.Now())
}

func printCoolDowns(p *console.Page, s *orchestrator.State) {
	for _, c := range coolDowns(s) {
		p.Row("cool-down", paint.Ask, "%s: sessions with the login that it refused start none of its agents until then", c)
	}
}

func coolDownsJSON(s *orchestrator.State) (list []coolDownJSON) {
	for _, c := range coolDowns(s) {
		list = append(list, coolDownJSON{c.Provider, c.Cause, c.Until})
	}
	return list
}
