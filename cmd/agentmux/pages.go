package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// newPagesCmd writes what the archives of a release have beside the program.
func newPagesCmd(*app) *cobra.Command {
	return hidden(&cobra.Command{
		Use: "pages DIRECTORY", Short: "Write man pages and completions", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return writePages(cmd.Root(), args[0]) },
	})
}

// writePages writes man/*.1, a page for each command that is not hidden, and completions/* below dir.
// The pages have the date of SOURCE_DATE_EPOCH (seconds), else that of today.
func writePages(root *cobra.Command, dir string) error {
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	date := time.Now()
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
		}
		date = time.Unix(seconds, 0)
	}
	if err := writeManPages(root, man, date.UTC().Format("2 January 2006")); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"agentmux.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_agentmux":     root.GenZshCompletion,
		"agentmux.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		var text strings.Builder
		if err := write(&text); err != nil {
			return fmt.Errorf("write completions: %w", err)
		}
		if err := os.WriteFile(filepath.Join(completions, name), []byte(text.String()), 0o644); err != nil { //nolint:gosec // others read it, too
			return err
		}
	}
	return nil
}

// writeManPages writes the pages of cmd and of the commands below it. cobra has a generator, but what
// it imports would make the program larger by half a megabyte.
func writeManPages(cmd *cobra.Command, dir, date string) error {
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			if err := writeManPages(child, dir, date); err != nil {
				return err
			}
		}
	}
	file := filepath.Join(dir, manName(cmd)+".1")
	return os.WriteFile(file, []byte(manPage(cmd, date)), 0o644) //nolint:gosec // others read it, too
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// roff escapes text so that it is shown as it is.
var roff = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'")

// manPage is the page of a command, in the macros of man(7).
func manPage(cmd *cobra.Command, date string) string {
	var b strings.Builder
	section := func(title, macro, text, end string) {
		if text = strings.TrimRight(text, "\n "); text != "" {
			_, escaped, _ := strings.Cut(roff.Replace("\n"+text), "\n")
			fmt.Fprintf(&b, ".SH %s\n%s%s\n%s", title, macro, escaped, end)
		}
	}
	name := manName(cmd)
	fmt.Fprintf(&b, ".TH %q \"1\" %q \"agentmux %s\" \"agentmux\"\n", strings.ToUpper(name), date, version)
	section("NAME", "", name+" - "+cmd.Short, "")
	section("SYNOPSIS", ".nf\n", cmd.UseLine(), ".fi\n")
	section("DESCRIPTION", ".nf\n", cmd.Long, ".fi\n")
	section("OPTIONS", ".nf\n", cmd.LocalNonPersistentFlags().FlagUsages(), ".fi\n")
	section("GLOBAL OPTIONS", ".nf\n", cmd.InheritedFlags().FlagUsages()+cmd.PersistentFlags().FlagUsages(), ".fi\n")
	section("EXAMPLES", ".nf\n", cmd.Example, ".fi\n")
	var also []string
	if cmd.HasParent() {
		also = append(also, manName(cmd.Parent())+"(1)")
	}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			also = append(also, manName(child)+"(1)")
		}
	}
	section("SEE ALSO", "", strings.Join(also, ", "), "")
	return b.String()
}
