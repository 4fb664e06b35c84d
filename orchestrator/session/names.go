package session

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	slugWords = 8
	slugBytes = 48
)

var (
	nameRule  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$`) })
	stampRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{8}-\d{6}-`) })
	wordRule  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[a-z0-9]+`) })
)

// Slug turns text into the part of a name people recognise: its first eight
// words of letters and digits, at most 48 bytes; "feature" if there are none.
func Slug(text string) string {
	if s := slug("", text); s != "" {
		return s
	}
	return "feature"
}

// IssueSlug is Slug for an issue: its number, then its title, 48 bytes in all.
func IssueSlug(number int, title string) string {
	return slug(fmt.Sprintf("issue-%d-", number), title)
}

func slug(prefix, text string) string {
	words := wordRule().FindAllString(strings.ToLower(text), slugWords)
	s := prefix + strings.Join(words, "-")
	return strings.Trim(s[:min(len(s), slugBytes)], "-")
}

// Name returns the name of a session made at now (in now's location) for the
// slug.
func Name(now time.Time, slug string) string { return now.Format("20060102-150405-") + slug }

// FeatureSlug returns a session's name without its time stamp. A name that is nothing else
// stays whole: branches are named by it, and none may end with a slash.
func FeatureSlug(name string) string {
	if slug := stampRule().ReplaceAllString(name, ""); slug != "" {
		return slug
	}
	return strings.TrimRight(name, "-")
}

// tmuxSession names the tmux session of a feature.
func tmuxSession(slug string) string { return "agentmux-" + slug }

// ValidName reports whether a person may give a session this name.
func ValidName(name string) bool { return nameRule().MatchString(name) }
