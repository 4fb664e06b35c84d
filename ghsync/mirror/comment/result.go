package comment

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// result is the line below the table of a session that has ended.
func (v *View) result() string {
	var parts []string
	if v.Result.Pull > 0 {
		parts = append(parts, "PR "+v.pr())
	} else if v.Result.Pushed {
		parts = append(parts, "Branch "+markdown.CodeSpan(v.Result.Branch)+", no pull request")
	} else {
		parts = append(parts, "No pull request")
	}
	parts = append(parts, v.tally()...)
	lines := append([]string{strings.Join(parts, ", ")}, v.moved()...)
	lines = append(lines, v.answers()...)
	lines = append(lines, typed(v)...)
	lines = append(lines, v.Strays.Lines(v.n.Name)...)
	line := strings.Join(append(lines, v.used()...), "\n")
	switch v.End.Outcome {
	case orchestrator.OutcomeDone:
		return line
	case orchestrator.OutcomeCanceled:
		line = v.stopper() + "\n" + line
	case orchestrator.OutcomeFailed:
		line = "Cause: " + v.n.Inline(markdown.Shorten(markdown.Raw(v.End.Cause()), 500)) + "\n" + line
	}
	if next := v.nextStep(); next != "" {
		line += "\n" + next
	}
	return line
}

// tally counts what led to the result.
func (v *View) tally() []string {
	var parts []string
	if v.Result.Commit != "" && len(v.Reviews.Rounds) > 0 {
		parts = append(parts, "reviewed at `"+markdown.Abbreviate(v.Result.Commit, 7)+"`")
	} else if v.Result.Commit != "" {
		parts = append(parts, "commit `"+markdown.Abbreviate(v.Result.Commit, 7)+"`")
	}
	if n := len(v.Reviews.Rounds); n > 0 {
		parts = append(parts, markdown.Count(n, "review round", "review rounds"), markdown.Count(v.Fixes(), "fix", "fixes"))
	}
	return parts
}

func (v *View) stopper() string {
	if v.End.ByPerson() {
		return "Stopped by " + v.n.Name(v.End.Actor) + "."
	}
	return "Stopped by the host (" + v.n.Name(v.End.Cause()) + ")."
}

// advice is what the end says about what can be done.
func (v *View) advice() string {
	switch {
	case !v.End.LastReviewFailed():
		return v.End.Next
	case v.deafAfter():
		return "look at the open findings in the pull request; `agentmux resume " + v.Identity.Session + " --changes TEXT` goes on"
	}
	return "look at the open findings in the pull request; comment `/agentmux changes TEXT` to go on"
}

// nextStep is what a person can do now, by a comment or at a keyboard.
func (v *View) nextStep() string {
	var out []string
	if v.Agent != "" {
		if v.End.Outcome == orchestrator.OutcomeFailed {
			way := "`agentmux retry " + v.Identity.Session + " --role " + v.Agent + "`"
			if !v.Deaf {
				way = "comment `/agentmux retry` while the run works, or type " + way
			}
			out = append(out, "Another try: "+way+".")
		}
		return strings.Join(append(out, "Go on: `agentmux agents start`."), "\n")
	}
	if here := confinement(v); here != "" && v.Phase != orchestrator.PhaseDone {
		return here.lost()
	}
	if next := markdown.FirstLine(v.advice()); next != "" && !strings.HasPrefix(next, "agentmux resume ") {
		out = append(out, "Next: "+v.n.Inline(markdown.Shorten(markdown.Raw(next), 500))+".")
	}
	if v.Phase != orchestrator.PhaseDone {
		if v.deafAfter() {
			return strings.Join(append(out, "Go on: `agentmux resume "+v.Identity.Session+"`."), "\n")
		}
		ways := "`/agentmux resume`"
		if v.End.Outcome == orchestrator.OutcomeNeedsHuman {
			ways = "`/agentmux resume`, `/agentmux changes TEXT` or `/agentmux stop`"
		}
		out = append(out, "Go on: comment "+ways+", or type `agentmux resume "+v.Identity.Session+"`.")
	}
	return strings.Join(out, "\n")
}

// commandFold lists the commands of people, and what they may say if somebody asked.
func (v *View) commandFold() string {
	const most = 30
	shown := v.Commands.With(v.Noted)
	out := []string{
		fmt.Sprintf("<details><summary>Commands (%d)</summary>", len(shown)), "",
		"| When | Who | Command | Result |", "|---|---|---|---|",
	}
	if len(shown) > most {
		shown = shown[len(shown)-most:]
	}
	for _, c := range shown {
		out = append(out, fmt.Sprintf("| %s | %s | %s | %s |",
			v.at(c.At), v.n.CodeCell(c.Actor), v.n.Cell(markdown.Shorten(markdown.Raw(commandText(c)), 100)), v.n.Cell(markdown.Shorten(markdown.Raw(commandResult(c, v.Identity.Started)), 300))))
	}
	if v.Noted.Asked("help") {
		out = append(out, "", "| Command | When | Does |", "|---|---|---|")
		for _, verb := range story.Verbs() {
			if v.Agent != "" && !story.OfAgent(verb.Name) {
				continue
			}
			form := strings.TrimSpace("/agentmux " + verb.Name + " " + verb.Args)
			out = append(out, fmt.Sprintf("| `%s` | %s | %s |", form, verb.When, verb.Does))
		}
	}
	return strings.Join(append(out, "</details>"), "\n")
}

// commandText is the command, with the agent if it is a message.
func commandText(c story.Command) string {
	if c.Result == story.CommandQueued || c.Result == story.CommandDelivered || c.Result == story.CommandLost {
		return c.Name + " " + c.To
	}
	return c.Name
}

// commandResult says what became of a command of a session that began at start.
func commandResult(c story.Command, start time.Time) string {
	switch c.Result {
	case story.CommandRefused:
		return "❌ " + c.Reason
	case story.CommandQueued:
		return "queued"
	case story.CommandDelivered:
		return "✅ delivered " + clock(c.Delivered, start)
	case story.CommandLost:
		return "❌ not delivered: " + c.Reason
	}
	return "✅ applied"
}

// FoldVerdict is the comment of a round behind a line with its heading.
func FoldVerdict(text string) string {
	heading, rest, _ := strings.Cut(text, "\n")
	return fold(strings.NewReplacer("### ", "", "*", "").Replace(heading), rest)
}

// codeInFold is a code span, which a line of HTML does not show as code.
var codeInFold = regexp.MustCompile("`([^`<>]+)`")

// fold hides a text behind a line that opens it.
func fold(summary, text string) string {
	return "<details><summary>" + codeInFold.ReplaceAllString(markdown.Escape(summary), "<code>$1</code>") + "</summary>\n\n" + text + "\n\n</details>"
}
