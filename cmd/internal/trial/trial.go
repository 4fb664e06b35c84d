// Package trial starts the CLI of a provider once, with a tiny task, by the road of every launch: its own
// tmux server, agent-exec, tool server, hooks and submission. It tells row by row what worked.
//
// All that it makes lies below trials/<id> of the state home, but for the session's store, socket and home. A
// process beside it removes that as soon as the trial is over, also when it was killed; where both are
// killed, the next trial does. The provider's service is really asked, and what it refuses is noted as a
// cool-down, as in any session.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/providers"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// Limit is how long a trial takes at most, if its flag does not say otherwise.
const Limit = 5 * time.Minute

// Options are those of `agentmux providers test`.
type Options struct {
	Headless, TUI bool // how the CLI runs; neither = as the configuration says
	Yes           bool // ask nothing
	AsJSON        bool
	Limit         time.Duration
}

// check refuses options that contradict each other.
func (o Options) check() error {
	switch {
	case o.Headless && o.TUI:
		return exit.UsageText("--headless and --tui: choose one")
	case o.Limit <= 0:
		return exit.Usage(fmt.Errorf("--limit: expected a duration above 0 such as 5m, found %q", o.Limit))
	}
	return nil
}

// Run tries the provider called name and prints what worked. The error asks for the exit code 3 if
// something did not.
func Run(ctx context.Context, a *site.Finder, name string, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	p, err := providers.Find(a, name)
	if err != nil {
		return err
	}
	if err := doctor.CheckPrograms(ctx); err != nil {
		return err
	}
	t := &trial{finder: a, provider: p, options: o}
	startable, err := t.probe(ctx)
	if err != nil {
		return err
	}
	if startable {
		if may, err := o.consent(ctx, a, p); !may || err != nil {
			return err
		}
		removeLeft(ctx, a)
		if err := t.run(ctx); err != nil {
			return err
		}
	}
	return t.print()
}

// consent says what the trial spends, and asks the person at the terminal whether it may. In doubt it may not.
func (o Options) consent(ctx context.Context, a *site.Finder, p agent.Provider) (bool, error) {
	login, _ := doctor.LoginOf(p)
	a.Say("%s is started once in a new directory, at most for %s, and its model is asked about six times (login: %s)", p.Name, o.Limit, login)
	switch {
	case o.Yes:
		return true, nil
	case !a.Terminal:
		return false, exit.UsageText("there is no terminal to ask at; --yes asks nothing")
	}
	answer, err := a.Answer(ctx, "Proceed? [Y/n] ")
	if errors.Is(err, io.EOF) {
		err = exit.UsageText("the input ended before the answer, nothing was started")
	}
	return err == nil && slices.Contains([]string{"", "y", "yes"}, strings.ToLower(answer)), err
}

// trial is one try of a provider.
type trial struct {
	finder   *site.Finder
	provider agent.Provider
	options  Options
	rows     []doctor.Probe
	tail     []string // the last lines that the CLI printed, if it did not submit
}

// probe looks for the program, and reports whether it can be started.
func (t *trial) probe(ctx context.Context) (startable bool, err error) {
	c, err := t.finder.MachineConfig()
	if err != nil {
		return false, err
	}
	found := doctor.Provider(ctx, t.provider, "this test", cmp.Or(c.Sandbox.Path, os.Getenv("PATH")))
	t.add("program", found.State, found.Detail, found.Hint)
	return found.State != doctor.Failed, nil
}

func (t *trial) run(ctx context.Context) (err error) {
	scratch, err := newScratch(t.finder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scratch.remove()) }()
	if err := scratch.fill(ctx); err != nil {
		return err
	}
	// The configuration is that of the machine: a project has no say in providers.
	a := *t.finder
	a.Project = scratch.clone()
	s, err := a.Cleaner(ctx)
	if err != nil {
		return err
	}
	if err := a.Wire(ctx, s, &hostlog.Log{Terminal: a.Err}, false); err != nil {
		return err
	}
	t.configure(s)
	sess, err := t.prepare(ctx, s)
	if sess == nil || err != nil {
		return err
	}
	return t.host(ctx, s, sess)
}

// configure takes out of the configuration what would start something else than this provider.
func (t *trial) configure(s *site.Site) {
	role := s.Config.Roles[roleOf]
	if s.Config.Choose(roleOf).Provider != t.provider.Name {
		role.Model, role.Args, role.Effort = "", nil, "" // they are for another one
	}
	role.Provider, role.Fallback = t.provider.Name, nil
	switch {
	case t.options.Headless:
		role.Transport = "headless"
	case t.options.TUI:
		role.Transport = "tui"
	}
	s.Config.Roles = map[string]config.Role{roleOf: role}
	s.Config.Sandbox.Setup = nil
}

// prepare makes the session. It is nil if the CLI cannot be started, which a row tells.
func (t *trial) prepare(ctx context.Context, s *site.Site) (*session.Session, error) {
	project, err := s.OpenProject(ctx)
	if err != nil {
		return nil, site.ExplainProject(err, s.Project)
	}
	base, err := project.Base(ctx, s.Config, "")
	if err != nil {
		return nil, site.ExplainRun(err)
	}
	team := teamFile(t.provider)
	if _, err := workflows.ParseTeam(session.AgentsFile, team); err != nil {
		return nil, err
	}
	sess, err := s.Host.Prepare(ctx, host.PrepareSpec{
		Project: project, Config: s.Config, Files: site.Files(s.Project), Source: "working tree", Base: base, Name: sessionName,
		Agents: team, Trigger: "agents/" + sessionName, Interactive: t.finder.Terminal && !t.options.Headless,
	})
	if cannot := (*host.PreflightError)(nil); errors.As(err, &cannot) {
		for _, problem := range cannot.Problems {
			t.add("start", doctor.Failed, problem, "then agentmux providers test "+t.provider.Name+" again")
		}
		return nil, nil
	}
	if err != nil {
		return nil, site.ExplainRun(err)
	}
	return sess, sess.Release()
}

// host runs the session to its end, which comes at the limit at the latest, and looks at what it left.
func (t *trial) host(ctx context.Context, s *site.Site, sess *session.Session) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var seen watched
	timer := time.AfterFunc(t.options.Limit, func() {
		seen.limit.Store(true)
		stop(engine.Signal{Name: "limit"})
	})
	defer timer.Stop()
	if t.finder.Terminal {
		t.finder.Say("agentmux attach %s watches it", sess.Dir)
	}
	last, err := s.Host.Run(running, host.RunSpec{Dir: sess.Dir, Config: s.Config, OnCommit: func(state *orchestrator.State) {
		if seen.look(state) {
			stop(engine.Signal{Name: "a wait"})
		}
	}})
	crash.Point("end trial", "")
	if ctx.Err() != nil {
		return exit.Quiet(exit.Canceled)
	}
	if err != nil {
		t.add("start", doctor.Failed, site.ExplainRun(err).Error(), "agentmux doctor")
		return nil
	}
	records, _, err := sess.Events(0)
	if err != nil {
		return err
	}
	left, err := s.Host.End(ctx, sess.Dir)
	if err != nil {
		return err
	}
	e := evidence{provider: t.provider, sess: sess, state: last, records: records, watched: &seen, left: left, limit: t.options.Limit}
	t.rows = append(t.rows, e.rows(ctx)...)
	if e.submission() == nil {
		t.tail = e.lastLines()
	}
	return nil
}

// watched is what was seen of the session while it ran.
type watched struct {
	limit atomic.Bool
	wait  atomic.Pointer[string] // what it waits for that no test waits for
}

// look notes what the session waits for, and reports whether the trial is over because of that.
func (w *watched) look(s *orchestrator.State) bool {
	agent := s.Agents[orchestrator.KeyOf(roleOf, sessionName)]
	why := ""
	switch {
	case agent.Limited && agent.Until.IsZero():
		why = "its service refuses more for now"
	case agent.Limited:
		why = "its service refuses more until about " + agent.Until.UTC().Format("15:04 UTC")
	}
	if why == "" {
		return false
	}
	w.wait.CompareAndSwap(nil, &why)
	return true
}

func (t *trial) add(name, state, detail, hint string) {
	t.rows = append(t.rows, doctor.Probe{Name: name, State: state, Detail: detail, Hint: hint})
}

// print shows the rows and fails if one of them failed.
func (t *trial) print() error {
	if t.options.AsJSON {
		if err := t.finder.PrintJSON(t.rows); err != nil {
			return err
		}
	} else {
		doctor.Print(t.finder.Console, t.rows)
	}
	if len(t.tail) > 0 {
		t.finder.Say("the last lines of %s:", t.provider.Name)
	}
	for _, line := range t.tail {
		t.finder.Say("  %s", line)
	}
	for _, row := range t.rows {
		if row.State == doctor.Failed {
			return exit.Quiet(exit.NeedsHuman)
		}
	}
	return nil
}
