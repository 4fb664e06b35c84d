package mirror

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// result is the line below the table of a session that has ended.
func (v *view) result(n markdown.Neutralizer) string {
	var parts []string
	if v.prNumber > 0 {
		parts = append(parts, "PR "+v.pr())
	} else if v.pushed {
		parts = append(parts, "Branch "+markdown.CodeSpan(v.branch)+", no pull request")
	} else {
		parts = append(parts, "No pull request")
	}
	parts = append(parts, v.tally()...)
	lines := append([]string{strings.Join(parts, ", ")}, v.answers(n)...)
	line := strings.Join(append(lines, ghsync.StrayLines(v.strays, n)...), "\n")
	switch v.outcome {
	case orchestrator.OutcomeDone:
		return line
	case orchestrator.OutcomeCanceled:
		line = v.stopper(n) + "\n" + line
	case orchestrator.OutcomeFailed:
		line = "Cause: " + n.Inline(markdown.Shorten(v.reason, 500)) + "\n" + line
	}
	if next := v.nextStep(n); next != "" {
		line += "\n" + next
	}
	return line
}

// tally counts what led to the result.
func (v *view) tally() []string {
	var parts []string
	if v.commit != "" && len(v.rounds) > 0 {
		parts = append(parts, "reviewed at `"+markdown.Abbreviate(v.commit, 7)+"`")
	} else if v.commit != "" {
		parts = append(parts, "commit `"+markdown.Abbreviate(v.commit, 7)+"`")
	}
	fixes := 0
	for _, row := range v.visits {
		if row.kind == "fix" {
			fixes++
		}
	}
	if n := len(v.rounds); n > 0 {
		parts = append(parts, markdown.Count(n, "review round", "review rounds"), markdown.Count(fixes, "fix", "fixes"))
	}
	return parts
}

func (v *view) stopper(n markdown.Neutralizer) string {
	if v.byPerson {
		return "Stopped by " + n.Name(v.actor) + "."
	}
	return "Stopped by the host (" + n.Name(v.reason) + ")."
}

// nextStep is what a person can do now, by a comment or at a keyboard.
func (v *view) nextStep(n markdown.Neutralizer) string {
	var out []string
	if next := markdown.FirstLine(v.next); next != "" && !strings.HasPrefix(next, "agentmux resume ") {
		out = append(out, "Next: "+n.Inline(markdown.Shorten(next, 500))+".")
	}
	if v.current != orchestrator.PhaseDone {
		if v.deaf {
			return strings.Join(append(out, "Go on: `agentmux resume "+v.session+"`."), "\n")
		}
		ways := "`/agentmux resume`"
		if v.outcome == orchestrator.OutcomeNeedsHuman {
			ways = "`/agentmux resume`, `/agentmux changes TEXT` or `/agentmux stop`"
		}
		out = append(out, "Go on: comment "+ways+", or type `agentmux resume "+v.session+"`.")
	}
	return strings.Join(out, "\n")
}

// commandFold lists what people ordered.
func (v *view) commandFold(n markdown.Neutralizer) string {
	const most = 30
	out := []string{
		fmt.Sprintf("<details><summary>Commands (%d)</summary>", len(v.commands)), "",
		"| When | Who | Command | Result |", "|---|---|---|---|",
	}
	shown := v.commands
	if len(shown) > most {
		shown = shown[len(shown)-most:]
	}
	for _, c := range shown {
		out = append(out, fmt.Sprintf("| %s | %s | %s | %s |",
			clock(c.At, v.started), n.CodeCell(c.Actor), n.Cell(markdown.Shorten(commandText(c), 100)), n.Cell(markdown.Shorten(commandResult(c, v.started), 300))))
	}
	return strings.Join(append(out, "</details>"), "\n")
}

// commandText is what was ordered, and of a message to whom.
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

// foldRound is a round's verdicts behind a line with its heading.
func foldRound(text string) string {
	heading, rest, _ := strings.Cut(text, "\n")
	return fold(strings.NewReplacer("### ", "", "*", "").Replace(heading), rest)
}

// codeInFold is a code span in a line that is HTML, where backticks are only backticks.
var codeInFold = regexp.MustCompile("`([^`<>]+)`")

// fold is a text behind a line that opens it.
func fold(summary, text string) string {
	return "<details><summary>" + codeInFold.ReplaceAllString(markdown.Escape(summary), "<code>$1</code>") + "</summary>\n\n" + text + "\n\n</details>"
}

// roundsOf returns the decided rounds.
func (v *view) roundsOf() []*round {
	return slices.DeleteFunc(slices.Clone(v.rounds), func(r *round) bool { return !r.decided })
}
