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

	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/tmux"
)

const (
	// dialogTime is how long a dialog may be open before nobody is expected to answer.
	dialogTime = 5 * time.Second
	// idleTime is how long a program without hooks must show its prompt to be idle.
	idleTime = 10 * time.Second
	// quietTime is how long one with hooks must: an error may end a turn without a word.
	quietTime = 30 * time.Second
	// deafLooks is after how many unanswered looks in a row a server counts as failed.
	deafLooks = 3
	// tailLines are shown of a failed agent, of the last tailLookback.
	tailLines    = 20
	tailLookback = 200
)

// Observe looks at every launch the state knows, with one question to tmux. A launch
// that is just being started or stopped is not reported.
func (r *Crew) Observe(ctx context.Context, s *orchestrator.State) ([]orchestrator.AgentReport, error) {
	expected := expectedLaunches(s)
	if len(expected) == 0 {
		return nil, nil
	}
	found, err := r.panes.list(ctx)
	if err == nil {
		err = r.panes.sameServer(ctx, found, expected)
	}
	if unreachable(err) || errors.Is(err, tmux.ErrNoAnswer) {
		err = r.panes.serverGone(ctx, err, expected)
		if found = nil; errors.Is(err, place.ErrRuntimeDir) {
			r.Log.Error("the agents are lost", "session", r.sess.Name(), "err", err)
			err = nil // the next start of an agent fails with it, which a person is told
		}
	}
	if err != nil {
		return nil, fmt.Errorf("look at the agents: %w", err)
	}
	var reports []orchestrator.AgentReport
	for _, key := range slices.Sorted(maps.Keys(expected)) {
		pane, ok := found[expected[key]]
		if report := (&observer{r}).report(ctx, key, expected[key], pane, ok); report != nil {
			reports = append(reports, *report)
		}
	}
	return reports, nil
}

// expectedLaunches maps agent keys to the launches that should have a pane.
func expectedLaunches(s *orchestrator.State) map[string]string {
	expected := map[string]string{}
	for key, a := range s.Agents {
		if a.Launch != "" {
			expected[key] = a.Launch
		}
	}
	for _, e := range s.Pending {
		if e.Type == orchestrator.EffStartAgent {
			delete(expected, orchestrator.AgentKey(e.Args.Role, e.Args.Task))
		}
	}
	return expected
}

// sameServer notices a server that was replaced: panes are missing, and it started at
// another time than the one that had them.
func (p *panes) sameServer(ctx context.Context, found map[string]tmux.Pane, expected map[string]string) error {
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

// serverGone makes a new server and remembers whose panes went with the old one.
func (p *panes) serverGone(ctx context.Context, cause error, expected map[string]string) error {
	if errors.Is(cause, tmux.ErrNoAnswer) {
		p.mu.Lock()
		p.silent++
		again := p.silent < deafLooks
		p.mu.Unlock()
		if again {
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

// report is what one launch looks like; nil while that is not clear.
func (r *observer) report(ctx context.Context, key, launch string, pane tmux.Pane, found bool) *orchestrator.AgentReport {
	out := &orchestrator.AgentReport{Key: key, Launch: launch}
	status := r.signals.status(r.launchDir(launch), launch)
	out.CLISession = status.Session
	if exit, ended, err := agent.ReadExit(r.launchDir(launch)); err == nil && ended {
		if exit.Stopped && r.panes.wasLost(launch) {
			return r.panes.reportMissing(out) // the server's end told it to end
		}
		if exit.Stopped && found && !pane.Dead {
			return nil // it ended after the panes were listed; the next look knows why
		}
		out.Condition, out.ExitCode, out.Signal = orchestrator.AgentDead, exit.Code, exit.Signal
		out.Tail = cmp.Or(r.Redactor.Redact(exit.Error), r.tail(ctx, pane, found))
		r.nameFault(out, status)
		return out
	}
	switch {
	case found && pane.Dead:
		return r.reportDead(ctx, out, pane)
	case found:
		r.reportLive(ctx, out, pane, status)
		return out
	}
	return r.panes.reportMissing(out)
}

// faultLines are how many of a program's last lines may name a fault of its service. What
// stands above is its work, which may be about anything.
const faultLines = 8

// nameFault reads from its last words what ended a program. Some end well after a refusal
// that is shown as an answer.
func (r *observer) nameFault(out *orchestrator.AgentReport, status agent.Status) {
	if out.ExitCode == nil {
		return
	}
	lines := strings.Split(out.Tail, "\n")
	lines = lines[max(0, len(lines)-faultLines):]
	// A pane breaks long lines.
	out.Fault = r.fault(out.Launch, strings.Join(lines, "\n")+"\n"+strings.Join(lines, "")+"\n"+status.Failure)
}

// fault is what the program of a launch means by these words.
func (r *observer) fault(launch, words string) orchestrator.ServiceFault {
	l, err := agent.ReadLaunch(r.launchDir(launch))
	if err != nil {
		return ""
	}
	return orchestrator.ServiceFault(r.providers[l.Provider].Fault(words))
}

// reportDead describes a pane whose agent-exec went without a record.
func (r *observer) reportDead(ctx context.Context, out *orchestrator.AgentReport, pane tmux.Pane) *orchestrator.AgentReport {
	if pane.ExitStatus < 0 && pane.Signal == "" {
		return nil // tmux does not know yet
	}
	out.Condition, out.Tail = orchestrator.AgentDead, r.tail(ctx, pane, true)
	if out.Signal = pane.Signal; out.Signal == "" {
		out.ExitCode = &pane.ExitStatus
	}
	return out
}

func (p *panes) wasLost(launch string) bool {
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

func (r *observer) reportLive(ctx context.Context, out *orchestrator.AgentReport, pane tmux.Pane, status agent.Status) {
	now := r.Now()
	out.Condition = orchestrator.AgentLive
	out.RateLimited = status.State == agent.RateLimited
	if !pane.Activity.IsZero() {
		out.Silence = orchestrator.Duration(max(0, now.Sub(pane.Activity)))
	}
	switch status.State {
	case agent.Idle:
		if status.TurnEnds > 0 {
			out.TurnEnded = fmt.Sprintf("turn %d", status.TurnEnds)
		}
		if status.Failure != "" {
			out.Fault = r.fault(out.Launch, status.Failure)
		}
	case agent.WaitingPermission, agent.WaitingAnswer:
		if !status.Since.IsZero() && now.Sub(status.Since) >= dialogTime {
			out.Dialog = string(status.State)
		}
	case "", agent.Starting, agent.Ready, agent.Working:
		r.lookAtScreen(ctx, out, pane, status)
	}
}

// lookAtScreen serves programs that report nothing by hooks, or no longer do.
func (r *observer) lookAtScreen(ctx context.Context, out *orchestrator.AgentReport, pane tmux.Pane, status agent.Status) {
	launch, err := agent.ReadLaunch(r.launchDir(out.Launch))
	if err != nil {
		return
	}
	p := r.providers[launch.Provider]
	silent := idleTime
	if p.Hooks != "" {
		silent = quietTime
	}
	starting := status.State == "" || status.State == agent.Starting
	quiet := len(p.Ready) > 0 && launch.Transport == agent.TUI && out.Silence.D() >= silent
	if !quiet && (len(p.Trust) == 0 || !starting) {
		return
	}
	text, err := r.panes.server.Capture(ctx, pane.ID, 0)
	if err != nil {
		return // the next look tells more
	}
	if starting && r.answerDialog(ctx, out.Launch, p, pane, text) {
		return
	}
	if quiet && p.Screen(text) == agent.Idle {
		out.TurnEnded = "screen " + hashOf([]byte(text))[:12]
	}
}

// tail is the end of what a pane shows, for the person who looks for the cause.
func (r *observer) tail(ctx context.Context, pane tmux.Pane, found bool) string {
	if !found {
		return ""
	}
	text, err := r.panes.server.Capture(ctx, pane.ID, tailLookback)
	if err != nil {
		return ""
	}
	return r.Redactor.Redact(strings.Join(lastLines(text), "\n"))
}

// lastLines are the last lines of a screen that say something: a dead pane shows empty
// ones, and below them a note of tmux.
func lastLines(text string) []string {
	var words []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \r\n"); line != "" && !strings.HasPrefix(line, "Pane is dead (") {
			words = append(words, line)
		}
	}
	return words[max(0, len(words)-tailLines):]
}
