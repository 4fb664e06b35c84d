package team

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// takeWait is how long a command waits until the host has taken what it did.
const takeWait = 10 * time.Second

// ChangelogFile is what agents changelog writes at the root of the project.
const ChangelogFile = "AGENTS_CHANGELOG.md"

// Done marks an agent by hand, with an exit code. A run that works takes it at once, another one
// when it continues.
func Done(ctx context.Context, a *site.Finder, of, name string, code int) error {
	r, err := find(ctx, a, slices.DeleteFunc([]string{of}, func(s string) bool { return s == "" }))
	if err != nil {
		return err
	}
	m, err := r.member(name)
	switch {
	case err != nil:
		return err
	case code < 0 || code > 255:
		return exit.UsageText("--exit takes a number from 0 to 255")
	case r.State.Team[m.Name].Marker != "":
		return exit.Usage(fmt.Errorf("%s is %s already", m.Name, r.word(m)))
	case host.Removable(r.State):
		return exit.Usage(fmt.Errorf("%s has ended; agentmux agents start continues it", r.Name))
	}
	if err := roster.MarkDone(r.Dir, m.Name, code); err != nil {
		return exit.Usage(err)
	}
	if !r.Running {
		a.Say("recorded; it counts when the session continues: agentmux agents start")
		return nil
	}
	taken, err := until(ctx, r, takeWait, func(e session.Entry) bool { return e.State != nil && e.State.Team[m.Name].Marker != "" })
	if err != nil || !taken {
		a.Say("recorded; the session has not read it yet (agentmux logs %s)", r.Name)
		return err
	}
	a.Say("%s: marked", m.Name)
	return nil
}

// until waits until a session is as it is wanted, and reports whether it was in time.
func until(ctx context.Context, r run, limit time.Duration, ok func(session.Entry) bool) (bool, error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if e, err := session.Find(site.ProjectOf(r.Entry), r.Dir, nil); err == nil && ok(e) {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-deadline.C:
			return false, nil
		case <-tick.C:
		}
	}
}

// Changelog writes what the agents of a run did into a file of the project.
func Changelog(ctx context.Context, a *site.Finder, args []string) error {
	r, err := find(ctx, a, args)
	if err != nil {
		return err
	}
	s, err := hosting.Trusted(ctx, a, r.Dir, false)
	if err != nil {
		return err
	}
	text, err := host.Changelog(ctx, s.Host, r.Dir, r.State, s.Config)
	if err != nil {
		return site.ExplainRun(err)
	}
	if text == "" {
		a.Say("no agent of %s has a commit yet", r.Name)
		return nil
	}
	file := filepath.Join(site.ProjectOf(r.Entry), ChangelogFile)
	if err := durable.Replace(file, []byte("# What the agents of "+r.Name+" did\n\n"+text)); err != nil {
		return err
	}
	a.Print("wrote %s", file)
	return nil
}

// Cleanup ends a run, keeps what is in no branch, and removes its workspaces and its link.
func Cleanup(ctx context.Context, a *site.Finder, args, discard []string) error {
	r, err := find(ctx, a, args)
	if err != nil {
		return err
	}
	for _, name := range discard {
		if _, err := r.member(name); err != nil {
			return err
		}
	}
	s, err := hosting.Trusted(ctx, a, r.Dir, false)
	if err != nil {
		return err
	}
	left := r.left()
	if err := end(ctx, a, s, r); err != nil {
		return err
	}
	kept, err := host.ClearTeam(ctx, s.Host, r.Dir, s.Config, discard)
	for _, ref := range kept.Kept {
		a.Say("%s: work stays under a ref: git fetch %s %s", r.Name, kept.Repo, ref)
	}
	if err != nil {
		return fmt.Errorf("%w; --discard NAME gives up the uncommitted work of that agent", err)
	}
	if !left {
		a.Say("nothing to clean: %s has no worktrees and no link; its branches stay", r.Name)
		return nil
	}
	a.Say("removed the worktrees of %s; its branches stay", r.Name)
	return nil
}

// left reports whether a run has something to clean: it works or may continue, or has a workspace or
// its link to its markers.
func (r run) left() bool {
	link, err := os.Readlink(filepath.Join(site.ProjectOf(r.Entry), roster.SignalsLink))
	if err == nil && link == filepath.Join(r.Dir, session.SignalsDir) || r.Running || !host.Removable(r.State) {
		return true
	}
	for _, w := range r.State.Workspaces {
		if _, err := os.Lstat(w.Path); err == nil {
			return true
		}
	}
	return false
}

// end stops a run that has not ended and waits until its host is gone.
func end(ctx context.Context, a *site.Finder, s *site.Site, r run) error {
	stop := orchestrator.Payload{Name: "stop", Actor: steer.Actor(), Source: "cli", SourceID: "cli/" + steer.RandomID()}
	switch {
	case r.Running && !r.State.Ended(), r.State.Parked():
		if err := steer.Give(ctx, a, r.Dir, nil, stop); err != nil {
			return err
		}
	case !r.Running && !host.Removable(r.State): // its host was killed: the next one reads the command
		if _, err := command.Append(r.Dir, stop); err != nil {
			return err
		}
		if err := a.Connect(ctx, s, &hostlog.Log{Terminal: a.Err}); err != nil {
			return err
		}
		err := hosting.Foreground(ctx, a, s, r.Dir, host.RunSpec{})
		if code := (*exit.Error)(nil); err != nil && !(errors.As(err, &code) && code.Code == exit.Canceled) {
			return err
		}
	}
	over, err := until(ctx, r, time.Minute, func(e session.Entry) bool { return !e.Running && e.State != nil && host.Removable(e.State) })
	if err == nil && !over {
		err = fmt.Errorf("%s has not ended yet; agentmux logs %s says why", r.Name, r.Name)
	}
	return err
}
