package crew

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/cooldown"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/substitute"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// login is what the service of a provider knows the agents of a session by.
func (r *sandbox) login(p agent.Provider, interactive bool) cooldown.Login {
	return cooldown.Login{Provider: p.Name, Account: p.Account(r.access(interactive))}
}

// access is the part of an agent's environment that its login is found in.
func (r *sandbox) access(interactive bool) agent.EnvSpec {
	env := agent.EnvSpec{Path: r.AgentPath(), Home: r.StateHome, Logins: r.Logins(), Lookup: r.Environ}
	if interactive && r.cfg.Sandbox.Home != "private" {
		env.RealHome = r.Home
	}
	return env
}

// cooling returns the cool-down of a provider, and whether it has one.
func (r *sandbox) cooling(p agent.Provider, interactive bool) (cooldown.CoolDown, bool) {
	return cooldown.In(r.StateHome).Of(r.login(p, interactive), r.Now())
}

// Cooling says of each of the named providers until when it refuses more; nil if one does not: then there
// is something to begin with. One that could not be started is passed over.
func (r *sandbox) Cooling(providers agent.Providers, names []string, interactive bool) []string {
	var found []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		c, ok := r.cooling(providers[name], interactive)
		switch {
		case len(r.Lacks(providers[name], interactive)) > 0:
			continue
		case !ok:
			return nil
		}
		found = append(found, c.String())
	}
	return found
}

// services is what the machine knows of the services of its providers: what the launches of a session heard, and
// what those of others did.
type services struct{ *Crew }

// mayStart returns when the provider of a launch is not known to refuse more: it would refuse this one,
// too. It fails with engine.Cooling unless the session says already until when its agent waits. One that has
// waited is not let in while its session is paused.
func (r services) mayStart(ctx context.Context, a orchestrator.Args, s *orchestrator.State) error {
	r.noteSubmitted(s)
	key := orchestrator.KeyOf(a.Role, a.Task)
	p, known := r.providers[r.choose(a).Provider], s.Agents[key]
	look := time.NewTicker(lookPause)
	defer look.Stop()
	for {
		c, ok := r.cooling(p, s.Interactive)
		if !ok && !(known.Limited && r.state().Paused) {
			return nil
		}
		if ok {
			until, could := orchestrator.At(c.Until), r.substitutes(a.Role, p.Name, s.Interactive)
			told := known.Limited && known.Until.Equal(until.Time) && substitute.Of(r.state(), key, until, could) == ""
			if !told {
				return engine.Cooling(fmt.Errorf("start %s: %s", a.Launch, c), c.Until, could...)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
	}
}

// substitutes lists the fallbacks of a role that could take over now from a provider, in order: those behind it that
// are installed, logged in, and not known to refuse more.
func (r services) substitutes(role, provider string, interactive bool) (could []string) {
	list := r.cfg.Roles[role].Fallback
	for _, name := range list[slices.Index(list, provider)+1:] {
		p, known := r.providers[name]
		if _, cools := r.cooling(p, interactive); known && !cools && name != provider && len(r.Lacks(p, interactive)) == 0 {
			could = append(could, name)
		}
	}
	return could
}

// offer says of a report of a fault which providers could take over, and what mends a login.
func (r services) offer(out *orchestrator.AgentReport) {
	if launch, err := agent.ReadLaunch(r.launchDir(out.Launch)); err == nil && (out.RateLimited || out.Fault != "") {
		out.Fallbacks = r.substitutes(out.Key.Role(), launch.Provider, !launch.Unattended)
		if p, known := r.providers[launch.Provider]; known && out.Fault == orchestrator.ServiceLogin {
			out.Repair = p.Repair()
		}
	}
}

// noteSubmitted ends the cool-downs of providers whose agents have submitted since they refused.
func (r services) noteSubmitted(s *orchestrator.State) {
	for launch, l := range s.Leaving {
		r.note(&orchestrator.AgentReport{Launch: launch}, signal.Status{Answered: l.Since.Time}, cooldown.Refusal{}, "")
	}
}

// note tells the other hosts of the machine what a launch has heard of its provider's service.
// Words are those of the program, which may name a time. What cannot be told costs them a refusal each.
func (r services) note(out *orchestrator.AgentReport, status signal.Status, refusal cooldown.Refusal, words string) {
	limited := out.RateLimited || out.Fault == orchestrator.ServiceLimit || out.Fault == orchestrator.ServiceOutage
	if !limited && status.Answered.IsZero() {
		return
	}
	launch, err := agent.ReadLaunch(r.launchDir(out.Launch))
	p, known := r.providers[launch.Provider]
	if err != nil || !known {
		return
	}
	login, cool := r.login(p, !launch.Unattended), cooldown.In(r.StateHome)
	login.Account = cmp.Or(launch.Account, login.Account) // a person may have logged in again since
	refusal.By = r.sess.Name() + " " + string(out.Launch)
	if limited {
		if at, _ := r.noted.Swap(out.Launch, refusal.At.UnixNano()); at == refusal.At.UnixNano() {
			return // a person may have removed it
		}
		refusal.Cause, refusal.Until = string(orchestrator.ServiceLimit), cooldown.Named(words, refusal.At.Local()) // the clock of the program
		if out.Fault == orchestrator.ServiceOutage || p.Fault(words) == agent.FaultOutage {
			refusal.Cause = string(orchestrator.ServiceOutage)
		}
		err = cool.Note(login, refusal, r.Now())
		if c, ok := cool.Of(login, r.Now()); ok {
			out.Until = orchestrator.At(c.Until)
		}
	} else {
		err = cool.Answered(login, refusal.By, status.Answered, r.Now())
	}
	if err != nil {
		r.Log.Warn("other sessions are not told of a provider", "session", r.sess.Name(), "provider", p.Name, "err", err)
	}
}

// wakeLimited reports the turn of a live agent as ended whose provider may take more now. Nothing else
// would make the agent continue.
func (r *observer) wakeLimited(out *orchestrator.AgentReport, status signal.Status) {
	if !out.RateLimited {
		return
	}
	launch, err := agent.ReadLaunch(r.launchDir(out.Launch))
	if err != nil {
		return
	}
	login, now := r.login(r.providers[launch.Provider], !launch.Unattended), r.Now()
	c, cools := cooldown.In(r.StateHome).Of(login, now)
	switch spare := cooldown.Pauses()[0] - now.Sub(status.Since); {
	case cools:
		out.Until = orchestrator.At(c.Until)
		r.within(min(c.Until.Sub(now), lookAtCoolDown))
	case spare > 0 && !cooldown.In(r.StateHome).Over(login, status.Since, now): // it could not be noted
		r.within(spare)
	default:
		out.Fault = orchestrator.ServiceLimit
		out.TurnEnded = "limit " + status.Since.UTC().Format(time.RFC3339Nano)
	}
}

// lookAtCoolDown is how often the cool-down of an agent that waits for it is looked at: another session
// may have been answered.
const lookAtCoolDown = 10 * time.Second
