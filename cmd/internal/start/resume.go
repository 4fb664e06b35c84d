package start

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// ResumeOptions say how to continue a session.
type ResumeOptions struct {
	Backup, Headless, Take bool
	Checkpoint             bool // restore it from its checkpoint on the server first
	Changes, Base, Adopted string
}

// Resume continues the session that args name, or the only one that can be resumed.
func Resume(ctx context.Context, a *site.Finder, args []string, o ResumeOptions) error {
	spec := host.RunSpec{Resume: true, Changes: o.Changes, Backup: o.Backup, Base: o.Base}
	if o.Adopted != "" {
		return resumeAdopted(ctx, a, args, spec, o)
	}
	if o.Checkpoint {
		return resumeRestored(ctx, a, args, spec, o)
	}
	entry, err := steer.FindFor(ctx, a, "resume", args, func(e session.Entry) bool {
		return site.Unfinished(e) || Owes(ctx, e) || site.Live(e) && e.State.Paused || o.Changes != "" && site.Changeable(e) || o.Backup && e.Err != nil
	})
	if err != nil && len(args) == 0 {
		if running, liveErr := a.Find(ctx, nil, site.Live); liveErr == nil { // the one that is meant runs already
			entry, err = running, nil
		}
	}
	if err != nil {
		return namedElsewhere(err, args)
	}
	r := resumed{entry: entry, spec: spec, headless: o.Headless, take: o.Take}
	if (entry.Err == nil || o.Backup) && !entry.Running && site.Served(entry) {
		return leaveToBot(ctx, a, r)
	}
	return resume(ctx, a, r)
}

// namedElsewhere adds to the error about an issue without a session here how one of another machine is continued.
func namedElsewhere(err error, args []string) error {
	if len(args) == 0 || !exit.As[*session.NotFoundError](err) {
		return err
	}
	if _, wrong := strconv.Atoi(args[0][strings.LastIndexByte(args[0], '#')+1:]); wrong != nil {
		return err
	}
	return exit.Usage(fmt.Errorf("%w; agentmux resume '%s' --from-checkpoint continues one of another machine", err, args[0]))
}

// leaveToBot has the bot of this machine, which runs the session whenever it has to, continue it.
func leaveToBot(ctx context.Context, a *site.Finder, r resumed) error {
	e, p := r.entry, orchestrator.Payload{Name: "resume"}
	switch {
	case r.spec.Base != "" || r.spec.Backup && e.Err == nil || r.take:
		return exit.Usage(fmt.Errorf("agentmux bot runs %s and takes none of --base, --from-backup and --take: stop the bot, then resume", e.Name))
	case e.Err != nil:
		return leaveRepaired(ctx, a, r)
	case r.spec.Changes != "":
		p = orchestrator.Payload{Name: "changes", Args: orchestrator.CommandArgs{Text: r.spec.Changes}}
	case !e.State.Ended(), Owes(ctx, e):
		return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("agentmux bot runs %s and tries again by itself; agentmux logs %s says what is in the way", e.Name, e.Name)}
	}
	if err := steer.Give(ctx, a, e.Dir, nil, p); err != nil || r.headless || !a.Terminal {
		return err
	}
	return hosting.Join(ctx, a, nil, e.Dir)
}

// leaveRepaired has that bot continue a session whose state cannot be read, from the state before the last phase.
func leaveRepaired(ctx context.Context, a *site.Finder, r resumed) (err error) {
	if _, err := r.trusted(ctx, a); err != nil {
		return err
	}
	if err := takeBackup(r.entry.Dir); err != nil {
		return err
	}
	if r.entry, err = session.Find(site.ProjectOf(r.entry), r.entry.Dir, nil); err != nil || r.entry.Err != nil {
		return errors.Join(err, r.entry.Err)
	}
	if err := site.Ring(r.entry); err != nil {
		return err
	}
	a.Say("%s has the state from before its last phase again, and agentmux bot continues it", r.entry.Name)
	r.spec.Backup = false
	if r.spec.Changes != "" || r.entry.State.Ended() {
		return leaveToBot(ctx, a, r)
	}
	if r.headless || !a.Terminal {
		return nil
	}
	return hosting.Join(ctx, a, nil, r.entry.Dir)
}

// resumed is a session to continue, and how.
type resumed struct {
	entry    session.Entry
	spec     host.RunSpec
	headless bool
	take     bool       // although another host has the claim, if that host is gone
	site     *site.Site // of its project, once the session is trusted; nil before
}

// resumeAdopted continues a session after the person has taken it over.
func resumeAdopted(ctx context.Context, a *site.Finder, args []string, spec host.RunSpec, o ResumeOptions) error {
	if len(args) > 0 {
		return exit.UsageText("--adopt names the session by its directory; leave the other name out")
	}
	e, s, err := hosting.Adopt(ctx, a, o.Adopted)
	if err != nil {
		return err
	}
	return resume(ctx, a, resumed{e, spec, o.Headless, o.Take, s})
}

// resumeRestored continues a session from its checkpoint on the server. What is here of it already is put aside.
func resumeRestored(ctx context.Context, a *site.Finder, args []string, spec host.RunSpec, o ResumeOptions) error {
	if o.Backup {
		return exit.UsageText("--from-backup and --from-checkpoint exclude each other")
	}
	var here *session.Entry
	e, err := a.Find(ctx, args, site.Unfinished)
	switch {
	case err == nil && site.OfBot(e):
		return exit.Usage(fmt.Errorf("%s is of agentmux bot, which continues it by itself", e.Name))
	case err == nil:
		here, a.Project = &e, site.ProjectOf(e)
	case len(args) == 0 || !exit.As[*session.NotFoundError](err):
		return err
	}
	s, err := a.Open(ctx, &hostlog.Log{Terminal: a.Err})
	if err != nil {
		return err
	}
	s.Take = o.Take
	var of hosting.Restoring
	if here == nil {
		if of, err = restoring(ctx, s, args[0]); err != nil {
			return err
		}
	}
	if e, err = hosting.FromCheckpoint(ctx, a, s, here, of); err != nil {
		return err
	}
	return resume(ctx, a, resumed{entry: e, spec: spec, headless: o.Headless, take: o.Take})
}

// restoring is the session of an issue.
func restoring(ctx context.Context, s *site.Site, arg string) (of hosting.Restoring, err error) {
	ref, err := request.ParseRef(arg, s.Identity.Bases.Server)
	if err != nil {
		return of, refused(err)
	}
	project, err := s.OpenProject(ctx)
	if err != nil {
		return of, site.ExplainProject(err, s.Project)
	}
	repo, err := issueRepo(ref, "", project, s.Identity.Bases.Server)
	return hosting.Restoring{Repo: repo, Issue: ref.Number}, err
}

func resume(ctx context.Context, a *site.Finder, r resumed) error {
	e, spec := r.entry, r.spec
	switch {
	case e.Err != nil && !spec.Backup:
		return e.Err
	case e.Running && e.State != nil && e.State.Paused:
		return unpause(ctx, a, e, spec)
	case site.Ending(e):
		return site.StillEnding(e)
	case e.Running:
		return &exit.Error{Code: exit.Locked, Err: &session.LockedError{Name: e.Name, Owner: session.Holder(e.Dir)}}
	case e.State != nil && e.State.Phase == orchestrator.PhaseDone && (spec.Changes == "" || e.State.Completion.PRNumber == 0):
		return resumeDone(ctx, a, r)
	}
	s, err := r.trusted(ctx, a)
	if err != nil {
		return err
	}
	if spec.Changes != "" {
		if _, err := hosting.PullOpen(ctx, a, s, e); err != nil {
			return err
		}
	}
	if err := r.notAfter(ctx, a, s); err != nil {
		return err
	}
	steer.TellUnread(a, e)
	spec.Attended = a.Terminal && !r.headless
	if !spec.Attended || e.State != nil && !e.State.Interactive && !asksAgain(e.State) {
		return hosting.Foreground(ctx, a, s, e.Dir, spec)
	}
	return resumeDetached(ctx, a, s, e, spec)
}

// notAfter refuses a session whose issue another host took over, if that has opened a pull request since.
func (r resumed) notAfter(ctx context.Context, a *site.Finder, s *site.Site) error {
	e := r.entry
	if r.take || e.State == nil || e.State.OutcomeReason != orchestrator.ReasonClaimLost || e.State.IssueNumber == 0 {
		return nil
	}
	if s.Log == nil { // not connected yet
		if err := a.Connect(ctx, s, &hostlog.Log{Terminal: a.Err}); err != nil {
			return err
		}
	}
	owner, name, _ := strings.Cut(string(e.State.Repo), "/")
	return notBeside(ctx, a, s, ghsync.Repo{Owner: owner, Name: name}, e)
}

// trusted returns the site of the session. It fails if the session is not of this machine.
func (r resumed) trusted(ctx context.Context, a *site.Finder) (*site.Site, error) {
	s := r.site
	if s == nil {
		var err error
		if s, err = hosting.Trusted(ctx, a, r.entry.Dir, r.spec.Backup); err != nil {
			return nil, err
		}
	}
	s.Take = r.take
	return s, nil
}

// resumeDetached asks the person at this terminal what they have to allow, starts a detached host
// and joins the session.
func resumeDetached(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry, spec host.RunSpec) error {
	if s.Log == nil { // not connected yet
		if err := a.Connect(ctx, s, &hostlog.Log{Terminal: a.Err}); err != nil {
			return err
		}
	}
	if err := hosting.AskSetup(ctx, a, s, site.ProjectOf(e)); err != nil {
		return err
	}
	if err := hosting.AskAgentSettingsAgain(ctx, a, s, e); err != nil {
		return err
	}
	if err := hosting.MayContinue(ctx, s, e.Dir, spec.Backup); err != nil {
		return err
	}
	args := []string{"--resume", "--attended"}
	if spec.Backup {
		if err := takeBackup(e.Dir); err != nil {
			return err
		}
	}
	if spec.Changes != "" {
		args = append(args, "--changes", spec.Changes)
	}
	if spec.Base != "" {
		args = append(args, "--base", spec.Base)
	}
	if err := hosting.Detach(ctx, a, s, e.Dir, args...); err != nil {
		return err
	}
	return hosting.Join(ctx, a, s, e.Dir)
}

// asksAgain reports whether a resume opens a gate for the person at the terminal, even if the
// session began unattended.
func asksAgain(s *orchestrator.State) bool {
	return s.Parked() && (s.OutcomeReason == orchestrator.ReasonOutputGate || s.OutcomeReason == orchestrator.ReasonNothingToCommit)
}

// unpause continues a paused session whose host runs. It refuses flags, because they are for a
// new host.
func unpause(ctx context.Context, a *site.Finder, e session.Entry, spec host.RunSpec) error {
	if spec.Changes != "" || spec.Base != "" || spec.Backup {
		return exit.Usage(fmt.Errorf("%s is paused, not ended: agentmux resume %s lets it continue, without --changes, --base and --from-backup; "+
			"agentmux changes \"...\" %s asks for changes at a gate", e.Name, e.Name, e.Name))
	}
	return steer.Give(ctx, a, e.Dir, nil, orchestrator.Payload{Name: "resume"})
}

// takeBackup replaces a state that cannot be read by the state before the last phase, so that
// the launcher sees what its host commits.
func takeBackup(dir string) error {
	s, err := session.Open(dir)
	if err != nil {
		return err
	}
	if err := s.Lock(0); err != nil {
		return err
	}
	return errors.Join(s.FromBackup(), s.Close())
}

// Owes reports whether a done session still owes something: an effect, words on its issue,
// the end of its tmux server, the claim of its issues.
func Owes(ctx context.Context, e session.Entry) bool {
	return e.State != nil && e.State.Phase == orchestrator.PhaseDone && len(show.TellLater(ctx, e).Owed) > 0
}

// resumeDone lets a host complete what a done session still owes.
func resumeDone(ctx context.Context, a *site.Finder, r resumed) error {
	switch e := r.entry; {
	case r.spec.Changes != "":
		return exit.Usage(fmt.Errorf("%s is done without a pull request that changes could go to; agentmux run \"...\" starts another", e.Name))
	case Owes(ctx, e):
		r.spec.Backup = false
		s, err := r.trusted(ctx, a)
		if err != nil {
			return err
		}
		return hosting.Foreground(ctx, a, s, e.Dir, host.RunSpec{})
	case e.State.Completion.PRNumber > 0:
		return exit.Usage(fmt.Errorf("%s is done; --changes \"...\" asks for more on its pull request", e.Name))
	}
	return exit.Usage(fmt.Errorf("%s is done; agentmux run \"...\" starts another", r.entry.Name))
}
