package main

import (
	"io"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/pages"
	"github.com/spf13/cobra"
)

// newPagesCmd writes what the archives of a release have beside the program.
func newPagesCmd(*app) *cobra.Command {
	return hidden(&cobra.Command{
		Use: "pages DIRECTORY", Short: "Write man pages and completions", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			return pages.Write(args[0], pages.Set{Version: version, Pages: manPages(root), Completions: map[string]func(io.Writer) error{
				"agentmux.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
				"_agentmux":     root.GenZshCompletion,
				"agentmux.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
			}})
		},
	})
}

// manPages returns a page for cmd, and for each command below it that is not hidden. cobra has a generator,
// but what it imports would make the program larger by half a megabyte.
func manPages(cmd *cobra.Command) []pages.Page {
	name := func(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }
	page := pages.Page{
		Name: name(cmd), Short: cmd.Short, Use: cmd.UseLine(), Long: cmd.Long, Examples: cmd.Example,
		Options:       cmd.LocalNonPersistentFlags().FlagUsages(),
		GlobalOptions: cmd.InheritedFlags().FlagUsages() + cmd.PersistentFlags().FlagUsages(),
	}
	if cmd.HasParent() {
		page.Also = append(page.Also, name(cmd.Parent()))
	}
	var below []pages.Page
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			page.Also = append(page.Also, name(child))
			below = append(below, manPages(child)...)
		}
	}
	return append([]pages.Page{page}, below...)
}
