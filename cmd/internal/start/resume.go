package start

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// ResumeOptions say how to go on with a session.
type ResumeOptions struct {
	Backup, Headless       bool
	Changes, Base, Adopted string
}

// Resume goes on with the session that a person means.
func Resume(ctx context.Context, a *site.Finder, args []string, o ResumeOptions) error {
	spec := host.RunSpec{Resume: true, Changes: o.Changes, Backup: o.Backup, Base: o.Base}
	if o.Adopted != "" {
		return resumeAdopted(ctx, a, o.Adopted, args, spec, o.Headless)
	}
	entry, err := steer.FindFor(ctx, a, "resume", args, func(e session.Entry) bool {
		return site.Unfinished(e) || Owes(ctx, e) || site.Live(e) && e.State.Paused || o.Changes != "" && site.Changeable(e) || o.Backup && e.Err != nil
	})
	if err != nil && len(args) == 0 {
		if running, liveErr := a.Find(nil, site.Live); liveErr == nil { // the one that is meant runs already
			entry, err = running, nil
		}
	}
	if err != nil {
		return err
	}
	return resume(ctx, a, entry, spec, o.Headless)
}

// resumeAdopted goes on with a session that the person takes over first.
func resumeAdopted(ctx context.Context, a *site.Finder, dir string, args []string, spec host.RunSpec, headless bool) error {
	if len(args) > 0 {
		return exit.UsageText("--adopt names the session by its directory; leave the other name out")
	}
	e, err := hosting.Adopt(ctx, a, dir)
	if err != nil {
		return err
	}
	return resume(ctx, a, e, spec, headless)
}

func resume(ctx context.Context, a *site.Finder, e session.Entry, spec host.RunSpec, headless bool) error {
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
		return resumeDone(ctx, a, e)
	}
	if err := hosting.Trusted(ctx, a, e.Dir, spec.Backup); err != nil {
		return err
	}
	steer.TellUnread(a, e)
	spec.Attended = a.Terminal && !headless
	if !spec.Attended || e.State != nil && !e.State.Interactive && !asksAgain(e.State) {
		return hosting.Foreground(ctx, a, e.Dir, spec)
	}
	s, err := a.Open(ctx, &hostlog.Log{Terminal: a.Err})
	if err != nil {
		return err
	}
	if err := hosting.AskSetup(ctx, a, s, site.ProjectOf(e)); err != nil {
		return err
	}
	if err := hosting.AskAgentSettingsAgain(ctx, a, s, e); err != nil {
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
	return hosting.Join(ctx, a, e.Dir)
}

// asksAgain reports whether a resume opens a gate for the person at the terminal, also where
// the session began with nobody there.
func asksAgain(s *orchestrator.State) bool {
	return s.Parked() && (s.OutcomeReason == orchestrator.ReasonOutputGate || s.OutcomeReason == orchestrator.ReasonNothingToCommit)
}

// unpause lets a session go on whose host runs. Flags are for a new host: that one would not
// hear of them.
func unpause(ctx context.Context, a *site.Finder, e session.Entry, spec host.RunSpec) error {
	if spec.Changes != "" || spec.Base != "" || spec.Backup {
		return exit.Usage(fmt.Errorf("%s is paused, not ended: agentmux resume %s lets it go on, without --changes, --base and --from-backup; "+
			"agentmux changes \"...\" %s asks for changes at a gate", e.Name, e.Name, e.Name))
	}
	return steer.Give(ctx, a, e.Dir, nil, orchestrator.Payload{Name: "resume"})
}

// takeBackup puts the state before the last phase in the place of one that cannot be read,
// so that the launcher sees what its host commits.
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
// the end of its tmux server.
func Owes(ctx context.Context, e session.Entry) bool {
	return e.State != nil && e.State.Phase == orchestrator.PhaseDone && len(show.Tell(ctx, e).Owed) > 0
}

// resumeDone lets a host finish what a done session still owes.
func resumeDone(ctx context.Context, a *site.Finder, e session.Entry) error {
	switch {
	case Owes(ctx, e):
		return hosting.Foreground(ctx, a, e.Dir, host.RunSpec{})
	case e.State.Completion.PRNumber > 0:
		return exit.Usage(fmt.Errorf("%s is done; --changes \"...\" asks for more on its pull request", e.Name))
	}
	return exit.Usage(fmt.Errorf("%s is done; agentmux run \"...\" starts another", e.Name))
}
