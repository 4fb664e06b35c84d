package main

import (
	"context"
	"fmt"
	"os"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

// runFlags are shared by issue and run.
type runFlags struct {
	name, workflow, base       string
	productManager             bool
	headless, wait             bool
	repo                       string
	mirror, noMirror, new, dry bool
	take                       bool // although another host is at work
	asJSON                     bool // with dry
}

func (f *runFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "`name` of the session")
	flags.StringVar(&f.workflow, "workflow", "", "`workflow` to use (default: the configured one)")
	flags.StringVar(&f.base, "base", "", "branch of the server, or HEAD or a commit of the clone, to start from")
	flags.BoolVar(&f.productManager, "product-manager", false, "begin with a product manager")
	flags.BoolVar(&f.headless, "headless", false, "stay in the foreground, ask nobody, end with the session")
	flags.BoolVar(&f.dry, "dry-run", false, "print what would be done and write nothing")
	flags.BoolVar(&f.asJSON, "json", false, "with --dry-run: machine-readable output, see docs/commands.md")
	flags.BoolVar(&f.wait, "wait", false, "with a detached session: wait for its end")
}

// check refuses flags that say nothing without another one.
func (f *runFlags) check() error {
	if f.asJSON && !f.dry {
		return exit.UsageText("--json goes with --dry-run; of a session, agentmux status --json tells")
	}
	return nil
}

func newIssueCmd(a *app) *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "issue N|#N|URL",
		Short: "Work on an issue until there is a reviewed pull request",
		Long: `Starts a session for an issue. At a terminal the session runs detached and the
terminal joins its tmux; detaching changes nothing. With --headless it runs in
the foreground and asks nobody.`,
		Example: `  agentmux issue 42
  agentmux issue 42 --workflow quick --headless
  agentmux issue https://github.com/octo/widgets/issues/42 --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runIssue(cmd.Context(), a, args[0], f) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.repo, "repo", "", "the issue's repository as `[host/]owner/name`, when it is not origin's")
	flags.BoolVar(&f.mirror, "mirror", false, "show the session on the issue although it has no label")
	flags.BoolVar(&f.noMirror, "no-mirror", false, "write nothing on the issue")
	flags.BoolVar(&f.new, "new", false, "start a new session although there is an unfinished one, or an open pull request")
	flags.BoolVar(&f.take, "take", false, "start although the issue says that another host is at work on it")
	return group(groupStart, cmd)
}

func runIssue(ctx context.Context, a *app, arg string, f *runFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.mirror && f.noMirror {
		return exit.UsageText("--mirror and --no-mirror exclude each other")
	}
	if err := doctor.CheckPrograms(ctx); err != nil {
		return err
	}
	s, err := a.Open(ctx, &hostlog.Log{Terminal: a.Err})
	if err != nil {
		return err
	}
	ref, err := request.ParseRef(arg, s.Identity.Bases.Server)
	if err != nil {
		return refused(err)
	}
	project, err := s.Host.Project(ctx, s.Project, s.Config)
	if err != nil {
		return site.ExplainProject(err, s.Project)
	}
	repo, err := issueRepo(ref, f.repo, project, s.Identity.Bases.Server)
	if err != nil {
		return err
	}
	if !f.new && !f.dry {
		done, err := existing(ctx, a, s, repo, ref.Number, f)
		if done || err != nil {
			return err
		}
	}
	if s.Host.GitHub == nil {
		detail, hint := s.Identity.NoToken()
		return exit.Usage(fmt.Errorf("%s; %s; agentmux doctor shows what was looked for", detail, hint))
	}
	p, err := planIssue(ctx, a, s, issueOf{project, repo, ref.Number}, f)
	if err != nil {
		return err
	}
	if f.dry {
		return dryRun(ctx, a, s, p, f.asJSON)
	}
	if err := notTwice(ctx, a, s, p, f); err != nil {
		return err
	}
	if !f.new {
		p.spec.Unless = func() error { return begun(ctx, s, repo, ref.Number) }
	}
	return launch(ctx, a, s, p, f)
}

// issueRepo decides whose issue is meant.
func issueRepo(ref request.Ref, flag string, p *host.Project, server string) (repo ghsync.Repo, err error) {
	switch {
	case flag != "":
		repo, err = request.ParseRepo(flag, server)
	case !p.GitHub:
		return repo, exit.Usage(fmt.Errorf("%s; agentmux run \"...\" works without an issue", site.NotOnServer(p, server)))
	default:
		repo, err = ref.In(p.Repo)
	}
	return repo, refused(err)
}

// refused makes what a person can correct in a request a usage error.
func refused(err error) error {
	if exit.As[*request.Error](err) {
		return exit.Usage(err)
	}
	return err
}

// existing looks for a session of the issue that is not finished. done says that
// there was one and it was taken care of.
func existing(ctx context.Context, a *app, s *site.Site, repo ghsync.Repo, number int, f *runFlags) (done bool, err error) {
	entries, err := session.List(s.Project)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if !request.Of(e, repo, number) {
			continue
		}
		if ours, err := hosting.Believes(ctx, a, s, e); err != nil || !ours {
			if err != nil {
				return false, err
			}
			continue
		}
		switch request.Means(e, func() bool { return owes(ctx, e) }) {
		case request.Ending:
			return true, site.StillEnding(e)
		case request.Running:
			return true, atWork(e)
		case request.Owing:
			return true, hosting.Foreground(ctx, a, e.Dir, host.RunSpec{})
		case request.Unfinished:
			if f.headless || !a.Terminal {
				return true, hosting.Foreground(ctx, a, e.Dir, host.RunSpec{Resume: true})
			}
			return true, exit.Usage(fmt.Errorf("%s is not finished; agentmux resume %s goes on with it, --new starts another", e.Name, e.Name))
		}
	}
	return false, nil
}

func atWork(e session.Entry) error {
	return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("%s works on it already; agentmux attach %s", e.Name, e.Name)}
}

// planned is a session that could be made now.
type planned struct {
	spec   host.PrepareSpec
	judge  request.Judge
	judged *request.Judged // nil without an issue
	push   bool            // the account may write to the repository
}

// issueOf names an issue for a clone.
type issueOf struct {
	project *host.Project
	repo    ghsync.Repo
	number  int
}

func planIssue(ctx context.Context, a *app, s *site.Site, of issueOf, f *runFlags) (*planned, error) {
	judge := request.Judge{
		GitHub: s.Host.GitHub, Label: s.Config.Bot.Label, Push: s.Config.GitHub.Push, MayPush: s.Identity.MayPush, Waiting: a.Waiting,
	}
	judged, err := judge.Issue(ctx, of.repo, of.number, of.project.Repo)
	if err != nil {
		return nil, refusedOr(err, fmt.Sprintf("%s#%d", of.repo, of.number), s)
	}
	spec, err := basicSpec(ctx, a, s, of.project, f)
	if err != nil {
		return nil, err
	}
	p := &planned{spec: spec, judge: judge, judged: judged, push: judged.Push}
	issue := judged.Record.Issue
	p.spec.Snapshot, p.spec.Repo, p.spec.Title, p.spec.Locked = &judged.Snapshot, of.repo, issue.Title, issue.Locked
	if p.spec.Workflow, err = judged.Workflow(spec.Workflow); err != nil {
		return nil, refused(err)
	}
	p.spec.Mirror = judged.Mirrored(f.mirror, f.noMirror, s.Config.GitHub.Mirror)
	return p, nil
}

// refusedOr makes what was refused a usage error, and explains what GitHub did not do with what.
func refusedOr(err error, what string, s *site.Site) error {
	if exit.As[*request.Error](err) {
		return exit.Usage(err)
	}
	return site.ExplainGitHub(err, what, s.Identity.From)
}

// notTwice refuses a start that would make a second pull request for an issue: one of an
// earlier session is open, or another host is at work. --new and --take say that it is meant.
func notTwice(ctx context.Context, a *app, s *site.Site, p *planned, f *runFlags) error {
	if !p.push || !s.Config.GitHub.Push {
		return nil
	}
	stop := a.Waiting("GitHub about other work on " + p.judged.String())
	defer stop()
	if !f.take {
		if err := notElsewhere(ctx, s, p); err != nil {
			return err
		}
	}
	prefix := fmt.Sprintf("%sissue-%d-", s.Config.GitHub.BranchPrefix, p.judged.Record.Issue.Number)
	if f.new || named(s, f) || !p.judged.ShownBefore() && !p.spec.Project.MayHaveBranch(ctx, prefix) {
		return nil
	}
	if err := p.judge.OpenPull(ctx, p.judged); err != nil {
		return refusedOr(err, "the pull requests of "+p.spec.Repo.String(), s)
	}
	return nil
}

// named reports whether a session has the name that was asked for: that is said first.
func named(s *site.Site, f *runFlags) bool {
	if f.name == "" {
		return false
	}
	_, err := session.Find(s.Project, f.name, nil)
	return err == nil
}

// notElsewhere refuses an issue whose label says that a session is at work which is not one
// of this clone.
func notElsewhere(ctx context.Context, s *site.Site, p *planned) error {
	elsewhere, err := p.judge.Elsewhere(ctx, p.judged)
	if err != nil {
		return site.ExplainGitHub(err, p.judged.String(), s.Identity.From)
	}
	if elsewhere == nil {
		return nil
	}
	entries, err := session.List(s.Project)
	if err != nil || elsewhere.Among(entries) {
		return err
	}
	return &exit.Error{Code: exit.Locked, Err: elsewhere}
}

// basicSpec is what issue and run have in common.
func basicSpec(ctx context.Context, a *app, s *site.Site, project *host.Project, f *runFlags) (host.PrepareSpec, error) {
	stop := a.Waiting("the branches of the server")
	base, err := project.Base(ctx, s.Config, f.base)
	stop()
	if err != nil {
		return host.PrepareSpec{}, site.ExplainRun(err)
	}
	for _, note := range base.Notes {
		a.Say("%s", note)
	}
	return host.PrepareSpec{
		Project: project, Dir: ownDir(s.Project, project), Config: s.Config, Files: os.DirFS(s.Project), Source: "working tree", Base: base,
		Name: f.name, Workflow: f.workflow, ProductManager: f.productManager, Interactive: a.Terminal && !f.headless,
	}, nil
}

// ownDir is a project below the clone's root; "" if the clone is the project. The way that a
// person's shell names the root may lead through links.
func ownDir(dir string, p *host.Project) string {
	here, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	if root, err := os.Stat(p.Clone.Root); err != nil || os.SameFile(here, root) {
		return ""
	}
	return dir
}

// launch makes the session and runs it: in the foreground, or detached with the
// terminal attached to its tmux.
func launch(ctx context.Context, a *app, s *site.Site, p *planned, f *runFlags) error {
	if p.spec.Snapshot != nil && !p.push {
		a.Say("this account may not write to %s: the run ends with a branch in this clone", p.spec.Repo)
	}
	if err := useAccount(ctx, a, s, p); err != nil {
		return err
	}
	if p.spec.Interactive {
		if err := hosting.AskSetup(ctx, a, s, p.spec.Root()); err != nil {
			return err
		}
		if err := hosting.AskAgentSettings(ctx, a, s, p.spec.Project, p.spec.Base.SHA); err != nil {
			return err
		}
	}
	sess, err := s.Host.Prepare(ctx, p.spec)
	if err != nil {
		return site.ExplainRun(err)
	}
	if err := sess.Release(); err != nil {
		return err
	}
	crash.Point("release new session", "")
	a.Say("session %s (config: %s, sandbox: none)", sess.Name(), p.spec.Source)
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
	if f.wait {
		return hosting.WaitEnd(ctx, a, sess)
	}
	return hosting.Join(ctx, a, sess.Dir)
}

// begun refuses a session of an issue for which another command has made one since ours
// looked: people start twice what seems to do nothing.
func begun(ctx context.Context, s *site.Site, repo ghsync.Repo, number int) error {
	entries, err := session.List(s.Project)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if request.Of(e, repo, number) && request.Means(e, func() bool { return false }) != request.Finished && s.Host.Trust(ctx, e.Dir, e.State, s.Config) == nil {
			return atWork(e)
		}
	}
	return nil
}
