package main

import (
	"fmt"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

func newSteerCmds(a *app) []*cobra.Command {
	return []*cobra.Command{
		newPlainCmd(a, "stop", "Stop a session; its work is kept", site.Stoppable),
		newPlainCmd(a, "pause", "Start no new turns until resume", site.Live),
		newPlainCmd(a, "retry", "Start a failed or stalled agent again", site.Unended),
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
			return steer.Give(cmd.Context(), a, s, can, orchestrator.Payload{Name: name})
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
				err = steer.CheckExcluded(cmd.Context(), a, s, exclude)
			}
			if err != nil {
				return err
			}
			return steer.Give(cmd.Context(), a, s, site.Gated, p)
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
			if err := steer.CheckQuoted(a, args); err != nil {
				return err
			}
			return steer.Give(cmd.Context(), a, s, site.Changeable, orchestrator.Payload{
				Name: "changes", Args: map[string]any{"text": args[0]},
			})
		},
	}
	sessionFlag(cmd, &named)
	return group(groupSteer, cmd)
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
			return steer.Give(cmd.Context(), a, name, site.Live, p)
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
				if err := steer.CheckQuoted(a, args); err != nil {
					return err
				}
				p.Args["id"], p.Args["text"], name = args[0], args[1], args[2]
			}
			return steer.Give(cmd.Context(), a, name, site.Asking, p)
		},
	}
	sessionFlag(cmd, &name)
	return group(groupSteer, cmd)
}
