package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/host"
)

// dryRun prints what a run would do, as the code of a run says. Nothing is written for
// the project, here or on the server.
func (a *app) dryRun(ctx context.Context, s *site, p *planned) error {
	spec := p.spec
	preview, err := s.host.Preview(ctx, spec)
	if err != nil {
		return explainRun(err)
	}
	state, snapshot := preview.State, spec.Snapshot
	a.print("issue      %s#%d %s", snapshot.Repo, snapshot.Issue, snapshot.Title)
	a.print("gate       start: a person at this machine asked for it")
	a.print("text       sha256 %s, removed: %s, %d comments used", snapshot.Digest[:12], removedText(snapshot.Report.Removed), snapshot.Report.Comments.Used)
	a.print("workflow   %s, config: %s, sandbox: none", state.Workflow, spec.Source)
	a.print("base       %s at %s", dash(spec.Base.Branch), spec.Base.SHA)
	a.print("branch     %s", state.FeatureBranch)
	for _, l := range preview.Launches {
		a.print("agent      %-16s %s", l.Role, strings.Join(l.Argv, " "))
		a.print("           %-16s variables: %s", "", strings.Join(l.EnvNames, " "))
	}
	for _, prompt := range preview.Prompts {
		a.print("\nprompt of %s, %s, sha256 %.12x, %d bytes:\n", prompt.Role, prompt.File, sha256.Sum256([]byte(prompt.Text)), len(prompt.Text))
		a.print("%s", indent(prompt.Text))
	}
	if p.push && s.config.GitHub.Push {
		a.print("\npull request %q, as far as it is known now:\n\n%s", preview.Title, indent(preview.Body))
	}
	a.print("\nwould write, in this order:")
	for i, write := range plannedWrites(spec.Mirror, p.push && s.config.GitHub.Push, spec) {
		a.print("%3d. %s", i+1, write)
	}
	a.print("\nnothing was written")
	return nil
}

func indent(text string) string {
	return "  | " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  | ")
}

func plannedWrites(mirror, push bool, spec host.PrepareSpec) []string {
	var writes []string
	if mirror {
		writes = append(writes, "status comment on the issue, edited as the run goes on", "one comment per review round, question and end")
	}
	if !push {
		return append(writes, "the finished branch, into this clone")
	}
	return append(writes, "push of one branch to origin", fmt.Sprintf("draft pull request against %s", spec.Base.Branch),
		"commit status agentmux/review on its head", "ready for review, if every review passed for exactly that tree")
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
