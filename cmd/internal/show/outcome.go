package show

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/workflows/agents"
)

// TellEnd says how a session ended, or why it waits, and what a person can do now. The
// address of its pull request goes to standard output, for scripts.
func TellEnd(ctx context.Context, a *site.Finder, dir string, s *orchestrator.State) {
	e := session.Entry{Name: filepath.Base(dir), Dir: dir, State: s}
	st, shown := Tell(ctx, e), a.Shown()
	a.Say("%s", shown(endLine(s, st)))
	for _, debt := range st.Owed {
		a.Say("owed: %s", shown(debt.Text))
	}
	if s.Completion.PRURL != "" {
		a.Print("%s", s.Completion.PRURL)
	}
	for _, p := range pullsOf(s) {
		a.Print("%s", p)
	}
	if st.Advice != "" {
		a.Say("%s", shown("you can: "+st.Advice))
	}
	if next := st.Next(); next != "" {
		a.Say("next: %s", shown(next))
	}
}

// endLine is the outcome in one line.
func endLine(s *orchestrator.State, st story.Story) string {
	parts := []string{outcomeWord(s)}
	if s.OutcomeReason != "" {
		parts[0] += " (" + string(s.OutcomeReason) + ")"
	}
	if st.Sentence != "" {
		parts = append(parts, console.OneLine(st.Sentence))
	}
	switch c := s.Completion; {
	case s.Phase != orchestrator.PhaseDone:
	case s.Kind == orchestrator.KindAgents:
		parts = append(parts, teamResult(s))
	case proposable(s):
		parts = append(parts, "the branch "+s.FeatureBranch+" is in this clone")
	case c.PRNumber > 0 && c.Draft:
		parts = append(parts, fmt.Sprintf("pull request #%d, a draft", c.PRNumber))
	case c.PRNumber > 0:
		parts = append(parts, fmt.Sprintf("pull request #%d", c.PRNumber))
	case c.Commit == "":
		parts = append(parts, "no branch and no pull request: nothing was changed")
	default:
		parts = append(parts, "the branch "+s.FeatureBranch+" is on the server, without a pull request")
	}
	return strings.Join(parts, ": ")
}

// teamResult is what came of a run of an agents file, each of whose agents has a branch of its own.
func teamResult(s *orchestrator.State) string {
	branches, pulls := 0, 0
	for _, p := range s.Team {
		if p.Commit != "" {
			branches++
		}
		if p.PRNumber > 0 {
			pulls++
		}
	}
	if branches == 0 {
		return "no branch: nothing was changed"
	}
	made := console.Counted(branches, "branch", "branches")
	if pulls > 0 {
		made += ", " + console.Counted(pulls, "pull request", "pull requests")
	}
	return made + "; agentmux agents status " + s.SessionID + " shows them"
}

// pullsOf are the addresses of the pull requests of a run of an agents file, oldest first.
func pullsOf(s *orchestrator.State) []string {
	opened := slices.DeleteFunc(slices.Collect(maps.Values(s.Team)), func(p agents.Progress) bool { return p.PRURL == "" })
	slices.SortFunc(opened, func(a, b agents.Progress) int { return a.PRNumber - b.PRNumber })
	var urls []string
	for _, p := range opened {
		urls = append(urls, p.PRURL)
	}
	return urls
}

// branchOf is the branch of a session; "" where each agent has one of its own.
func branchOf(s *orchestrator.State) string {
	if s.Kind == orchestrator.KindAgents {
		return ""
	}
	return s.FeatureBranch
}

// outcomeWord is the outcome in words.
func outcomeWord(s *orchestrator.State) string {
	if s.Outcome == orchestrator.OutcomeNeedsHuman {
		return "needs a human"
	}
	return string(s.Outcome)
}
