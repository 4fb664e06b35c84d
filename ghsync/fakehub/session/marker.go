package session

import (
	"regexp"
	"strings"
)

var marker = regexp.MustCompile(`<!-- agentmux session=(\S+) kind=(\w+) seq=(\d+)(?: part=(\S+))? -->`)

// Marker names the session and the record that a text on GitHub shows.
type Marker struct{ Session, Kind, Seq, Part string }

// MarkerOf returns the marker that is the last line of a text.
func MarkerOf(text string) (Marker, bool) {
	text = strings.TrimRight(text, "\r\n ")
	line := text[strings.LastIndexByte(text, '\n')+1:]
	found := marker.FindStringSubmatch(line)
	if found == nil || found[0] != line {
		return Marker{}, false
	}
	return Marker{Session: found[1], Kind: found[2], Seq: found[3], Part: found[4]}, true
}

// Last returns the session of the last marker anywhere in a text, "" if there is none.
func Last(text string) string {
	all := marker.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

// First reports whether the text is whole or the first part of a long one.
func (m Marker) First() bool { return m.Part == "" || strings.HasPrefix(m.Part, "1/") }

// intent is the name under which a comment's intent is kept.
func (m Marker) intent() string {
	switch {
	case m.Kind == "status" && m.Part == "":
		return "status"
	case m.First() || m.Part == "phase":
		return m.Seq
	}
	part, _, _ := strings.Cut(m.Part, "/")
	return m.Seq + "/" + part
}
