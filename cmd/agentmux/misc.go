package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/play"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/spf13/cobra"
)

func newVersionCmd(a *app) *cobra.Command {
	return group(groupSetup, &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  agentmux version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.Print("agentmux %s", fullVersion())
			return nil
		},
	})
}

// fullVersion adds the commit the program was built from, where it is known.
func fullVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	built, at := version, commit
	if built == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		built = info.Main.Version // go install MODULE@VERSION; it holds the commit where there is no tag
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && at == "" {
			at = setting.Value
		}
	}
	if len(at) >= 12 {
		return fmt.Sprintf("%s (%.12s, %s)", built, at, info.GoVersion)
	}
	return fmt.Sprintf("%s (%s)", built, info.GoVersion)
}

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
