package monitor

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/agentmux/agentmux/internal/monitor/paint"
)

// plain is text as one line of printable characters: what comes from an agent or
// an issue must not be able to speak to the terminal.
func plain(text string) string {
	mapped := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		default:
			return -1
		}
	}, text)
	return strings.Join(strings.Fields(mapped), " ")
}

// clip cuts text to width columns; what was cut shows as "…".
func clip(text string, width int) string {
	if paint.Width(text) <= width {
		return text
	}
	if width < 2 {
		return "…"[:max(0, min(width, 1))*len("…")]
	}
	return strings.TrimRight(cutAt(text, width-1), " ") + "…"
}

// cutAt returns as much of the beginning of text as fits into width columns, at
// least one character.
func cutAt(text string, width int) string {
	used := 0
	for i, r := range text {
		used += paint.Width(string(r))
		if used > width && i > 0 {
			return text[:i]
		}
	}
	return text
}

// wrap breaks text into at most limit lines of width columns; a longer word goes on
// in the next line.
func wrap(text string, width, limit int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && paint.Width(line)+1+paint.Width(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		line = word
		for paint.Width(line) > width {
			head := cutAt(line, width)
			lines, line = append(lines, head), line[len(head):]
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > limit {
		lines = lines[:limit]
		lines[limit-1] = clip(lines[limit-1]+" …", width)
	}
	return lines
}

// pad fills text with blanks up to width columns.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-paint.Width(text)))
}

// lasted says a span in the two units that matter: 7s, 4m12s, 2h05m, 3d4h.
func lasted(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%dh", s/86400, s/3600%24)
}
