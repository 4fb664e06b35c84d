package show

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/rehearsal"
	"github.com/agentmux/agentmux/cmd/internal/console"
)

// PrintDryRun prints for a person what a run would do.
func PrintDryRun(a *console.Console, spec host.PrepareSpec, preview *rehearsal.Preview, pull bool) {
	state := preview.State
	printRequest(a, spec)
	level, _ := host.Sandbox(spec.Config, os.LookupEnv)
	a.Print("workflow   %s, config: %s, sandbox: %s", state.Workflow, spec.Source, level)
	a.Print("base       %s at %s", console.Dash(spec.Base.Branch), spec.Base.SHA)
	a.Print("branch     %s", state.FeatureBranch)
	for _, l := range preview.Launches {
		a.Print("agent      %-16s %s", l.Role, console.Words(l.Argv))
		a.Print("           %-16s variables: %s", "", strings.Join(l.EnvNames, " "))
	}
	for _, prompt := range preview.Prompts {
		a.Print("\nprompt of %s, %s, sha256 %.12x, %d bytes:\n", prompt.Role, prompt.File, sha256.Sum256([]byte(prompt.Text)), len(prompt.Text))
		a.Print("%s", indent(prompt.Text))
	}
	if pull {
		a.Print("\npull request %q, as far as it is known now:\n\n%s", preview.Title, indent(preview.Body))
	}
	printWrites(a, preview)
	a.Print("\nnothing was written")
}

// printRequest says what is to be worked on, and for whom.
func printRequest(a *console.Console, spec host.PrepareSpec) {
	s := spec.Snapshot
	if s == nil {
		title, _, _ := strings.Cut(spec.Title, "\n")
		a.Print("request    %s", title)
		return
	}
	a.Print("issue      %s#%d %s", s.Repo, s.Issue, s.Title)
	a.Print("gate       start: a person at this machine asked for it")
	a.Print("text       sha256 %s, removed: %s; %s", s.Digest[:12], removedText(s.Report.Removed),
		console.Counted(s.Report.Comments.Used, "comment of the issue used", "comments of the issue used"))
}

// printWrites lists what the rehearsal of the session held back.
func printWrites(a *console.Console, p *rehearsal.Preview) {
	a.Print("\nwould write, in this order, if every agent does its part and every review passes:")
	for i, w := range p.Writes {
		text := w.Text
		if w.Again {
			text += " (again as the session continues)"
		}
		a.Print("%3d. %-60s %s", i+1, w.Request, text)
	}
	if p.Halt != "" {
		a.Print("     and what follows: the rehearsal came no further: %s", p.Halt)
	}
	a.Print("each further review round adds a comment; a question of an agent, or an end that is not done, adds one, too")
}

func indent(text string) string {
	return "  | " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  | ")
}

func removedText(removed map[string]int) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(removed)) {
		if removed[class] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", removed[class], class))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
