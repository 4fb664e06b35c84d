// Package steer gives commands of a person to a session and says what happened to them. It refuses
// a command that the session would refuse and records any other. If no host runs, it starts one
// for a command that a parked session obeys; another command waits for the next host. The sessions
// of a bot that runs on this machine are left to it: it is woken to read the command.
package steer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"os/user"
	"strings"

	"github.com/agentmux/agentmux/bot/inbox"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Give gives a command to a session and says what happened to it.
func Give(ctx context.Context, a *site.Finder, name string, can func(session.Entry) bool, p orchestrator.Payload) error {
	var args []string
	if name != "" {
		args = []string{name}
	}
	entry, err := FindFor(ctx, a, p.Name, args, can)
	if role := p.Args.Role; role != "" && exit.As[*session.AmbiguousError](err) {
		// An agent is a way to name its session, too.
		has := func(e session.Entry) bool {
			return (can == nil || can(e)) && e.State != nil && e.State.Kind == orchestrator.KindAgents && e.State.Team[role] != (agents.Progress{})
		}
		if one, oneErr := a.Find(ctx, nil, has); oneErr == nil {
			entry, err = one, nil
		}
	}
	if queued := (*site.QueuedError)(nil); p.Name == "stop" && p.Args.Role == "" && errors.As(err, &queued) {
		return dropQueued(ctx, a, queued.Queued, p)
	}
	if err != nil {
		return err
	}
	if entry.Err != nil && p.Name == "stop" {
		return endUnreadable(ctx, a, entry)
	}
	if entry.Err != nil {
		return entry.Err
	}
	if err := refuseUnhosted(entry, p.Name); err != nil {
		return err
	}
	if p.File != "" && len(post.Named(entry.State.Messages, p.File)) == 0 {
		return exit.Usage(errors.New(post.NoMessage(p.File)))
	}
	return give(ctx, a, entry, p)
}

// give records a command for a session, and says what became of it.
func give(ctx context.Context, a *site.Finder, entry session.Entry, p orchestrator.Payload) error {
	p = typed(p)
	at, err := record(ctx, a, entry, p)
	if err != nil {
		return err
	}
	return become(ctx, a, at, entry, p)
}

// typed is a command as the person of this process gives it.
func typed(p orchestrator.Payload) orchestrator.Payload {
	p.Actor, p.Source, p.SourceID = Actor(), "cli", "cli/"+RandomID()
	p.PID, p.Origin = os.Getpid(), Origin()
	return p
}

// become says what became of a command that is recorded. at is as record returns it.
func become(ctx context.Context, a *site.Finder, at *site.Site, entry session.Entry, p orchestrator.Payload) error {
	g := &given{Finder: a, Payload: p, site: at}
	hosted := entry.Running || site.Served(entry) || entry.State.Unbegun() && awaitHost(ctx, entry)
	if err := ctx.Err(); err != nil {
		return err
	}
	if !hosted {
		return g.applyUnhosted(ctx, entry)
	}
	return g.awaitDecision(ctx, entry)
}

// refuseUnhosted refuses commands that need a host, and commands to a done session, which will
// never read them, whether or not its host still runs.
func refuseUnhosted(e session.Entry, name string) error {
	reason, done := command.Unfit(e.State, e.Running || site.Served(e), name), e.State.Phase == orchestrator.PhaseDone
	switch {
	case reason == "" && done && e.Running:
		return site.StillEnding(e)
	case reason == "":
		return nil
	case !done:
		return exit.Usage(errors.New(e.Name + " " + reason + "; agentmux resume " + e.Name + " continues it"))
	}
	next := "agentmux run \"...\" starts another"
	if e.State.Completion.PRNumber > 0 {
		next = "agentmux changes \"...\" " + e.Name + " asks for more on its pull request"
	}
	return exit.Usage(errors.New(e.Name + " " + reason + "; " + next))
}

// TellUnread names the commands that the next host of a session applies first, because the last
// one did not read them.
func TellUnread(a *site.Finder, e session.Entry) {
	if e.State == nil {
		return
	}
	for _, p := range inbox.Unread(e.Dir, e.State) {
		if p.Name == "stop" || p.Name == "pause" {
			a.Say("a %s of %s was recorded and not read: it is applied first, and agentmux resume %s continues after it", p.Name, p.Actor, e.Name)
		}
	}
}

// Actor names the person of this process.
func Actor() string {
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return "user"
	}
	return strings.ReplaceAll(u.Username, "\n", " ")
}

// RandomID returns a part that makes the id of a command unique.
func RandomID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
