package crew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// StartAgent starts a launch in exactly one pane. A live pane is adopted. A launch that has ended
// is not started a second time; Observe reports it.
func (r *Crew) StartAgent(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	a := e.Args
	dir := r.launchDir(a.Launch)
	_, ended, err := agent.ReadExit(dir)
	if err != nil {
		return orchestrator.Result{}, err
	}
	var pane tmux.Pane
	found := false
	if r.prepared(a.Launch) {
		if pane, found, err = r.panes.find(ctx, a.Launch); err != nil {
			return orchestrator.Result{}, fmt.Errorf("start %s: %w", a.Launch, err)
		}
	}
	waiting := found && !ended && !pane.Dead && awaitsHost(dir)
	if (ended || found) && !waiting {
		return r.adopt(ctx, a, dir, pane, found)
	}
	if !waiting {
		if err := (services{r}).mayStart(ctx, a, s); err != nil {
			return orchestrator.Result{}, err
		}
	}
	sum, err := r.EnsurePrompt(ctx, a, s)
	if err != nil {
		return orchestrator.Result{}, err
	}
	spec, err := r.LaunchSpec(a, s)
	if err != nil {
		return orchestrator.Result{}, err
	}
	if err := r.replaceSettings(ctx, s, spec); err != nil {
		return orchestrator.Result{}, err
	}
	if err := place.MakeRuntimeDir(r.RuntimeDir); err != nil {
		return orchestrator.Result{}, engine.Never(fmt.Errorf("start %s: %w", a.Launch, err))
	}
	launch, err := agent.Prepare(spec)
	if err != nil {
		return orchestrator.Result{}, PrepareFailure(err)
	}
	r.seals.learn(a.Launch, launch.Checks)
	crash.Point("prepare agent", a.Role)
	if err := r.handOver(ctx, a, launch, pane); err != nil {
		return orchestrator.Result{}, err
	}
	return orchestrator.Result{
		Provider: launch.Provider, FallbackFor: services{r}.replaced(a), Model: launch.Model, Effort: launch.Effort, PromptSHA256: sum, CLISession: launch.CLISession,
		ToolName: r.providers[launch.Provider].ToolName,
	}, nil
}

// awaitsHost reports whether the agent-exec of a live pane has no environment yet: the host that
// opened the pane was killed before the hand-off.
func awaitsHost(dir string) bool {
	launch, err := agent.ReadLaunch(dir)
	return err == nil && launch.Socket != "" && !agent.Started(dir)
}

// PrepareFailure marks faults of the configuration as final; others may pass.
func PrepareFailure(err error) error {
	if errors.Is(err, agent.ErrNoLogin) || errors.Is(err, agent.ErrUnsafe) {
		return engine.Never(err)
	}
	return err
}

// adopt describes a launch that was started before, and completes the start if a host was killed
// right after it had opened the pane.
func (r *Crew) adopt(ctx context.Context, a orchestrator.Args, dir string, pane tmux.Pane, found bool) (orchestrator.Result, error) {
	launch, err := agent.ReadLaunch(dir)
	if err != nil {
		return orchestrator.Result{}, engine.Never(err)
	}
	if found && !pane.Dead {
		if !pane.Piped {
			recording{r, launch}.start(ctx, pane.ID)
		} else {
			r.recorders.Expect(launch.Launch)
		}
		if err := r.panes.noteAgent(a, pane); err != nil {
			return orchestrator.Result{}, err
		}
	}
	res := orchestrator.Result{Provider: launch.Provider, FallbackFor: services{r}.replaced(a), Model: launch.Model, Effort: launch.Effort, CLISession: launch.CLISession, ToolName: r.providers[launch.Provider].ToolName}
	if data, err := session.ReadFile(r.sess.Path(a.PromptFile)); err == nil {
		res.PromptSHA256 = hashOf(data)
	}
	return res, nil
}

// openTime bounds the start of a window once it has begun.
const openTime = 15 * time.Second

// handOver has agent-exec run the prepared launch in pane, or in a new pane, and gives it the
// environment. Once begun it is not interrupted: a half-made window would run unnoticed. After
// an error the next try finds the pane and continues there.
func (r *Crew) handOver(ctx context.Context, a orchestrator.Args, launch agent.Launch, pane tmux.Pane) error {
	if err := ctx.Err(); err != nil {
		return errors.Join(err, launch.Discard())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTime)
	defer cancel()
	offer, err := launch.Offer(r.launchDir(a.Launch))
	if err != nil {
		return err
	}
	defer offer.Close()
	if pane.ID == "" {
		if pane, err = r.openPane(ctx, a, launch); err != nil {
			return err
		}
		crash.Point("open pane", a.Role)
	} else if !pane.Piped {
		recording{r, launch}.start(ctx, pane.ID)
	}
	if err := offer.Serve(ctx, pane.PID); err != nil {
		return fmt.Errorf("start %s: %w", a.Launch, err)
	}
	crash.Point("hand over", a.Role)
	return r.panes.noteAgent(a, pane)
}

// openPane opens the window in which agent-exec waits for its environment.
func (r *Crew) openPane(ctx context.Context, a orchestrator.Args, launch agent.Launch) (tmux.Pane, error) {
	options := map[string]string{tagSession: r.sess.Name(), tagRole: a.Role, tagLaunch: string(a.Launch)}
	if a.Task != "" {
		options[tagTask] = a.Task
	}
	pane, err := r.panes.open(ctx, orchestrator.KeyOf(a.Role, a.Task), tmux.WindowSpec{
		Command: []string{r.Self, "agent-exec", r.launchDir(a.Launch)}, Dir: launch.Cwd, Options: options, Pipe: recording{r, launch}.program(),
	})
	if !pane.Piped {
		r.recorders.Done(launch.Launch)
	}
	if err != nil {
		return tmux.Pane{}, fmt.Errorf("start %s: %w", a.Launch, err)
	}
	return pane, nil
}

// LaunchSpec returns what a launch is made from.
func (r *Crew) LaunchSpec(a orchestrator.Args, s *orchestrator.State) (agent.LaunchSpec, error) {
	choice := r.choose(a)
	provider, ok := r.providers[choice.Provider]
	if !ok {
		return agent.LaunchSpec{}, engine.Never(fmt.Errorf("start %s: provider %s is not configured", a.Launch, choice.Provider))
	}
	workdir := s.Workspaces[a.Workspace].Path
	if workdir == "" {
		return agent.LaunchSpec{}, fmt.Errorf("start %s: its workspace %s is not made yet", a.Launch, a.Workspace)
	}
	spec := agent.LaunchSpec{
		Dir: r.launchDir(a.Launch), Session: r.sess.Dir, Launch: string(a.Launch), Role: a.Role, Task: a.Task, Self: r.Self,
		Provider: provider, Transport: r.transport(a, provider, s), Unattended: !s.Interactive, AllowUnsafe: r.MayActFreely(),
		Model: choice.Model, Effort: choice.Effort, Args: choice.Args, Line: promptLine(r.sess.Path(a.PromptFile)),
		Workdir: workdir, TrustDir: filepath.Dir(workdir), Runtime: r.RuntimeDir, Env: r.environment(a, s), Now: r.Now(),
	}
	if a.Continue {
		spec.Resume = r.resumable(a, provider, s)
	}
	r.shareLogin(&spec, s)
	return spec, nil
}

// choose returns how an agent is started: with the provider that took over, else as it is configured.
func (r *Crew) choose(a orchestrator.Args) config.Choice {
	if a.Provider != "" {
		return r.cfg.Substitute(a.Role, a.Provider)
	}
	return services{r}.configured(a)
}

// replaced returns the configured provider of an agent, if another one took over; else "".
func (r services) replaced(a orchestrator.Args) string {
	if a.Provider == "" {
		return ""
	}
	return r.configured(a).Provider
}

// configured returns how an agent is to be started: as its role, but for what an agents file says of it.
func (r services) configured(a orchestrator.Args) config.Choice {
	choice := r.cfg.Choose(a.Role)
	if r.def.Team == nil {
		return choice
	}
	if m := r.def.Team.Agent(a.Task); m != nil {
		if m.Provider != "" && m.Provider != choice.Provider {
			choice = config.Choice{Provider: m.Provider}
		}
		choice.Model = cmp.Or(m.Model, choice.Model)
	}
	return choice
}

// promptLine returns the first line of an agent.
func promptLine(file string) string { return agent.Opening + file }

// transport returns how an agent runs. One that should end by itself has a terminal all the same if its program may act only
// with a person's word, and a person is there.
func (r *sandbox) transport(a orchestrator.Args, p agent.Provider, s *orchestrator.State) agent.Transport {
	asks := s.Interactive && p.SkipsPermissions && !r.MayActFreely()
	t := agent.Transport(r.cfg.Transport(a.Role, a.Headless && !asks))
	if t == agent.TUI || t != agent.Headless && (s.Interactive || p.StopHook) {
		return agent.TUI
	}
	return agent.Headless
}

// shareLogin lets an agent of an interactive session use the person's own login if there is no
// other. The program then runs in its terminal, with the person present.
func (r *sandbox) shareLogin(spec *agent.LaunchSpec, s *orchestrator.State) {
	if !s.Interactive || r.cfg.Sandbox.Home == "private" {
		return
	}
	if _, _, err := spec.Provider.Login(spec.Env); errors.Is(err, agent.ErrNoLogin) {
		spec.Env.RealHome, spec.Transport, spec.Unattended = r.Home, agent.TUI, false
	}
}

// resumable returns the program's own session of the agent's former launch, if the same provider
// made it.
func (r *Crew) resumable(a orchestrator.Args, p agent.Provider, s *orchestrator.State) string {
	known := s.Agents[orchestrator.KeyOf(a.Role, a.Task)]
	if known.CLISession == "" || len(p.ResumeArgs) == 0 {
		return ""
	}
	launch, ok := a.Launch.Parts()
	if !ok || launch.Attempt < 2 {
		return ""
	}
	launch.Attempt--
	former, err := agent.ReadLaunch(r.launchDir(launch.Launch()))
	if err != nil || former.Provider != p.Name {
		return ""
	}
	return string(known.CLISession)
}

func (r *Crew) environment(a orchestrator.Args, s *orchestrator.State) agent.EnvSpec {
	name := orchestrator.KeyOf(a.Role, a.Task).Flat()
	if a.Home != "" {
		name += "." + a.Home // no key has a dot
	}
	env := agent.EnvSpec{
		Path: r.AgentPath(), Home: filepath.Join(r.place.Homes(r.StateHome), name),
		Logins: r.Logins(), Author: r.project.User.Name, Email: r.project.User.Mail,
		Extra: r.allowedEnvironment(), Lookup: r.Environ,
	}
	env.TimeZone, _ = r.Environ("TZ")
	env.Runner, _ = r.Environ("RUNNER_TRACKING_ID")
	return env
}
