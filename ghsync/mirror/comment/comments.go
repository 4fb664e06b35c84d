package comment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// Overtaken is what a comment says that a lost part of a session made.
const Overtaken = "*This was written before the session was continued on another machine, from an earlier checkpoint. It no longer holds.*"

// Finding is one row of a verdict comment.
type Finding struct{ Severity, Location, Issue, Recommendation string }

// Review is what a reviewer wrote; missing when its file cannot be read.
type Review struct {
	Summary  string
	Findings []Finding
	Missing  bool
}

// VerdictText is the comment of a decided round: roles that failed with all they found, then
// those that passed, then what happens next. read returns what a role wrote.
func (v *View) VerdictText(r *story.Round, read func(story.Verdict) Review) string {
	result := "fail"
	if r.Passed {
		result = "pass"
	}
	out := []string{fmt.Sprintf("### Review round %d: **%s**%s", r.Number, result, treeNote(r.Tree))}
	passed := []string{}
	for i, role := range r.FailedFirst() {
		given, ok := r.Verdicts[role]
		name := v.n.Inline(markdown.Raw(role))
		switch {
		case !ok:
			passed = append(passed, name+": no answer in time")
		case given.Verdict == "fail":
			if i > 0 {
				out = append(out, "")
			}
			out = append(out, "**"+name+": fail**", v.failedReview(given, read(given)))
		default:
			passed = append(passed, name+": "+given.Verdict)
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

func (v *View) failedReview(given story.Verdict, text Review) string {
	if text.Missing {
		return fmt.Sprintf("> %s, see %s in the session directory", markdown.Count(given.Findings, "finding", "findings"), markdown.CodeSpan(given.Path))
	}
	out := []string{v.n.Quote(markdown.Raw(text.Summary))}
	if len(text.Findings) > 0 {
		out = append(out, "", "| # | Severity | Where | Issue | Recommendation |", "|---|---|---|---|---|")
	}
	for i, f := range text.Findings {
		out = append(out, fmt.Sprintf("| %d | %s | %s | %s | %s |",
			i+1, v.n.Cell(markdown.Raw(f.Severity)), v.n.CodeCell(f.Location), v.n.Cell(markdown.Raw(f.Issue)), v.n.Cell(markdown.Raw(f.Recommendation))))
	}
	return strings.Join(out, "\n")
}

func (v *View) afterRound(r *story.Round) string {
	switch {
	case r.Passed:
		return "Next: summary and pull request."
	case v.Reviews.Exhausted:
		return "Next: no fix round is left; a person decides."
	}
	return fmt.Sprintf("Next: fix %d of %d.", v.Reviews.Fix, max(v.fixLimit(), v.Reviews.Fix))
}

// QuestionText asks on the issue what an agent asked at a time.
func (v *View) QuestionText(q story.Question, asked orchestrator.Time) string {
	out := []string{"### Question " + q.ID + " of " + markdown.CodeSpan(string(q.Agent)), ""}
	if q.Dialog {
		out = append(out, "Its program shows a dialog that only a person may answer:", "")
	}
	out = append(out, v.n.Quote(markdown.Raw(q.Text)), "")
	for i, option := range q.Options {
		out = append(out, fmt.Sprintf("%d. %s", i+1, v.n.Inline(markdown.Raw(option))))
	}
	if len(q.Options) > 0 {
		out = append(out, "")
	}
	form := "<number or text>"
	if q.Dialog {
		form = "<number>"
	}
	out = append(out, reply(v.Deaf)+"answer "+q.ID+" "+form+"`")
	switch until, here := v.until(asked), confinement(v); {
	case here != "" && (until.IsZero() || v.Settings.Park || q.Dialog):
		out = append(out, here.waits("an answer", until))
	case until.IsZero():
	case v.Settings.Park || q.Dialog:
		out = append(out, "Without an answer by "+deadline(until)+" the session stops until somebody resumes it.")
	default:
		out = append(out, "Without an answer by "+deadline(until)+" the agent takes the safest reading and writes it down.")
	}
	return strings.Join(out, "\n")
}

func deadline(t time.Time) string { return t.UTC().Format("15:04 UTC, 2 Jan") }

// GateText asks for a decision at the gate that was opened at a time, and shows what the
// decision will be about.
func (v *View) GateText(changes []string, opened orchestrator.Time) string {
	noun := story.GateNoun(v.Gate.Name)
	out := []string{"### The " + noun + " waits for approval", ""}
	switch {
	case v.Gate.Name == orchestrator.GatePlan && v.Plan.SHA256 != "":
		out = append(out, fmt.Sprintf("Plan `%s`, %s. Its text is `04_planning/plan.md` in the session directory.",
			markdown.Abbreviate(v.Plan.SHA256, 12), markdown.Count(v.Plan.Subplans, "subplan", "subplans")))
	case v.Gate.Name == orchestrator.GateCompletion:
		line := "Tree `" + markdown.Abbreviate(v.Reviews.Tree, 7) + "`"
		if tally := v.tally(); len(tally) > 0 {
			line += ", " + strings.Join(tally, ", ")
		}
		if v.Reviews.Exhausted {
			line += ". **The last review failed** and no fix round is left"
		}
		out = append(out, line+".")
	}
	if why := story.GateWhy(v.Gate.Reason); why != "" {
		out = append(out, "", "It is open because "+why+".")
	}
	if len(v.Gate.Findings) > 0 && v.Gate.Reason != orchestrator.GateBlocked {
		out = append(out, "", "The output gate blocks:")
	}
	for _, finding := range v.Gate.Findings {
		out = append(out, "- "+v.n.Inline(markdown.Shorten(markdown.Raw(finding), 500)))
	}
	out = append(out, v.gateChanges(changes)...)
	slash := "/"
	if v.Deaf {
		slash = ""
	}
	out = append(out, "", reply(v.Deaf)+"approve`, or `"+slash+"agentmux changes <what to change>`")
	if until, here := v.until(opened), confinement(v); here != "" {
		out = append(out, here.waits("a decision", until))
	} else if !until.IsZero() {
		if v.deafAfter() {
			slash = ""
		}
		out = append(out, "Without a decision by "+deadline(until)+" the session parks; `"+slash+"agentmux resume` opens this again.")
	}
	return strings.Join(out, "\n")
}

// maxGateFiles is how many files a gate's comment lists.
const maxGateFiles = 30

// gateChanges says how much the gate asks about, and how to see it.
func (v *View) gateChanges(changes []string) []string {
	var out []string
	if len(changes) > 0 {
		out = append(out, "", v.n.Inline(markdown.Raw(changes[0]))+":")
		for i, file := range changes[1:] {
			if i == maxGateFiles {
				out = append(out, fmt.Sprintf("- and %d more", len(changes)-1-i))
				break
			}
			out = append(out, "- "+markdown.CodeSpan(markdown.Shorten(file, 200)))
		}
	}
	out = append(out, unlisted(v.Gate.Held, changes)...)
	if v.Gate.Digest != "" {
		out = append(out, "", "Digest `"+orchestrator.ShortDigest(v.Gate.Digest)+"`; on the machine it runs on `agentmux diff "+v.name()+"` shows all of it.")
	}
	return out
}

// unlisted names what the gate holds beside the files that its comment lists: it is approved, too.
func unlisted(held, changes []string) []string {
	listed := changes[min(1, len(changes)):min(1+maxGateFiles, len(changes))]
	held = slices.DeleteFunc(slices.Clone(held), func(path string) bool {
		return slices.ContainsFunc(listed, func(line string) bool { return strings.HasPrefix(line, path+" ") })
	})
	if len(held) == 0 {
		return nil
	}
	out := []string{"", "Held, too: maintain permission approves it."}
	for i, path := range held {
		if i == maxGateFiles {
			return append(out, fmt.Sprintf("- and %d more", len(held)-i))
		}
		out = append(out, "- "+markdown.CodeSpan(markdown.Shorten(path, 200)))
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

func (v *View) anotherRound() string {
	next := "Next: review the pull request"
	if v.Result.Draft {
		next += ", a draft, and make it ready for review there"
	}
	if v.Agent != "" {
		return next + "."
	}
	if v.deafAfter() {
		return next + ". For another round: `agentmux resume " + v.Identity.Session + " --changes TEXT`."
	}
	return next + ". Request changes there, or comment `/agentmux changes TEXT`, for another round."
}

// FinalText is the last comment of a session: outcome first, then what to do.
func (v *View) FinalText() string {
	var out []string
	switch v.End.Outcome {
	case orchestrator.OutcomeDone:
		out = append(out, "### Done in "+lasted(v.End.Seconds))
	case orchestrator.OutcomeNeedsHuman:
		out = append(out, "### Needs a human", "", v.n.Quote(markdown.Raw(v.End.Cause())))
	case orchestrator.OutcomeFailed:
		out = append(out, "### Failed after "+lasted(v.End.Seconds), "", v.n.Quote(markdown.Raw(v.End.Cause())))
	default:
		out = append(out, "### Stopped after "+lasted(v.End.Seconds), "", v.stopper())
	}
	out = append(append(out, "", v.finalLine()), typed(v)...)
	if v.End.Outcome == orchestrator.OutcomeDone {
		if v.Result.Pull > 0 {
			out = append(out, "", v.anotherRound())
		}
		return strings.Join(out, "\n")
	}
	if next := v.nextStep(); next != "" {
		out = append(out, "", next)
	}
	return strings.Join(out, "\n")
}

func (v *View) finalLine() string {
	parts := []string{"No pull request"}
	switch {
	case v.Result.Pull > 0:
		parts = []string{"PR " + v.pr()}
	case v.Result.Pushed:
		parts = []string{"Branch " + markdown.CodeSpan(v.Result.Branch) + " is pushed, no pull request"}
	case v.Result.Commit != "":
		parts = []string{"Branch " + markdown.CodeSpan(v.Result.Branch) + ", not pushed"}
	}
	return strings.Join(append(parts, v.tally()...), ", ") + "."
}

// PhaseText is the line of the comment that the mode "every" adds per phase.
func (v *View) PhaseText() string {
	row := v.Visits.Current()
	if row == nil {
		return "agentmux: starting"
	}
	return fmt.Sprintf("agentmux: %s began at %s UTC", row.Phase, v.at(row.Began))
}

// WholeText names where a text can be read that is too long for a comment: that of a round's
// verdicts, or another one if round is nil.
func WholeText(r *story.Round) string {
	if r != nil {
		for _, role := range r.FailedFirst() {
			if path := r.Verdicts[role].Path; path != "" {
				return markdown.CodeSpan(path)
			}
		}
	}
	return "the session directory"
}
