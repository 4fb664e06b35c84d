package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCmd(a *app) *cobra.Command {
	return group(groupSetup, &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  agentmux version", Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) { a.Print("agentmux %s", fullVersion()) },
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
