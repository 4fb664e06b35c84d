package host

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/bot/crew"
	"github.com/agentmux/agentmux/bot/rehearsal"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/ghsync/pulltext"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/prompt"
)

// Preview makes the session in a temporary directory, asks the code of a real run what it would
// do first and write in the end, and removes the directory. No agent starts and nothing is
// written for the project, on this machine or on the server. Errors are Prepare's.
func (h *Host) Preview(ctx context.Context, spec PrepareSpec) (*rehearsal.Preview, error) {
	scratch, err := os.MkdirTemp("", "amx")
	if err != nil {
		return nil, fmt.Errorf("make preview: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	spec.dir = scratch
	sess, err := h.Prepare(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sess.Close() }()
	r, err := h.previewer(sess, spec, scratch)
	if err != nil {
		return nil, err
	}
	p := &rehearsal.Preview{State: r.state.Load()}
	named := *p.State
	named.Completion.Subject, _, _ = strings.Cut(r.work.CommitMessage("", p.State), "\n")
	p.Title = r.work.PullTitle(orchestrator.Args{}, &named)
	if r.GitHub != nil && r.project.GitHub {
		body, err := r.work.PullBody(ctx, orchestrator.Args{Branch: p.State.FeatureBranch}, p.State)
		if err != nil {
			return nil, err
		}
		p.Body = pulltext.Render(body)
	}
	if err := r.previewPrompts(ctx, p); err != nil {
		return nil, err
	}
	if err := r.previewLaunches(p, scratch); err != nil {
		return nil, err
	}
	writes, err := r.rehearse(ctx, spec.Mirror)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if p.Writes = writes; err != nil {
		p.Halt = err.Error()
	}
	p.Rename(sess.Dir, filepath.Join(session.Dir(spec.Root()), sess.Name()))
	p.Rename(scratch, "<scratch>")
	return p, nil
}

// previewer returns a runner with everything but panes and a watcher.
func (h *Host) previewer(sess *session.Session, spec PrepareSpec, scratch string) (*runner, error) {
	s, err := sess.ReadState()
	if err != nil {
		return nil, err
	}
	def, err := sess.Definition()
	if err != nil {
		return nil, err
	}
	providers, err := Providers(spec.Config)
	if err != nil {
		return nil, err
	}
	own := *h
	own.Log = slog.New(slog.DiscardHandler) // nothing happens that belongs into a log
	own.RuntimeDir = filepath.Join(scratch, "run")
	r := own.gather(work.Spec{Session: sess, State: s, Workflow: def, Config: spec.Config, Project: spec.Project}, providers, guarding{})
	if err := r.crew.HideCredentials(providers); err != nil {
		return nil, err
	}
	if spec.Files != nil {
		files, err := fs.Sub(spec.Files, prompt.ProjectDir)
		if err != nil {
			return nil, err
		}
		r.crew.UsePrompts(files)
	}
	r.state.Store(s)
	return r, nil
}

func (r *runner) previewPrompts(ctx context.Context, p *rehearsal.Preview) error {
	for _, o := range duty.Owed(r.def, p.State) {
		a := orchestrator.Args{
			Role: o.Role, Task: o.Task, Template: o.Template, PromptFile: o.PromptFile, Workspace: o.Workspace,
			Base: p.State.BaseSHA, Visit: p.State.Visit,
			Launch: orchestrator.LaunchParts{Visit: p.State.Visit, Role: o.Role, Task: o.Task, Attempt: 1}.Launch(),
		}
		s := *p.State
		s.Workspaces = map[string]orchestrator.Workspace{a.Workspace: {Path: r.work.WorkspacePath(a)}}
		if _, err := r.crew.EnsurePrompt(ctx, a, &s); err != nil {
			return err
		}
		text, err := os.ReadFile(r.sess.Path(a.PromptFile))
		if err != nil {
			return fmt.Errorf("read prompt: %w", err)
		}
		p.Prompts = append(p.Prompts, rehearsal.Prompt{Role: o.Role, File: a.PromptFile, Text: string(text)})
	}
	return nil
}

func (r *runner) previewLaunches(p *rehearsal.Preview, scratch string) error {
	seen := map[string]bool{}
	for _, role := range r.def.Roles() {
		if seen[role] {
			continue
		}
		seen[role] = true
		launch := orchestrator.LaunchParts{Visit: 1, Role: role, Attempt: 1}.Launch()
		a := orchestrator.Args{Role: role, Workspace: "preview", PromptFile: "PROMPT", Launch: launch}
		s := *p.State
		s.Workspaces = map[string]orchestrator.Workspace{a.Workspace: {Path: scratch}}
		spec, err := r.crew.LaunchSpec(a, &s)
		if err != nil {
			return err
		}
		if spec.Env.RealHome == "" {
			spec.Env.Home = filepath.Join(scratch, "home")
		}
		prepared, err := agent.Prepare(spec)
		if err != nil {
			return crew.PrepareFailure(err)
		}
		p.Launches = append(p.Launches, rehearsal.Launch{Role: role, Provider: prepared.Provider, Argv: prepared.Argv, EnvNames: prepared.EnvNames})
	}
	return nil
}

// rehearse returns the writes in order; the runner must not be used afterwards. The error says
// where the rehearsal stopped; the writes before it are returned.
func (r *runner) rehearse(ctx context.Context, show bool) ([]rehearsal.Write, error) {
	s, err := r.sess.Recover(r.Now())
	if err != nil {
		return nil, err
	}
	writes := &rehearsal.Writes{}
	spec := rehearsal.Spec{
		Session: r.sess, State: s, Workflow: r.def, Effects: rehearsed{r}, Writes: writes, Now: r.Now(),
		Pushed: r.project.Repo.String(), Managed: r.project.Managed,
		Claims: s.IssueNumber != 0 && r.GitHub != nil && r.Token != nil && !r.ReadOnly && !r.cfg.Bot.SingleHost,
		Leaves: r.work.CheckpointsLeave(),
	}
	if spec.Tree, err = r.project.Store.Tree(ctx, s.BaseSHA); err != nil {
		return nil, err
	}
	if r.GitHub != nil {
		r.work.Pulls = writes.Pulls(r.GitHub)
		if show && s.IssueNumber != 0 {
			o := r.mirrorOptions(s, MirrorSpec{HostID: "rehearsal"})
			o.Server = writes.Server(o.Server)
			spec.Mirror = &o
		}
	}
	err = rehearsal.Run(ctx, spec)
	return writes.List(), err
}

// rehearsed carries out the effects of a runner for its rehearsal.
type rehearsed struct{ r *runner }

func (h rehearsed) Ensure(ctx context.Context, e orchestrator.Effect) (orchestrator.Result, error) {
	return actions[e.Type](h.r, ctx, e, h.r.state.Load())
}

func (h rehearsed) WorkspacePath(a orchestrator.Args) string { return h.r.work.WorkspacePath(a) }

func (h rehearsed) CommitMessage(chosen string, s *orchestrator.State) string {
	return h.r.work.CommitMessage(chosen, s)
}

func (h rehearsed) NoPush() (withheld orchestrator.Withheld, why string) { return h.r.work.NoPush() }

func (h rehearsed) Committed(s *orchestrator.State) { h.r.state.Store(s) }
