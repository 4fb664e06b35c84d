package markdown

import "strings"

// nested moves the headings of an embedded text below level 2, which is that of the sections
// it is embedded in. Their order stays, and code blocks are left alone. The text is clean:
// cleaning may show more lines.
func nested(text string) string {
	lines := hashed(wrapped(text))
	levels := make([]int, len(lines))
	lowest := 7
	var open *fence
	for i, line := range lines {
		if open != nil {
			if open.closes(line) {
				open = nil
			}
			continue
		}
		if open, _ = opensFence(line); open != nil {
			continue
		}
		if levels[i] = headingLevel(line); levels[i] > 0 {
			lowest = min(lowest, levels[i])
		}
	}
	for i, level := range levels {
		if level > 0 && lowest < 3 {
			lines[i] = strings.Repeat("#", min(level+3-lowest, 6)) + strings.TrimLeft(lines[i], " ")[level:]
		}
	}
	return strings.Join(lines, "\n")
}

// headingLevel returns how many # begin a heading, or 0 for a line that is not a heading.
func headingLevel(line string) int {
	body := strings.TrimLeft(line, " ")
	level := len(body) - len(strings.TrimLeft(body, "#"))
	if len(line)-len(body) > 3 || level < 1 || level > 6 || body[level:] != "" && body[level] != ' ' && body[level] != '\t' {
		return 0
	}
	return level
}

// hashed returns lines without underlines that make a heading of the line above. Below plain
// words the heading gets # instead. Below anything else, where the meaning depends on lists
// and quotations, the underline is kept apart from the line above.
func hashed(lines []string) []string {
	var out []string
	var open *fence
	for _, line := range lines {
		above := ""
		if len(out) > 0 {
			above = out[len(out)-1]
		}
		switch level := underline(line); {
		case open != nil:
			if open.closes(line) {
				open = nil
			}
		case level == 0 || strings.TrimSpace(above) == "":
			open, _ = opensFence(line)
		case plainWords(above):
			out[len(out)-1] = strings.Repeat("#", level) + " " + strings.TrimLeft(above, " ")
			line = ""
		case level == 1:
			line = `\` + strings.TrimLeft(line, " ")
		default:
			out = append(out, "")
		}
		out = append(out, line)
	}
	return out
}

// underline returns the level of the heading that a line may make of the one above it, or 0.
func underline(line string) int {
	body := strings.TrimRight(strings.TrimLeft(line, " "), " \t")
	switch {
	case body == "" || len(line)-len(strings.TrimLeft(line, " ")) > 3:
		return 0
	case strings.Trim(body, "=") == "":
		return 1
	case strings.Trim(body, "-") == "":
		return 2
	}
	return 0
}

// plainWords reports whether a line begins no list, quote, heading, table or code.
func plainWords(line string) bool {
	body := strings.TrimLeft(line, " ")
	return len(line)-len(body) <= 3 && !strings.ContainsAny(body[:1], "-+*_>#|=\t`~0123456789")
}
