// Package start leads from what a person asks for to a running session: an issue, a text, a file,
// or an earlier session. Package request judges the request; this package checks it against the
// clone, prepares the session and gives it to a host. A dry run writes nothing.
package start

import (
	"context"
	"errors"
	"os"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Options are shared by issue and run.
type Options struct {
	Name, Workflow, Base       string
	ProductManager             bool
	Headless, Wait             bool
	Repo                       string
	Mirror, NoMirror, New, Dry bool
	Take                       bool // although another host works on the issue
	AsJSON                     bool // with dry
}

// check refuses flags that need another one.
func (f *Options) check() error {
	if f.AsJSON && !f.Dry {
		return exit.UsageText("--json goes with --dry-run; of a session, agentmux status --json tells")
	}
	return nil
}

// basicSpec returns what issue and run have in common.
func basicSpec(ctx context.Context, a *site.Finder, s *site.Site, project *project.Project, f *Options) (host.PrepareSpec, error) {
	stop := a.Waiting("the branches of the server")
	base, err := project.Base(ctx, s.Config, f.Base)
	stop()
	if err != nil {
		return host.PrepareSpec{}, site.ExplainRun(err)
	}
	for _, note := range base.Notes {
		a.Say("%s", note)
	}
	return host.PrepareSpec{
		Project: project, Dir: ownDir(s.Project, project), Config: s.Config, Files: site.Files(s.Project), Source: "working tree", Base: base,
		Name: f.Name, Workflow: f.Workflow, ProductManager: f.ProductManager, Interactive: a.Terminal && !f.Headless,
	}, nil
}

// ownDir returns the directory of a project below the clone's root; "" if the clone is the
// project. Both are compared as files, because the path of the shell may contain links.
func ownDir(dir string, p *project.Project) string {
	here, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	if root, err := os.Stat(p.Clone.Root); err != nil || os.SameFile(here, root) {
		return ""
	}
	return dir
}

// launch asks what the person has to allow, makes the session and runs it.
func launch(ctx context.Context, a *site.Finder, s *site.Site, p *planned, f *Options) error {
	if p.spec.Snapshot != nil && !p.push {
		a.Say("this account may not write to %s: the run ends with a branch in this clone", p.spec.Repo)
	}
	if err := p.ask(ctx, a, s); err != nil {
		return err
	}
	return p.run(ctx, a, s, f)
}

// ask asks the person at the terminal what they have to allow before the session is made.
func (p *planned) ask(ctx context.Context, a *site.Finder, s *site.Site) error {
	if !p.spec.Interactive {
		return nil
	}
	if err := hosting.AskSetup(ctx, a, s, p.spec.Root()); err != nil {
		return err
	}
	return hosting.AskAgentSettings(ctx, a, s, p.spec.Project, p.spec.Base.SHA)
}

// run makes the session and runs it: in the foreground, or detached with the terminal attached to its tmux.
func (p *planned) run(ctx context.Context, a *site.Finder, s *site.Site, f *Options) error {
	if err := useAccount(ctx, a, s, p); err != nil {
		return err
	}
	sess, err := s.Host.Prepare(ctx, p.spec)
	if err != nil {
		return site.ExplainRun(err)
	}
	if err := sess.Release(); err != nil {
		return err
	}
	crash.Point("release new session", "")
	level, _ := host.Sandbox(s.Config, os.LookupEnv)
	a.Outlive()
	a.Say("session %s (config: %s, sandbox: %s)", sess.Name(), p.spec.Source, level)
	if err := p.give(ctx, a, s, sess, f); err != nil {
		tellUnbegun(a, sess, err)
		return err
	}
	return nil
}

// give gives the session to a host, in this process or detached.
func (p *planned) give(ctx context.Context, a *site.Finder, s *site.Site, sess *session.Session, f *Options) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.spec.Interactive {
		if err := s.Log.Keep(sess.Path(session.HostLog)); err != nil {
			return err
		}
		hosting.Announce(a, sess.Dir, s.Host.Log)
		return hosting.Host(ctx, a, s, host.RunSpec{Dir: sess.Dir, Mirror: host.MirrorSpec{On: p.spec.Mirror}})
	}
	if err := hosting.Detach(ctx, a, s, sess.Dir); err != nil {
		return err
	}
	if f.Wait {
		return hosting.WaitEnd(ctx, a, sess)
	}
	return hosting.Join(ctx, a, s, sess.Dir)
}

// tellUnbegun says what there is of a session whose start was cut short, such as by an interrupt: nothing
// else would tell of it.
func tellUnbegun(a *site.Finder, sess *session.Session, err error) {
	name := sess.Name()
	if errors.Is(err, hosting.ErrLeft) {
		a.Say("the host of %s was started and keeps running: agentmux attach %s watches it, agentmux stop %s ends it", name, name, name)
		return
	}
	state, unread := sess.ReadState()
	switch {
	case unread != nil || state.Seq > session.FirstSeq: // a host has begun
	case state.Kind == orchestrator.KindAgents:
		a.Say("%s was made, and nothing of it runs: agentmux agents start continues it, agentmux agents cleanup %s ends it", name, name)
	default:
		a.Say("%s was made, and nothing of it runs: agentmux resume %s continues it", name, name)
	}
}

// useAccount replaces the host by one without GitHub if nothing can be written there. With github.push off the issue is claimed,
// shown and heard all the same: only the branch stays here.
func useAccount(ctx context.Context, a *site.Finder, s *site.Site, p *planned) error {
	if p.push {
		return nil
	}
	return a.Wire(ctx, s, s.Log, false)
}
