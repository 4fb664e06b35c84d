package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/host"
	"github.com/agentmux/agentmux/workflows"
)

// dryRun prints what a run would do. Nothing is written anywhere.
func (a *app) dryRun(_ context.Context, s *site, p *planned) error {
	spec := p.spec
	name := spec.Workflow
	if name == "" {
		name = s.config.Defaults.Workflow
	}
	def, _, problems := workflows.Load(name, spec.Files)
	if err := problems.Err(); err != nil {
		return usage(err)
	}
	snapshot := spec.Snapshot
	a.print("issue      %s#%d %s", snapshot.Repo, snapshot.Issue, snapshot.Title)
	a.print("gate       start: a person at this machine asked for it")
	a.print("text       sha256 %s, removed: %s, %d comments used", snapshot.Digest[:12], removedText(snapshot.Report.Removed), snapshot.Report.Comments.Used)
	a.print("workflow   %s, config: %s, sandbox: none", def.Name, spec.Source)
	a.print("base       %s at %s", dash(spec.Base.Branch), spec.Base.SHA)
	a.print("branch     %sissue-%d-…", s.config.GitHub.BranchPrefix, snapshot.Issue)
	providers, providerProblems := host.Providers(s.config)
	if providerProblems != nil {
		return usage(providerProblems)
	}
	for _, phase := range def.Phases {
		roles := append([]string{phase.Role}, phase.DefaultRoles...)
		for _, role := range roles {
			if role == "" {
				continue
			}
			choice := s.config.Choose(role)
			a.print("agent      %-12s %-16s %s %s", phase.ID, role, choice.Provider, strings.Join(providers[choice.Provider].Headless, " "))
		}
	}
	a.print("\nwould write, in this order:")
	for i, write := range plannedWrites(spec.Mirror, p.push && s.config.GitHub.Push, spec) {
		a.print("%3d. %s", i+1, write)
	}
	a.print("\nnothing was written")
	return nil
}

func plannedWrites(mirror, push bool, spec host.PrepareSpec) []string {
	var writes []string
	if mirror {
		writes = append(writes, "status comment on the issue, edited as the run goes on", "one comment per review round, question and end")
	}
	if !push {
		return append(writes, "the finished branch, into this clone")
	}
	return append(writes, "push of one branch to origin", fmt.Sprintf("draft pull request against %s with Closes #%d", spec.Base.Branch, spec.Snapshot.Issue),
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
