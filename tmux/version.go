package tmux

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Version of tmux, such as 3.3a. Development versions count as the release they lead to.
type Version struct {
	Major, Minor int
	Patch        string // "", "a", "b"
}

var versionForm = regexp.MustCompile(`(\d+)\.(\d+)([a-z]?)`)

// ParseVersion reads what tmux -V prints.
func ParseVersion(text string) (Version, error) {
	text = strings.TrimSpace(text)
	m := versionForm.FindStringSubmatch(text)
	if m == nil {
		return Version{}, fmt.Errorf("tmux -V says %q, which names no version", text)
	}
	major, errMajor := strconv.Atoi(m[1])
	minor, errMinor := strconv.Atoi(m[2])
	if errMajor != nil || errMinor != nil {
		return Version{}, fmt.Errorf("tmux -V says %q, which names no version", text)
	}
	return Version{major, minor, m[3]}, nil
}

// Version asks the installed tmux; no server is needed.
func (s *Server) Version(ctx context.Context) (Version, error) {
	out, err := s.run(ctx, nil, "-V")
	if err != nil {
		return Version{}, fmt.Errorf("ask for tmux's version: %w", err)
	}
	return ParseVersion(out)
}

func (v Version) String() string { return fmt.Sprintf("%d.%d%s", v.Major, v.Minor, v.Patch) }

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool {
	if v.Major != w.Major {
		return v.Major < w.Major
	}
	if v.Minor != w.Minor {
		return v.Minor < w.Minor
	}
	return v.Patch < w.Patch
}

// Oldest is the oldest version this package works with.
func Oldest() Version { return Version{3, 3, "a"} }

// Faults are the known faults of the version, one sentence each. This package works around
// all of them; a person who uses the same server by hand meets them.
func (v Version) Faults() []string {
	if !v.Before(Version{3, 4, ""}) {
		return nil
	}
	return []string{
		"pasting into a pane whose program has ended ends the whole server",
		"the end of a program can go unnoticed in the first moments of a server",
		"pane_activity is always empty",
	}
}
