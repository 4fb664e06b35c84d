package monitor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/orchestrator"
)

// decision is what waits for a person, with the keys that answer it.
func decision(v View, width int) []line {
	var lines []line
	switch {
	case v.Outcome != nil:
		lines = outcomeLines(v, width)
	case v.Gate != "":
		lines = []line{
			rule(width),
			plainLine("The "+v.Gate+" waits for your approval.", paint.Ask),
		}
		lines = append(lines, askedLines(v, width)...)
		lines = append(lines, keys("a", "approve"), keys("c", "ask for changes"))
	}
	if v.Question != nil {
		lines = append(lines, questionLines(*v.Question, width)...)
	}
	return lines
}

// askedLines say what a gate asks about, and where to see it.
func askedLines(v View, width int) (lines []line) {
	text := "agentmux diff " + v.Session
	if v.Digest != "" {
		text += " (" + orchestrator.ShortDigest(v.Digest) + ")"
	}
	if v.Changes != "" {
		text = v.Changes + ": " + text
	}
	for _, text := range append(paint.Wrap(v.Why, width, maxAsked), paint.Wrap(text, width, maxAsked)...) {
		lines = append(lines, plainLine(text, paint.Plain))
	}
	return lines
}

func rule(width int) line { return plainLine(strings.Repeat("─", width), paint.Faint) }

func keys(key, means string) line {
	return line{left: []piece{{" [" + key + "] ", paint.Ask}, {means, paint.Plain}}}
}

func questionLines(q Question, width int) []line {
	title := fmt.Sprintf("Question %s from %s", q.ID, q.From)
	if q.More > 0 {
		title += fmt.Sprintf(" (%d more)", q.More)
	}
	lines := []line{rule(width), plainLine(title, paint.Ask)}
	for _, text := range paint.Wrap(q.Text, width, maxAsked) {
		lines = append(lines, plainLine(text, paint.Plain))
	}
	for i, option := range q.Options {
		if i < maxOptions {
			lines = append(lines, keys(strconv.Itoa(i+1), option))
		}
	}
	return append(lines, keys("t", "type an answer"))
}

func outcomeLines(v View, width int) []line {
	good := paint.Bad
	if v.Outcome.Good {
		good = paint.Good
	}
	lines := []line{rule(width), plainLine("Outcome: "+v.Outcome.Word, good)}
	limit := maxAsked
	if len(v.Members) > 0 {
		limit = maxNamed // their own lines say it, too
	}
	for _, text := range paint.Wrap(v.Outcome.Reason, width, limit) {
		lines = append(lines, plainLine(text, paint.Plain))
	}
	if v.PR != "" {
		lines = append(lines, plainLine("pull request "+v.PR, paint.Plain))
	}
	if v.Outcome.Next != "" {
		for _, text := range paint.Wrap("next: "+v.Outcome.Next, width, maxAsked) {
			lines = append(lines, plainLine(text, paint.Plain))
		}
	}
	if v.Parked {
		lines = append(lines, keys("r", "try again"), keys("c", "ask for changes"), keys("s", "stop"))
	} else if v.More {
		lines = append(lines, keys("c", "ask for changes"))
	}
	return lines
}

// keyHelp is the last lines: the keys that work now.
func keyHelp(v View, width int) []line {
	var parts []string
	switch {
	case v.Outcome != nil:
	case v.Paused:
		parts = []string{"r resume", "s stop"}
	default:
		parts = []string{"p pause", "r retry", "s stop"}
	}
	if v.Stays {
		parts = append(parts, "q detach")
	} else {
		parts = append(parts, "q quit")
	}
	left := piece{strings.Join(parts, "  "), paint.Faint}
	note := ""
	if !v.Running && v.Outcome == nil {
		note = "no host runs it"
	}
	if paint.Width(left.text)+paint.Width(note)+1 > width {
		note = ""
	}
	return []line{rule(width), {left: []piece{left}, right: piece{note, paint.Bad}}}
}
