package duty

import (
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// Ready reports whether nothing is left for a person to decide before the pull request can be
// looked at: every last verdict is a pass for exactly this tree, and held paths were approved
// at a gate that showed them.
func Ready(def *workflows.Definition, s *orchestrator.State) bool {
	c := s.Completion
	if s.Settings.Ready == "never" || c.Exhausted || len(c.Open) > 0 {
		return false
	}
	for _, role := range ReviewRoles(def, s) {
		res := s.ReviewResults[role]
		if res.Verdict != "pass" || res.Tree != c.Tree {
			return false
		}
	}
	return true
}

// Approved returns the completion after a person approved what the open gate shows. Who may do
// that is judged where the word is heard.
func Approved(c orchestrator.Completion) orchestrator.Completion {
	c.Approved, c.Cleared, c.Asked = true, append(slices.Clip(c.Cleared), c.Asked...), nil
	return c
}

// Compared returns the completion after a person approved what a gate shows that another machine opened. Before that counts,
// the output gate says what it names of the work here: those who may push can have written what that gate shows. Unless
// seen, nothing counts as shown.
func Compared(c orchestrator.Completion, a orchestrator.Approval, seen bool) orchestrator.Completion {
	if !seen {
		c.Asked, c.Findings = nil, nil
	}
	c.Compare, c.Exclude, c.Message, c.Next = a.Of, a.ExcludeFiles, a.CommitMessage, orchestrator.StepGate
	return c
}

// Counts reports whether an approval waited for what the output gate says here, and covers all of it.
func Counts(c orchestrator.Completion, here orchestrator.Result) bool {
	within := func(named, shown []string) bool {
		return !slices.ContainsFunc(named, func(it string) bool { return !slices.Contains(shown, it) })
	}
	return c.Compare != "" && within(here.Held, c.Asked) && within(here.Findings, c.Findings)
}

// Unapproved returns the held paths of a commit, and those of earlier ones, that no person has
// approved.
func Unapproved(c orchestrator.Completion, held []string) []string {
	var open []string
	for _, path := range append(slices.Clip(c.Open), held...) {
		if !slices.Contains(c.Cleared, path) && !slices.Contains(open, path) {
			open = append(open, path)
		}
	}
	return open
}

// CommitMessage picks the person's message, else the first reviewer's.
func CommitMessage(def *workflows.Definition, s *orchestrator.State) string {
	if m := s.Completion.Message; m != "" {
		return m
	}
	for _, role := range ReviewRoles(def, s) {
		if m := s.ReviewResults[role].CommitMessage; m != "" {
			return m
		}
	}
	return ""
}
