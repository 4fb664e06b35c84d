package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

func newSteerCmds(a *app) []*cobra.Command {
	return []*cobra.Command{
		newPlainCmd(a, "stop", "Stop a session; its work is kept", stoppable),
		newPlainCmd(a, "pause", "Start no new turns until resume", live),
		newPlainCmd(a, "retry", "Start a failed or stalled agent again", unended),
		newApproveCmd(a), newChangesCmd(a), newSayCmd(a), newAnswerCmd(a),
	}
}

// newPlainCmd is a command without arguments of its own.
func newPlainCmd(a *app, name, short string, can func(session.Entry) bool) *cobra.Command {
	named := ""
	cmd := &cobra.Command{
		Use:     name + " [S]",
		Short:   short,
		Example: "  agentmux " + name + " '#42'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := chosen(args, named)
			if err != nil {
				return err
			}
			return steer(cmd.Context(), a, s, can, orchestrator.Payload{Name: name})
		},
	}
	sessionFlag(cmd, &named)
	return group(groupSteer, cmd)
}

func sessionFlag(cmd *cobra.Command, named *string) {
	cmd.Flags().StringVar(named, "session", "", "the `session`, as a name, its beginning, a directory, N, #N or owner/repo#N")
}

// chosen is the session a person named by the last word or by --session.
func chosen(args []string, named string) (string, error) {
	switch {
	case len(args) == 0:
		return named, nil
	case named != "" && named != args[0]:
		return "", exit.Usage(fmt.Errorf("two sessions are named: %s and --session %s", args[0], named))
	}
	return args[0], nil
}

// stoppable reports whether there is something to stop: a host, or a wait for a person.
func stoppable(e session.Entry) bool { return live(e) || e.State != nil && e.State.Parked() }

// unended reports whether a session could go on.
func unended(e session.Entry) bool { return e.State != nil && e.State.Phase != orchestrator.PhaseDone }

func gated(e session.Entry) bool { return e.State != nil && e.State.Gate != nil }

func newApproveCmd(a *app) *cobra.Command {
	var exclude []string
	var message, of, named string
	cmd := &cobra.Command{
		Use:     "approve [S]",
		Short:   "Answer an open gate with yes",
		Example: "  agentmux approve\n  agentmux approve '#42' --exclude tmp/notes.txt --message 'fix: refuse expired tokens'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := orchestrator.Payload{Name: "approve", Args: map[string]any{}}
			if len(exclude) > 0 {
				p.Args["exclude"] = exclude
			}
			if message != "" {
				p.Args["message"] = message
			}
			if of != "" {
				p.Args["of"] = of
			}
			s, err := chosen(args, named)
			if err == nil && len(exclude) > 0 {
				err = checkExcluded(cmd.Context(), a, s, exclude)
			}
			if err != nil {
				return err
			}
			return steer(cmd.Context(), a, s, gated, p)
		},
	}
	sessionFlag(cmd, &named)
	cmd.Flags().StringArrayVar(&exclude, "exclude", nil, "leave this `path` out of the commit (repeatable)")
	cmd.Flags().StringVar(&message, "message", "", "commit `message`")
	cmd.Flags().StringVar(&of, "of", "", "only the plan or tree whose `digest` begins so, as it was shown to you")
	return group(groupSteer, cmd)
}

func newChangesCmd(a *app) *cobra.Command {
	named := ""
	cmd := &cobra.Command{
		Use:     "changes TEXT [S]",
		Short:   "Say what is to be changed at a gate, a park or an open pull request",
		Example: "  agentmux changes 'keep the old flag as an alias' '#42'",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := chosen(args[1:], named)
			if err != nil {
				return err
			}
			if err := checkQuoted(a, args); err != nil {
				return err
			}
			return steer(cmd.Context(), a, s, changeable, orchestrator.Payload{
				Name: "changes", Args: map[string]any{"text": args[0]},
			})
		},
	}
	sessionFlag(cmd, &named)
	return group(groupSteer, cmd)
}

// changeable reports whether changes can be asked for: at a gate, a park or a pull request.
func changeable(e session.Entry) bool {
	return e.State != nil && (e.State.Gate != nil || e.State.Parked() || e.State.Phase == orchestrator.PhaseDone && e.State.Completion.PRNumber > 0)
}

func newSayCmd(a *app) *cobra.Command {
	var role, name string
	cmd := &cobra.Command{
		Use:     "say TEXT",
		Short:   "Tell an agent something",
		Example: "  agentmux say 'use the existing retry helper' --role coder",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := orchestrator.Payload{Name: "say", Args: map[string]any{"text": args[0]}}
			if role != "" {
				p.Args["role"] = role
			}
			return steer(cmd.Context(), a, name, live, p)
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "the agent's `role` (default: the one at work)")
	sessionFlag(cmd, &name)
	return group(groupSteer, cmd)
}

func newAnswerCmd(a *app) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:     "answer [ID] TEXT",
		Short:   "Answer an agent's question; a number picks an option",
		Example: "  agentmux answer 2\n  agentmux answer q1 'use the v2 endpoint' --session '#42'",
		Args:    cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := orchestrator.Payload{Name: "answer", Args: map[string]any{"text": args[len(args)-1]}}
			switch len(args) {
			case 2:
				p.Args["id"] = args[0]
			case 3: // ID TEXT S
				if err := checkQuoted(a, args); err != nil {
					return err
				}
				p.Args["id"], p.Args["text"], name = args[0], args[1], args[2]
			}
			return steer(cmd.Context(), a, name, asking, p)
		},
	}
	sessionFlag(cmd, &name)
	return group(groupSteer, cmd)
}

func asking(e session.Entry) bool {
	if e.State == nil {
		return false
	}
	for _, q := range e.State.Questions {
		if q.Open() {
			return true
		}
	}
	return false
}

// steer gives a command to a session and says what became of it.
func steer(ctx context.Context, a *app, name string, can func(session.Entry) bool, p orchestrator.Payload) error {
	var args []string
	if name != "" {
		args = []string{name}
	}
	entry, err := findFor(ctx, a, p.Name, args, can)
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
	p.Actor, p.Source, p.SourceID = actor(), "cli", "cli/"+randomID()
	p.PID, p.Origin = os.Getpid(), origin()
	if err := record(ctx, a, entry, p); err != nil {
		return err
	}
	if !entry.Running {
		return applyUnhosted(ctx, a, entry, p)
	}
	return awaitDecision(ctx, a, entry, p)
}

// refuseUnhosted refuses what makes no sense without a host, and what a session that is
// done will never read, whether or not its host still runs.
func refuseUnhosted(e session.Entry, name string) error {
	if e.State.Phase == orchestrator.PhaseDone {
		next := "agentmux run \"...\" starts another"
		if e.State.Completion.PRNumber > 0 {
			next = "agentmux changes \"...\" " + e.Name + " asks for more on its pull request"
		}
		switch {
		case name != "changes":
			return exit.Usage(fmt.Errorf("%s is done, there is nothing to %s; %s", e.Name, name, next))
		case e.State.Completion.PRNumber == 0:
			return exit.Usage(fmt.Errorf("%s is done without a pull request; %s", e.Name, next))
		case e.Running:
			return stillEnding(e)
		}
		return nil
	}
	if e.Running || name != "stop" && name != "pause" || e.State.Parked() && name == "stop" {
		return nil
	}
	return exit.Usage(errors.New(e.Name + " is not running; agentmux resume " + e.Name + " goes on with it"))
}

// tellUnread names the commands that the next host of a session applies first: somebody gave
// them to the last one, which did not read them.
func tellUnread(a *app, e session.Entry) {
	if e.State == nil {
		return
	}
	for _, p := range host.Unread(e.Dir, e.State) {
		if p.Name == "stop" || p.Name == "pause" {
			a.Say("a %s of %s was recorded and not read: it is applied first, and agentmux resume %s goes on after it", p.Name, p.Actor, e.Name)
		}
	}
}

func actor() string {
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return "user"
	}
	return strings.ReplaceAll(u.Username, "\n", " ")
}

func randomID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
