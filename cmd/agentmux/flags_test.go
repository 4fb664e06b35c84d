package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flag that a person can see in a help is in the docs, and no help shows how it is stored.
func TestEveryFlagIsInTheDocs(t *testing.T) {
	t.Parallel()
	var docs strings.Builder
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		docs.Write(text)
	}
	flags := 0
	everyCommand(newRootCmd(newApp(console.Streams{})), func(cmd *cobra.Command) {
		if !cmd.IsAvailableCommand() || cmd.HasParent() && cmd.Parent().Hidden {
			return
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			name := "--" + f.Name
			if f.Hidden || f.Name == "help" || cmd.HasParent() && cmd.Parent().Name() == "completion" { // cobra's own
				return
			}
			flags++
			if kind, _ := pflag.UnquoteUsage(f); strings.HasSuffix(kind, "Array") || f.DefValue == "-1" {
				t.Errorf("%s: the help of %s shows %q, default %q", cmd.CommandPath(), name, kind, f.DefValue)
			}
			if !strings.Contains(docs.String(), "`"+name) && !strings.Contains(docs.String(), " "+name) && !strings.Contains(docs.String(), "["+name) {
				t.Errorf("%s: %s is in no page of docs", cmd.CommandPath(), name)
			}
		})
	})
	if flags < 100 {
		t.Errorf("only %d flags", flags)
	}
}
