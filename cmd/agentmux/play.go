package main

import (
	"context"
	"errors"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/play"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/spf13/cobra"
)

func newPlayCmd(a *app) *cobra.Command {
	o := play.Options{}
	cmd := &cobra.Command{
		Use: "play FILE", Short: "Act as a scripted agent", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := site.Self()
			if err != nil {
				return err
			}
			o.File, o.Self, o.Out = args[0], own, a.Raw
			err = play.Run(cmd.Context(), o)
			var played play.ExitError
			switch {
			case errors.As(err, &played):
				return exit.Quiet(int(played))
			case errors.As(err, new(play.BookError)):
				return exit.Usage(err)
			case errors.Is(err, context.Canceled):
				return exit.Quiet(exit.Canceled)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Session, "session", "", "session `directory`")
	flags.StringVar(&o.Role, "role", "", "`role`")
	flags.StringVar(&o.Task, "task", "", "`task`")
	flags.StringVar(&o.Launch, "launch", "", "`launch`")
	flags.StringVar(&o.Prompt, "prompt", "", "the `sentence` that names the prompt file")
	flags.BoolVar(&o.Fast, "fast", false, "make no pauses")
	return hidden(cmd)
}
