package mirror

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// finding is one row of a verdict comment.
type finding struct {
	severity, location, issue, recommendation string
}

// review is what a reviewer wrote; missing when its file cannot be read.
type review struct {
	summary  string
	findings []finding
	missing  bool
}

// renderVerdict is the comment of a decided round: roles that failed with all they found,
// then those that passed, then what happens next. read returns what a role wrote.
func renderVerdict(v *view, r *round, n markdown.Neutralizer, read func(verdict) review) string {
	result := "fail"
	if r.passed {
		result = "pass"
	}
	out := []string{fmt.Sprintf("### Review round %d: **%s**%s", r.number, result, treeNote(r.tree))}
	passed := []string{}
	for i, role := range r.failedFirst() {
		given, ok := r.verdicts[role]
		name := n.Inline(role)
		switch {
		case !ok:
			passed = append(passed, name+": no answer in time")
		case given.verdict == "fail":
			if i > 0 {
				out = append(out, "")
			}
			out = append(out, "**"+name+": fail**", failedReview(given, read(given), n))
		default:
			passed = append(passed, name+": "+given.verdict)
		}
	}
	if len(passed) > 0 {
		if len(out) > 1 {
			out = append(out, "")
		}
		out = append(out, passed...)
	}
	return strings.Join(append(out, "", v.afterRound(r)), "\n")
}

func treeNote(tree string) string {
	if tree == "" {
		return ""
	}
	return " (tree `" + markdown.Abbreviate(tree, 7) + "`)"
}

// failedFirst orders the roles for reading.
func (r *round) failedFirst() []string {
	roles := slices.Clone(r.roles)
	slices.SortStableFunc(roles, func(a, b string) int { return r.weight(a) - r.weight(b) })
	return roles
}

func (r *round) weight(role string) int {
	given, ok := r.verdicts[role]
	switch {
	case ok && given.verdict == "fail":
		return 0
	case ok:
		return 1
	}
	return 2
}

func failedReview(given verdict, text review, n markdown.Neutralizer) string {
	if text.missing {
		return fmt.Sprintf("> %s, see %s in the session directory", markdown.Count(given.findings, "finding", "findings"), markdown.CodeSpan(given.path))
	}
	out := []string{n.Quote(text.summary)}
	if len(text.findings) > 0 {
		out = append(out, "", "| # | Severity | Where | Issue | Recommendation |", "|---|---|---|---|---|")
	}
	for i, f := range text.findings {
		out = append(out, fmt.Sprintf("| %d | %s | %s | %s | %s |",
			i+1, n.Cell(f.severity), n.CodeCell(f.location), n.Cell(f.issue), n.Cell(f.recommendation)))
	}
	return strings.Join(out, "\n")
}

func (v *view) afterRound(r *round) string {
	switch {
	case r.passed:
		return "Next: summary and pull request."
	case v.exhausted:
		return "Next: no fix round is left; a person decides."
	}
	return fmt.Sprintf("Next: fix %d of %d.", v.fixes, max(v.cap, v.fixes))
}

// renderQuestion asks on the issue. until is when the question is decided without an answer,
// zero: never; park says that the session then stops instead of going on.
func renderQuestion(v *view, q story.Question, n markdown.Neutralizer, until time.Time, park bool) string {
	out := []string{"### Question " + q.ID + " of " + markdown.CodeSpan(q.Agent), "", n.Quote(q.Text), ""}
	for i, option := range q.Options {
		out = append(out, fmt.Sprintf("%d. %s", i+1, n.Inline(option)))
	}
	if len(q.Options) > 0 {
		out = append(out, "")
	}
	out = append(out, reply(v.deaf)+"answer "+q.ID+" <number or text>`")
	switch {
	case until.IsZero():
	case park:
		out = append(out, "Without an answer by "+deadline(until)+" the session stops until somebody resumes it.")
	default:
		out = append(out, "Without an answer by "+deadline(until)+" the agent takes the safest reading and writes it down.")
	}
	return strings.Join(out, "\n")
}

func deadline(t time.Time) string { return t.UTC().Format("15:04 UTC, 2 Jan") }

// renderGate asks for a decision and shows what it will be about.
func renderGate(v *view, n markdown.Neutralizer, changes []string, until time.Time) string {
	noun := gateNoun(v.gate)
	out := []string{"### The " + noun + " waits for approval", ""}
	switch {
	case v.gate == orchestrator.GatePlan && v.plan != "":
		out = append(out, fmt.Sprintf("Plan `%s`, %s. Its text is `04_planning/plan.md` in the session directory.",
			markdown.Abbreviate(v.plan, 12), markdown.Count(v.subplans, "subplan", "subplans")))
	case v.gate == orchestrator.GateCompletion:
		line := "Tree `" + markdown.Abbreviate(v.tree, 7) + "`"
		if tally := v.tally(); len(tally) > 0 {
			line += ", " + strings.Join(tally, ", ")
		}
		if v.exhausted {
			line += ". **The last review failed** and no fix round is left"
		}
		out = append(out, line+".")
	}
	if why := story.GateWhy(v.opened); why != "" {
		out = append(out, "", "It is open because "+why+".")
	}
	for _, finding := range v.findings {
		out = append(out, "- "+n.Inline(markdown.Shorten(finding, 500)))
	}
	out = append(out, gateChanges(v, n, changes)...)
	slash := "/"
	if v.deaf {
		slash = ""
	}
	out = append(out, "", reply(v.deaf)+"approve`, or `"+slash+"agentmux changes <what to change>`")
	if !until.IsZero() {
		out = append(out, "Without a decision by "+deadline(until)+" the session parks; `"+slash+"agentmux resume` opens this again.")
	}
	return strings.Join(out, "\n")
}

// maxGateFiles is how many files a gate's comment lists.
const maxGateFiles = 30

// gateChanges says how much the gate asks about, and how to see it.
func gateChanges(v *view, n markdown.Neutralizer, changes []string) []string {
	var out []string
	if len(changes) > 0 {
		out = append(out, "", n.Inline(changes[0])+":")
		for i, file := range changes[1:] {
			if i == maxGateFiles {
				out = append(out, fmt.Sprintf("- and %d more", len(changes)-1-i))
				break
			}
			out = append(out, "- "+markdown.CodeSpan(markdown.Shorten(file, 200)))
		}
	}
	if v.digest != "" {
		out = append(out, "", "Digest `"+orchestrator.ShortDigest(v.digest)+"`; on the machine it runs on `agentmux diff "+v.name()+"` shows all of it.")
	}
	return out
}

// reply begins the line that says how to answer: by a comment, or on the machine.
func reply(deaf bool) string {
	if deaf {
		return "Answer on the machine it runs on: `agentmux "
	}
	return "Reply: `/agentmux "
}

func (v *view) anotherRound() string {
	next := "Next: review the pull request"
	if v.prDraft {
		next += ", a draft, and make it ready for review there"
	}
	if v.deaf {
		return next + ". For another round: `agentmux resume " + v.session + " --changes TEXT`."
	}
	return next + ". Request changes there, or comment `/agentmux changes TEXT`, for another round."
}

// renderFinal is the last word of a session: outcome first, then what to do.
func renderFinal(v *view, n markdown.Neutralizer) string {
	var out []string
	switch v.outcome {
	case orchestrator.OutcomeDone:
		out = append(out, "### Done in "+lasted(v.seconds))
	case orchestrator.OutcomeNeedsHuman:
		out = append(out, "### Needs a human", "", n.Quote(v.reason))
	case orchestrator.OutcomeFailed:
		out = append(out, "### Failed after "+lasted(v.seconds), "", n.Quote(v.reason))
	default:
		out = append(out, "### Stopped after "+lasted(v.seconds), "", v.stopper(n))
	}
	out = append(out, "", v.finalLine())
	if v.outcome == orchestrator.OutcomeDone {
		if v.prNumber > 0 {
			out = append(out, "", v.anotherRound())
		}
		return strings.Join(out, "\n")
	}
	if next := v.nextStep(n); next != "" {
		out = append(out, "", next)
	}
	return strings.Join(out, "\n")
}

func (v *view) finalLine() string {
	parts := []string{"No pull request"}
	switch {
	case v.prNumber > 0:
		parts = []string{"PR " + v.pr()}
	case v.pushed:
		parts = []string{"Branch " + markdown.CodeSpan(v.branch) + " is pushed, no pull request"}
	case v.commit != "":
		parts = []string{"Branch " + markdown.CodeSpan(v.branch) + ", not pushed"}
	}
	return strings.Join(append(parts, v.tally()...), ", ") + "."
}

// renderPhase is the line of the comment that the mode "every" adds per phase.
func renderPhase(v *view) string {
	row := v.row()
	if row == nil {
		return "agentmux: starting"
	}
	return fmt.Sprintf("agentmux: %s began at %s UTC", row.phase, clock(row.began, v.started))
}
