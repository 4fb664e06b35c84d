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
	"github.com/agentmux/agentmux/bot/project"
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
		return usageText("--json goes with --dry-run; of a session, agentmux status --json tells")
	}
	return nil
}

func (a *app) issueCommand() *cobra.Command {
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
		RunE: func(cmd *cobra.Command, args []string) error { return a.issue(cmd.Context(), args[0], f) },
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

func (a *app) issue(ctx context.Context, arg string, f *runFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.mirror && f.noMirror {
		return usageText("--mirror and --no-mirror exclude each other")
	}
	if err := a.tools(ctx); err != nil {
		return err
	}
	s, err := a.site(ctx, &hostLog{terminal: a.err})
	if err != nil {
		return err
	}
	ref, err := parseIssue(arg, s.identity.bases.Server)
	if err != nil {
		return err
	}
	project, err := s.host.Project(ctx, s.project, s.config)
	if err != nil {
		return explainProject(err, s.project)
	}
	repo, err := issueRepo(ref, f.repo, project, s.identity.bases.Server)
	if err != nil {
		return err
	}
	if !f.new && !f.dry {
		done, err := a.existing(ctx, s, repo, ref.number, f)
		if done || err != nil {
			return err
		}
	}
	if s.host.GitHub == nil {
		detail, hint := s.identity.noToken()
		return usage(fmt.Errorf("%s; %s; agentmux doctor shows what was looked for", detail, hint))
	}
	p, err := a.planIssue(ctx, s, project, repo, ref.number, f)
	if err != nil {
		return err
	}
	if f.dry {
		return a.dryRun(ctx, s, p, f.asJSON)
	}
	if err := a.notTwice(ctx, s, p, f); err != nil {
		return err
	}
	if !f.new {
		p.spec.Unless = func() error { return s.begun(ctx, repo, ref.number) }
	}
	return a.launch(ctx, s, p, f)
}

func explainProject(err error, dir string) error {
	detail, hint := cloneWords(err, dir)
	return usage(fmt.Errorf("%s; %s", detail, hint))
}

// notOnServer says why a clone has no repository on the GitHub server, and what to do.
func notOnServer(p *project.Project, server string) string {
	switch {
	case p.Clone.Origin == "":
		return "this clone has no remote named origin: git remote add origin URL"
	case p.Host == "":
		return "origin is no repository of a GitHub server: git remote -v"
	}
	return fmt.Sprintf("origin is on %s, not on %s: set github.host if that is your GitHub server", p.Host, server)
}

// issueRepo decides whose issue is meant.
func issueRepo(ref issueRef, flag string, p *project.Project, server string) (ghsync.Repo, error) {
	if flag != "" {
		return flagRepo(flag, server)
	}
	if !p.GitHub {
		return ghsync.Repo{}, usage(fmt.Errorf("%s; agentmux run \"...\" works without an issue", notOnServer(p, server)))
	}
	if ref.repo != nil && !strings.EqualFold(ref.repo.String(), p.Repo.String()) {
		return ghsync.Repo{}, usage(fmt.Errorf("the issue is of %s, but origin is %s; give --repo %s if origin is a fork of it", ref.repo, p.Repo, ref.repo))
	}
	return p.Repo, nil
}

// flagRepo reads --repo, which may name the server as well.
func flagRepo(flag, server string) (ghsync.Repo, error) {
	parts := strings.Split(flag, "/")
	if len(parts) == 3 {
		if u, err := url.Parse(server); err != nil || !strings.EqualFold(parts[0], u.Host) {
			return ghsync.Repo{}, usage(fmt.Errorf("--repo: %s is not on %s: set github.host in your own configuration if %s is your GitHub server", flag, server, parts[0]))
		}
		parts = parts[1:]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return ghsync.Repo{}, usage(fmt.Errorf("--repo: %q is no owner/name", flag))
	}
	return ghsync.Repo{Owner: parts[0], Name: parts[1]}, nil
}

// existing looks for a session of the issue that is not finished. done says that
// there was one and it was taken care of.
func (a *app) existing(ctx context.Context, s *site, repo ghsync.Repo, number int, f *runFlags) (done bool, err error) {
	entries, err := session.List(s.project)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if !ofIssue(e, repo, number) {
			continue
		}
		if ours, err := a.believes(ctx, s, e); err != nil || !ours {
			if err != nil {
				return false, err
			}
			continue
		}
		switch {
		case ending(e):
			return true, stillEnding(e)
		case e.Running:
			return true, atWork(e)
		case owes(ctx, e):
			return true, a.foreground(ctx, e.Dir, host.RunSpec{})
		case unfinished(e) && (f.headless || !a.terminal):
			return true, a.foreground(ctx, e.Dir, host.RunSpec{Resume: true})
		case unfinished(e):
			return true, usage(fmt.Errorf("%s is not finished; agentmux resume %s goes on with it, --new starts another", e.Name, e.Name))
		}
	}
	return false, nil
}

func ofIssue(e session.Entry, repo ghsync.Repo, number int) bool {
	return e.State != nil && e.State.IssueNumber == number && strings.EqualFold(string(e.State.Repo), repo.String())
}

func atWork(e session.Entry) error {
	return &codeError{exitLocked, fmt.Errorf("%s works on it already; agentmux attach %s", e.Name, e.Name)}
}

// planned is a session that could be made now.
type planned struct {
	spec   host.PrepareSpec
	record ghsync.Record
	push   bool // the account may write to the repository
}

func (a *app) planIssue(ctx context.Context, s *site, project *project.Project, repo ghsync.Repo, number int, f *runFlags) (*planned, error) {
	what := fmt.Sprintf("%s#%d", repo, number)
	stop := a.waiting("GitHub about " + what)
	record, err := s.host.GitHub.Record(ctx, repo, number)
	stop()
	if transport.IsNotFound(err) && repo == project.Repo {
		if parent := a.forkedFrom(ctx, s, repo); parent != "" {
			return nil, usage(fmt.Errorf("%s is not there; %s is a fork: agentmux issue %d --repo %s takes an issue of what it was forked from", what, repo, number, parent))
		}
	}
	if err != nil {
		return nil, explainGitHub(err, what, s.identity.from)
	}
	if record.Issue.Closed {
		return nil, usage(fmt.Errorf("%s is closed; reopen it to work on it", what))
	}
	sealed := sealed(record.Repository)
	if sealed != "" && s.config.GitHub.Push {
		return nil, usage(fmt.Errorf("%s is %s, or set github.push: false to keep the work in this clone", record.Repository.Repo, sealed))
	}
	stop = a.waiting("GitHub about who asked for " + what)
	requester, err := a.requester(ctx, s, record, repo)
	stop()
	if late := new(lateEditError); errors.As(err, &late) {
		return nil, usage(late)
	}
	if err != nil {
		return nil, explainGitHub(err, what, s.identity.from)
	}
	stop = a.waiting("GitHub about who wrote on " + what)
	snapshot, err := s.host.GitHub.TakeSnapshot(ctx, ghsync.SnapshotSpec{
		Repo: repo, Issue: number, CutOff: time.Now().UTC(), Requester: requester, Record: &record,
	})
	stop()
	if err != nil {
		return nil, explainGitHub(err, what, s.identity.from)
	}
	if snapshot.Report.Refused {
		return nil, usage(fmt.Errorf("%s hides text in so many layers that no part of it can be trusted: write it anew, without HTML and encoded characters", what))
	}
	spec, err := a.basicSpec(ctx, s, project, f)
	if err != nil {
		return nil, err
	}
	p := &planned{spec: spec, record: record, push: sealed == "" && s.mayPush(record.Repository)}
	p.spec.Snapshot, p.spec.Repo, p.spec.Title, p.spec.Locked = &snapshot, repo, record.Issue.Title, record.Issue.Locked
	request, labelled := record.Request(s.config.Bot.Label)
	if p.spec.Workflow == "" && len(request.Workflows) > 1 {
		return nil, usage(fmt.Errorf("%s has labels of several workflows (%s): take all but one off, or give --workflow", what, strings.Join(request.Workflows, ", ")))
	}
	if p.spec.Workflow == "" && len(request.Workflows) == 1 {
		p.spec.Workflow = request.Workflows[0]
	}
	p.spec.Mirror = p.push && mirrors(f, s.config.GitHub.Mirror, labelled)
	return p, nil
}

// forkedFrom names the repository that one is a fork of; "" if it is none.
func (a *app) forkedFrom(ctx context.Context, s *site, repo ghsync.Repo) string {
	r, err := s.host.GitHub.Repository(ctx, repo.Owner, repo.Name)
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

// requester is who asked: the actor of the newest request label if they may write, else the
// account itself, for the person who types. Text that somebody without write access changed
// after the label is not what was asked for.
func (a *app) requester(ctx context.Context, s *site, record ghsync.Record, repo ghsync.Repo) (ghsync.Permission, error) {
	request, _ := record.Request(s.config.Bot.Label)
	trigger := request.Trigger()
	if who := trigger.Actor.Login; who != "" && s.mayPush(record.Repository) { // others may not ask for permissions
		asker, err := s.host.GitHub.Permission(ctx, repo, who)
		if err != nil {
			return asker, err
		}
		if _, known := record.LateEdits(trigger.At); asker.Write() && known {
			return asker, unasked(ctx, s, record, trigger)
		}
	}
	viewer, err := s.host.GitHub.Viewer(ctx)
	if err != nil {
		return ghsync.Permission{}, err
	}
	level := ghsync.LevelRead
	if s.mayPush(record.Repository) {
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
func unasked(ctx context.Context, s *site, record ghsync.Record, trigger ghsync.LabelEvent) error {
	edit, err := s.host.GitHub.UnaskedEdit(ctx, record, trigger.At)
	if err != nil || edit == nil {
		return err
	}
	return &lateEditError{fmt.Sprintf("%s#%d", record.Repository.Repo, record.Issue.Number), trigger, *edit}
}

// basicSpec is what issue and run have in common.
func (a *app) basicSpec(ctx context.Context, s *site, project *project.Project, f *runFlags) (host.PrepareSpec, error) {
	stop := a.waiting("the branches of the server")
	base, err := project.Base(ctx, s.config, f.base)
	stop()
	if err != nil {
		return host.PrepareSpec{}, explainRun(err)
	}
	for _, note := range base.Notes {
		a.say("%s", note)
	}
	return host.PrepareSpec{
		Project: project, Dir: ownDir(s.project, project), Config: s.config, Files: os.DirFS(s.project), Source: "working tree", Base: base,
		Name: f.name, Workflow: f.workflow, ProductManager: f.productManager, Interactive: a.terminal && !f.headless,
	}, nil
}

// ownDir is a project below the clone's root; "" if the clone is the project. The way that a
// person's shell names the root may lead through links.
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

// launch makes the session and runs it: in the foreground, or detached with the
// terminal attached to its tmux.
func (a *app) launch(ctx context.Context, s *site, p *planned, f *runFlags) error {
	if p.spec.Snapshot != nil && !p.push {
		a.say("this account may not write to %s: the run ends with a branch in this clone", p.spec.Repo)
	}
	if err := a.useAccount(ctx, s, p); err != nil {
		return err
	}
	if p.spec.Interactive {
		if err := a.askSetup(ctx, s, p.spec.Root()); err != nil {
			return err
		}
		if err := a.askAgentSettings(ctx, s, p.spec.Project, p.spec.Base.SHA); err != nil {
			return err
		}
	}
	sess, err := s.host.Prepare(ctx, p.spec)
	if err != nil {
		return explainRun(err)
	}
	if err := sess.Release(); err != nil {
		return err
	}
	crash.Point("release new session", "")
	a.say("session %s (config: %s, sandbox: none)", sess.Name(), p.spec.Source)
	if !p.spec.Interactive {
		if err := s.log.keep(sess.Path(session.HostLog)); err != nil {
			return err
		}
		a.announce(sess.Dir, s.host.Log)
		return a.hostSession(ctx, s, host.RunSpec{Dir: sess.Dir, Mirror: host.MirrorSpec{On: p.spec.Mirror}})
	}
	if err := a.detach(ctx, s, sess.Dir); err != nil {
		return err
	}
	if f.wait {
		return a.waitEnd(ctx, sess)
	}
	return a.join(ctx, sess.Dir)
}

// waitEnd waits for a detached session's host to end and takes over its exit
// code. An interrupt ends the wait, not the session.
func (a *app) waitEnd(ctx context.Context, sess *session.Session) error {
	a.say("waiting for its end; agentmux attach %s joins it", sess.Name())
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for session.Running(sess.Dir) {
		select {
		case <-ctx.Done():
			a.say("%s goes on without you", sess.Name())
			a.say("next: agentmux attach %s joins it, agentmux stop %s ends it", sess.Name(), sess.Name())
			return quiet(exitCanceled)
		case <-tick.C:
		}
	}
	last, err := sess.ReadState()
	if err != nil {
		return err
	}
	if !last.Ended() {
		return fmt.Errorf("the host of %s ended: %s; agentmux resume %s goes on with it", sess.Name(), lastLine(sess.Path(session.HostLog)), sess.Name())
	}
	a.tellEnd(ctx, sess.Dir, last)
	return quiet(outcomeCode(last))
}

// join attaches the terminal to a session that was just started, once its tmux
// is there.
func (a *app) join(ctx context.Context, dir string) error {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	deadline := time.NewTimer(startWait)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		if s, err := sess.ReadState(); err == nil {
			if _, err := openServer(ctx, socketOf(sess.Dir, s, sess.ReadRuntime())); err == nil {
				break
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			waiting = false
		case <-tick.C:
		}
	}
	entry, err := session.Find(sess.Project(), sess.Name(), nil)
	if err != nil {
		return err
	}
	return a.attach(ctx, entry, "")
}
