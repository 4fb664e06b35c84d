package show

import (
	"context"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// printGate says what an open gate asks about, why, and how earlier ones were answered.
func printGate(ctx context.Context, a *site.Finder, p *console.Page, e session.Entry, st story.Story) {
	s := e.State
	for _, d := range st.Decisions {
		p.Row("decided", paint.Plain, "%s, at %s%s", d, d.At.Local().Format("2 Jan 15:04"), inBrackets(d.Origin))
	}
	if s.Gate == nil || s.Phase == orchestrator.PhaseFailed {
		return
	}
	why := story.GateWhy(s.Gate.Reason)
	if why != "" {
		why = ": " + why
	}
	p.Row("gate", paint.Ask, "the %s waits for approval since %s%s", story.GateNoun(s.Gate.Name), s.Gate.OpenedAt.Local().Format("2 Jan 15:04"), why)
	p.Row("asks", paint.Plain, "%s; agentmux diff %s shows it", ChangesText(ctx, a, e), e.Name)
	p.Row("digest", paint.Plain, "%s", orchestrator.ShortDigest(s.GateDigest()))
	if st.Refused != "" {
		p.Row("refused", paint.Bad, "%s", st.Refused)
	}
}

func inBrackets(origin string) string {
	if origin == "" {
		return ""
	}
	return " (" + origin + ")"
}

// ChangesText says in a few words what the open gate asks about.
func ChangesText(ctx context.Context, a *site.Finder, e session.Entry) string {
	if e.State.Gate != nil && e.State.Gate.Name == orchestrator.GatePlan {
		return "a plan of " + console.Counted(e.State.SubplanCount, "subplan", "subplans")
	}
	d, err := difference(ctx, a, e, false)
	if err != nil {
		return "what has changed cannot be read (" + err.Error() + ")"
	}
	return d.String()
}
