package ghsync

import "strings"

// nested moves the headings of an embedded text below level 2, where the sections stand
// that hold it. Their order stays; code blocks are left alone.
func nested(text string) string {
	lines := strings.Split(text, "\n")
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
			lines[i] = strings.Repeat("#", min(level+3-lowest, 6)) + lines[i][level:]
		}
	}
	return strings.Join(lines, "\n")
}

// headingLevel is how many # begin a heading of its own line, 0 for any other line.
func headingLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level < 1 || level > 6 || !strings.HasPrefix(line[level:], " ") {
		return 0
	}
	return level
}
