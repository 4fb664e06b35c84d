package monitor

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// plain is text as one line of printable characters: what comes from an agent or
// an issue must not control the terminal.
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
