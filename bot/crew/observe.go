package crew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/crew/keys"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/cooldown"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/dialog"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/tmux"
)

const (
	// dialogTime is how long a dialog may be open until it is reported.
	dialogTime = 5 * time.Second
	// idleTime is how long a program without hooks must show its prompt to be idle.
	idleTime = 10 * time.Second
	// quietTime is the same for a program with hooks: an error may end a turn without a signal.
	quietTime = 30 * time.Second
	// lookPause is the time until the next report while a screen decides something.
	lookPause = 2 * time.Second
	// shortPause is the least time between two reports.
	shortPause = 200 * time.Millisecond
	// maxSilent is after how many unanswered questions in a row a server counts as failed.
	maxSilent = 3
	// tailLines is how many lines of a failed agent are shown, of the last tailLookback.
	tailLines    = 20
	tailLookback = 200
)

// Observe reports every launch of the state, with one question to tmux. A launch that is being
// started or stopped is not reported.
func (r *Crew) Observe(ctx context.Context, s *orchestrator.State) (engine.Look, error) {
	services{r}.noteSubmitted(s)
	expected := duty.Launches(s)
	if len(expected) == 0 {
		return engine.Look{}, nil
	}
	found, err := r.panes.list(ctx)
	if err == nil {
		err = r.panes.sameServer(ctx, found, expected)
	}
	if err == nil {
		err = r.panes.restoreControl(ctx)
	}
	if unreachable(err) || errors.Is(err, tmux.ErrNoAnswer) {
		err = r.panes.serverGone(ctx, err, expected)
		if found = nil; errors.Is(err, place.ErrRuntimeDir) {
			r.Log.Error("the agents are lost", "session", r.sess.Name(), "err", err)
			err = nil // the next start of an agent fails with it, and a person sees that
		}
	}
	if err != nil {
		return engine.Look{}, fmt.Errorf("look at the agents: %w", err)
	}
	o := &observer{Crew: r, pressed: keys.Pressed(ctx, r.panes.server, found)}
	o.follow(found)
	var reports []orchestrator.AgentReport
	for _, key := range slices.Sorted(maps.Keys(expected)) {
		pane, ok := found[expected[key]]
		report := o.report(ctx, key, expected[key], pane, ok)
		if report == nil {
			o.within(lookPause)
			continue
		}
		if report.Condition != orchestrator.AgentLive {
			report.Usage = r.noteUsage(report.Launch)
		}
		reports = append(reports, *report)
	}
	return engine.Look{Reports: reports, Next: o.next}, nil
}

// follow has the end of the server and of each agent wake the engine. If that is not possible,
// the next report follows after lookPause.
func (r *observer) follow(found map[orchestrator.Launch]tmux.Pane) {
	followed := r.wakeAt(r.panes.serverPID())
	for _, pane := range found {
		if !pane.Dead {
			followed = r.wakeAt(pane.PID) && followed
		}
	}
	if !followed {
		r.within(lookPause)
	}
}

func (r *observer) wakeAt(pid int) bool { return r.onExit != nil && r.onExit(pid) }

// within asks for the next report in at most d.
func (r *observer) within(d time.Duration) {
	if r.next == 0 || d < r.next {
		r.next = max(d, shortPause)
	}
}

// sameServer fails if the server was replaced: panes are missing, and it started at another
// time than the server that had them.
func (p *panes) sameServer(ctx context.Context, found map[orchestrator.Launch]tmux.Pane, expected map[orchestrator.AgentKey]orchestrator.Launch) error {
	p.mu.Lock()
	p.silent = 0
	known := p.started
	p.mu.Unlock()
	complete := true
	for _, launch := range expected {
		_, ok := found[launch]
		complete = complete && ok
	}
	if complete || known.IsZero() {
		return nil
	}
	started, err := p.server.Started(ctx)
	if err == nil && !started.Equal(known) {
		return tmux.ErrNoServer
	}
	return err
}

// serverGone starts a new server and remembers which launches ended with the old one.
func (p *panes) serverGone(ctx context.Context, cause error, expected map[orchestrator.AgentKey]orchestrator.Launch) error {
	if errors.Is(cause, tmux.ErrNoAnswer) {
		p.mu.Lock()
		p.silent++
		wait := p.silent < maxSilent
		p.mu.Unlock()
		if wait {
			return cause
		}
		if err := p.kill(ctx); err != nil {
			return err
		}
	}
	p.mu.Lock()
	for _, launch := range expected {
		p.lost[launch] = true
	}
	p.silent = 0
	p.mu.Unlock()
	if err := p.endLost(ctx); err != nil {
		return err
	}
	_, err := p.ensure(ctx)
	return err
}

// report returns the state of one launch; nil while it is not known.
func (r *observer) report(ctx context.Context, key orchestrator.AgentKey, launch orchestrator.Launch, pane tmux.Pane, found bool) *orchestrator.AgentReport {
	out := &orchestrator.AgentReport{Key: key, Launch: launch}
	status := r.signals.Status(r.launchDir(launch), launch)
	out.CLISession, out.PersonTurn = status.Session, keys.Launch{Dir: r.launchDir(launch), Session: r.sess.Dir}.Turn(status, r.pressed[pane.ID])
	if exit, ended, err := agent.ReadExit(r.launchDir(launch)); err == nil && ended {
		if exit.Stopped && r.panes.wasLost(launch) {
			return r.panes.reportMissing(out) // ended by the end of the server
		}
		if exit.Stopped && found && !pane.Dead {
			return nil // it ended after the panes were listed; the next report says why
		}
		out.Condition, out.ExitCode, out.Signal = orchestrator.AgentDead, exit.Code, exit.Signal
		out.Tail = cmp.Or(r.Redactor.Redact(exit.Error), r.tail(ctx, pane, found))
		words := r.nameFault(out, status)
		out.Tail = shortLines(out.Tail)
		services{r.Crew}.note(out, status, cooldown.Refusal{At: exit.EndedAt}, words)
		services{r.Crew}.offer(out)
		return out
	}
	switch {
	case found && pane.Dead:
		return r.reportDead(ctx, out, pane)
	case found:
		at, words := status.Since, status.Failure
		if shown := r.reportLive(ctx, out, pane, status); shown != "" {
			at, words = pane.Activity, shown
		}
		st, turn := r.state(), out.TurnEnded
		stalled := !st.Interactive && st.Counters["stall/"+string(launch)].N > 0
		if out.Tail == "" && (stalled || turn != "" && st.Seen["turn/"+string(launch)] != turn) {
			out.Tail = shortLines(r.tail(ctx, pane, true)) // it is judged next, and may be a failure
		}
		services{r.Crew}.note(out, status, cooldown.Refusal{At: at}, words)
		r.wakeLimited(out, status)
		services{r.Crew}.offer(out)
		return out
	}
	return r.panes.reportMissing(out)
}

// nameFault sets the fault that a program's last words name. Some programs end without an error
// after a refusal that they show as an answer. It returns the words around the fault.
func (r *observer) nameFault(out *orchestrator.AgentReport, status signal.Status) string {
	if out.ExitCode == nil {
		return ""
	}
	l, err := agent.ReadLaunch(r.launchDir(out.Launch))
	if err != nil {
		return ""
	}
	p := r.providers[l.Provider]
	fault, words := p.LastWords(status.Failure, false)
	if fault == "" {
		fault, words = p.AtEnd(l, out.Tail, *out.ExitCode == 0)
	}
	out.Fault = orchestrator.ServiceFault(fault)
	return words
}

// provider returns that of a launch; one without marks if it is not known.
func (r *observer) provider(launch orchestrator.Launch) (p agent.Provider) {
	if l, err := agent.ReadLaunch(r.launchDir(launch)); err == nil {
		p = r.providers[l.Provider]
	}
	return p
}

// reportDead describes a pane whose agent-exec ended without an exit record.
func (r *observer) reportDead(ctx context.Context, out *orchestrator.AgentReport, pane tmux.Pane) *orchestrator.AgentReport {
	if pane.ExitStatus < 0 && pane.Signal == "" {
		return nil // tmux does not know yet
	}
	out.Condition, out.Tail = orchestrator.AgentDead, shortLines(r.tail(ctx, pane, true))
	if out.Signal = pane.Signal; out.Signal == "" {
		out.ExitCode = &pane.ExitStatus
	}
	return out
}

func (p *panes) wasLost(launch orchestrator.Launch) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost[launch]
}

func (p *panes) reportMissing(out *orchestrator.AgentReport) *orchestrator.AgentReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	out.Condition, out.ServerLost = orchestrator.AgentAbsent, p.lost[out.Launch]
	return out
}

// reportLive describes a program that runs, and returns the words on its screen that name a fault.
func (r *observer) reportLive(ctx context.Context, out *orchestrator.AgentReport, pane tmux.Pane, status signal.Status) string {
	now := r.Now()
	out.Condition = orchestrator.AgentLive
	out.RateLimited = status.State == signal.RateLimited
	out.Answered = !out.RateLimited && !status.Answered.IsZero()
	if !pane.Activity.IsZero() {
		out.Silence = orchestrator.Duration(max(0, now.Sub(pane.Activity)))
	}
	if r.asks(ctx, out, pane, status) {
		return ""
	}
	switch status.State {
	case signal.Idle:
		if status.TurnEnds > 0 {
			out.TurnEnded = fmt.Sprintf("turn %d", status.TurnEnds)
		}
		if status.Failure != "" {
			out.Fault = orchestrator.ServiceFault(r.provider(out.Launch).Fault(status.Failure))
		}
	case signal.WaitingPermission, signal.WaitingAnswer:
		switch open := keys.Waits(status, now); {
		case status.Since.IsZero():
		case dialog.Covers(r.state(), out.Key, status.Since, r.dialogs.Shown(r.launchDir(out.Launch))): // until the next signal it is at work
			return r.lookAtScreen(ctx, out, pane, status)
		case open >= dialogTime:
			out.Dialog = string(status.State)
		default:
			r.within(dialogTime - open)
		}
	case "", signal.Starting, signal.Ready, signal.Working:
		return r.lookAtScreen(ctx, out, pane, status)
	}
	return ""
}

// lookAtScreen reads the screen of programs that report nothing by hooks, or stopped to, and returns the words of a fault.
func (r *observer) lookAtScreen(ctx context.Context, out *orchestrator.AgentReport, pane tmux.Pane, status signal.Status) (words string) {
	launch, err := agent.ReadLaunch(r.launchDir(out.Launch))
	if err != nil {
		return ""
	}
	p := r.providers[launch.Provider]
	silent := idleTime
	if p.Hooks != "" {
		silent = quietTime
	}
	starting := r.starts(out.Launch, p, status)
	shows := len(p.Ready) > 0 && launch.Transport == agent.TUI
	quiet := shows && out.Silence.D() >= silent
	switch {
	case starting && out.Silence.D() < idleTime:
		r.within(lookPause) // a dialog may be drawn
	case shows && !quiet:
		r.within(silent - out.Silence.D())
	}
	if !quiet && !starting {
		return ""
	}
	text, activity, err := r.panes.server.Screen(ctx, pane.ID)
	if err != nil {
		return "" // the next report tells more
	}
	if quiet && activity.After(pane.Activity) {
		r.within(lookPause) // a line came in since: that ends no turn
		return ""
	}
	if starting && r.answerDialog(ctx, out.Launch, p, pane, text) {
		r.within(lookPause)
		return ""
	}
	switch {
	case quiet && p.Screen(text) == signal.Idle:
		out.TurnEnded = "screen " + hashOf([]byte(text))[:12]
		var fault agent.Fault
		if fault, words = p.OnScreen(text); fault != "" {
			out.Fault, out.Tail = orchestrator.ServiceFault(fault), shortLines(r.tail(ctx, pane, true))
		}
	case quiet && p.Hooks == "":
		r.within(idleTime) // only its screen tells
	}
	return words
}

// tail returns the end of what a pane shows, for a person who searches for the cause.
func (r *observer) tail(ctx context.Context, pane tmux.Pane, found bool) string {
	if !found {
		return ""
	}
	text, err := r.panes.server.Printed(ctx, pane.ID, tailLookback)
	if err != nil {
		return ""
	}
	return strings.Join(agent.LastLines(r.Redactor.Redact(text), tailLines), "\n") // a cut would hide where a secret begins
}

// shortLines cuts each line of a tail, so that a record has room for all of them.
func shortLines(tail string) string {
	lines := strings.Split(tail, "\n")
	for i := range lines {
		lines[i] = orchestrator.Truncate(lines[i], orchestrator.MaxEventText/tailLines-1)
	}
	return strings.Join(lines, "\n")
}
