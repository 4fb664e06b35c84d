package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
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
	ref, err := parseIssue(arg, s.Identity.Bases.Server)
	if err != nil {
		return err
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
		done, err := existing(ctx, a, s, repo, ref.number, f)
		if done || err != nil {
			return err
		}
	}
	if s.Host.GitHub == nil {
		detail, hint := s.Identity.NoToken()
		return exit.Usage(fmt.Errorf("%s; %s; agentmux doctor shows what was looked for", detail, hint))
	}
	ref.repo = &repo
	p, err := planIssue(ctx, a, s, project, ref, f)
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
		p.spec.Unless = func() error { return begun(ctx, s, repo, ref.number) }
	}
	return launch(ctx, a, s, p, f)
}

// issueRepo decides whose issue is meant.
func issueRepo(ref issueRef, flag string, p *host.Project, server string) (ghsync.Repo, error) {
	if flag != "" {
		return flagRepo(flag, server)
	}
	if !p.GitHub {
		return ghsync.Repo{}, exit.Usage(fmt.Errorf("%s; agentmux run \"...\" works without an issue", site.NotOnServer(p, server)))
	}
	if ref.repo != nil && !strings.EqualFold(ref.repo.String(), p.Repo.String()) {
		return ghsync.Repo{}, exit.Usage(fmt.Errorf("the issue is of %s, but origin is %s; give --repo %s if origin is a fork of it", ref.repo, p.Repo, ref.repo))
	}
	return p.Repo, nil
}

// flagRepo reads --repo, which may name the server as well.
func flagRepo(flag, server string) (ghsync.Repo, error) {
	parts := strings.Split(flag, "/")
	if len(parts) == 3 {
		if u, err := url.Parse(server); err != nil || !strings.EqualFold(parts[0], u.Host) {
			return ghsync.Repo{}, exit.Usage(fmt.Errorf("--repo: %s is not on %s: set github.host in your own configuration if %s is your GitHub server", flag, server, parts[0]))
		}
		parts = parts[1:]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return ghsync.Repo{}, exit.Usage(fmt.Errorf("--repo: %q is no owner/name", flag))
	}
	return ghsync.Repo{Owner: parts[0], Name: parts[1]}, nil
}

// existing looks for a session of the issue that is not finished. done says that
// there was one and it was taken care of.
func existing(ctx context.Context, a *app, s *site.Site, repo ghsync.Repo, number int, f *runFlags) (done bool, err error) {
	entries, err := session.List(s.Project)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if !ofIssue(e, repo, number) {
			continue
		}
		if ours, err := hosting.Believes(ctx, a, s, e); err != nil || !ours {
			if err != nil {
				return false, err
			}
			continue
		}
		switch {
		case site.Ending(e):
			return true, site.StillEnding(e)
		case e.Running:
			return true, atWork(e)
		case owes(ctx, e):
			return true, hosting.Foreground(ctx, a, e.Dir, host.RunSpec{})
		case site.Unfinished(e) && (f.headless || !a.Terminal):
			return true, hosting.Foreground(ctx, a, e.Dir, host.RunSpec{Resume: true})
		case site.Unfinished(e):
			return true, exit.Usage(fmt.Errorf("%s is not finished; agentmux resume %s goes on with it, --new starts another", e.Name, e.Name))
		}
	}
	return false, nil
}

func ofIssue(e session.Entry, repo ghsync.Repo, number int) bool {
	return e.State != nil && e.State.IssueNumber == number && strings.EqualFold(string(e.State.Repo), repo.String())
}

func atWork(e session.Entry) error {
	return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("%s works on it already; agentmux attach %s", e.Name, e.Name)}
}

// planned is a session that could be made now.
type planned struct {
	spec   host.PrepareSpec
	record ghsync.Record
	push   bool // the account may write to the repository
}

func planIssue(ctx context.Context, a *app, s *site.Site, project *host.Project, ref issueRef, f *runFlags) (*planned, error) {
	repo, number := *ref.repo, ref.number
	what := fmt.Sprintf("%s#%d", repo, number)
	stop := a.Waiting("GitHub about " + what)
	record, err := s.Host.GitHub.Record(ctx, repo, number)
	stop()
	if transport.IsNotFound(err) && repo == project.Repo {
		if parent := forkedFrom(ctx, a, s, repo); parent != "" {
			return nil, exit.Usage(fmt.Errorf("%s is not there; %s is a fork: agentmux issue %d --repo %s takes an issue of what it was forked from", what, repo, number, parent))
		}
	}
	if err != nil {
		return nil, site.ExplainGitHub(err, what, s.Identity.From)
	}
	if record.Issue.Closed {
		return nil, exit.Usage(fmt.Errorf("%s is closed; reopen it to work on it", what))
	}
	sealed := sealed(record.Repository)
	if sealed != "" && s.Config.GitHub.Push {
		return nil, exit.Usage(fmt.Errorf("%s is %s, or set github.push: false to keep the work in this clone", record.Repository.Repo, sealed))
	}
	stop = a.Waiting("GitHub about who asked for " + what)
	requester, err := findRequester(ctx, a, s, record, repo)
	stop()
	if late := new(lateEditError); errors.As(err, &late) {
		return nil, exit.Usage(late)
	}
	if err != nil {
		return nil, site.ExplainGitHub(err, what, s.Identity.From)
	}
	stop = a.Waiting("GitHub about who wrote on " + what)
	snapshot, err := s.Host.GitHub.TakeSnapshot(ctx, ghsync.SnapshotSpec{
		Repo: repo, Issue: number, CutOff: time.Now().UTC(), Requester: requester, Record: &record,
	})
	stop()
	if err != nil {
		return nil, site.ExplainGitHub(err, what, s.Identity.From)
	}
	if snapshot.Report.Refused {
		return nil, exit.Usage(fmt.Errorf("%s hides text in so many layers that no part of it can be trusted: write it anew, without HTML and encoded characters", what))
	}
	spec, err := basicSpec(ctx, a, s, project, f)
	if err != nil {
		return nil, err
	}
	p := &planned{spec: spec, record: record, push: sealed == "" && s.Identity.MayPush(record.Repository)}
	p.spec.Snapshot, p.spec.Repo, p.spec.Title, p.spec.Locked = &snapshot, repo, record.Issue.Title, record.Issue.Locked
	request, labelled := record.Request(s.Config.Bot.Label)
	if p.spec.Workflow == "" && len(request.Workflows) > 1 {
		return nil, exit.Usage(fmt.Errorf("%s has labels of several workflows (%s): take all but one off, or give --workflow", what, strings.Join(request.Workflows, ", ")))
	}
	if p.spec.Workflow == "" && len(request.Workflows) == 1 {
		p.spec.Workflow = request.Workflows[0]
	}
	p.spec.Mirror = p.push && mirrors(f, s.Config.GitHub.Mirror, labelled)
	return p, nil
}

// forkedFrom names the repository that one is a fork of; "" if it is none.
func forkedFrom(ctx context.Context, a *app, s *site.Site, repo ghsync.Repo) string {
	r, err := s.Host.GitHub.Repository(ctx, repo.Owner, repo.Name)
	if err != nil || !r.Fork || r.ParentName == "" {
		return ""
	}
	return r.ParentOwner + "/" + r.ParentName
}

// sealed says why nobody can write to a repository, and what to do; "" if somebody can.
func sealed(r ghsync.Repository) string {
	switch {
	case r.Disabled:
		return "disabled, so nothing can be written to it: GitHub's support knows why"
	case r.Archived:
		return "archived, so nothing can be written to it: unarchive it"
	}
	return ""
}

// mirrors decides whether comments are written: the flags, else the
// configuration, else the label.
func mirrors(f *runFlags, configured string, labelled bool) bool {
	switch {
	case f.mirror:
		return true
	case f.noMirror, configured == "off":
		return false
	case configured == "on":
		return true
	}
	return labelled
}

// findRequester is who asked: the actor of the newest request label if they may write, else the
// account itself, for the person who types. Text that somebody without write access changed
// after the label is not what was asked for.
func findRequester(ctx context.Context, a *app, s *site.Site, record ghsync.Record, repo ghsync.Repo) (ghsync.Permission, error) {
	request, _ := record.Request(s.Config.Bot.Label)
	trigger := request.Trigger()
	if who := trigger.Actor.Login; who != "" && s.Identity.MayPush(record.Repository) { // others may not ask for permissions
		asker, err := s.Host.GitHub.Permission(ctx, repo, who)
		if err != nil {
			return asker, err
		}
		if _, known := record.LateEdits(trigger.At); asker.Write() && known {
			return asker, unasked(ctx, s, record, trigger)
		}
	}
	viewer, err := s.Host.GitHub.Viewer(ctx)
	if err != nil {
		return ghsync.Permission{}, err
	}
	level := ghsync.LevelRead
	if s.Identity.MayPush(record.Repository) {
		level = ghsync.LevelWrite
	}
	return ghsync.Permission{Account: viewer, Level: level}, nil
}

// lateEditError says that what a label asked for is not what the issue says now.
type lateEditError struct {
	what    string
	trigger ghsync.LabelEvent
	edit    ghsync.LateEdit
}

func (e *lateEditError) Error() string {
	const form = "2006-01-02 15:04:05 UTC"
	editor := "somebody who is not known"
	if e.edit.Editor.Login != "" {
		editor = e.edit.Editor.Login + ", who may not write,"
	}
	return fmt.Sprintf("%s was edited by %s at %s, after %s asked for it with the label %s at %s; read what it says now, "+
		"then take the label off and put it on again, or leave it off to ask for it yourself",
		e.what, editor, e.edit.At.UTC().Format(form), e.trigger.Actor.Login, e.trigger.Name, e.trigger.At.UTC().Format(form))
}

// unasked fails with a lateEditError if the text is not the one that was asked for.
func unasked(ctx context.Context, s *site.Site, record ghsync.Record, trigger ghsync.LabelEvent) error {
	edit, err := s.Host.GitHub.UnaskedEdit(ctx, record, trigger.At)
	if err != nil || edit == nil {
		return err
	}
	return &lateEditError{fmt.Sprintf("%s#%d", record.Repository.Repo, record.Issue.Number), trigger, *edit}
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
		if ofIssue(e, repo, number) && (e.Running || site.Unfinished(e)) && s.Host.Trust(ctx, e.Dir, e.State, s.Config) == nil {
			return atWork(e)
		}
	}
	return nil
}
