package ghsync

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Kinds of what the program writes on GitHub.
const (
	KindStatus   = "status"
	KindVerdict  = "verdict"
	KindQuestion = "question"
	KindFinal    = "final"
)

// Marker is the last line of everything the program writes: which session wrote it and which
// record it shows. It counts only in what the program's own account wrote.
type Marker struct {
	Session string
	Kind    string
	Seq     int
	Part    string // "2/3" of a split comment, "phase" of a phase line, or empty
}

func (m Marker) String() string {
	part := ""
	if m.Part != "" {
		part = " part=" + m.Part
	}
	return fmt.Sprintf("<!-- agentmux session=%s kind=%s seq=%d%s -->", m.Session, m.Kind, m.Seq, part)
}

// Key is the marker's key in mirror_state.json. All markers of the status comment have one.
func (m Marker) Key() string {
	switch {
	case m.Kind == KindStatus && m.Part == "":
		return KindStatus
	case m.Part == "" || m.Part == "phase" || strings.HasPrefix(m.Part, "1/"):
		return strconv.Itoa(m.Seq)
	}
	return strconv.Itoa(m.Seq) + "/" + strings.SplitN(m.Part, "/", 2)[0]
}

// Same reports whether two markers name the same comment.
func (m Marker) Same(other Marker) bool {
	return m.Session == other.Session && m.Kind == other.Kind && m.Key() == other.Key()
}

var markerLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^<!-- agentmux session=([A-Za-z0-9_-]{1,100}) kind=(status|verdict|question|final) seq=(\d{1,9})(?: part=([a-z0-9/]{1,10}))? -->$`)
})

// ParseMarker reads the marker of a text, of GitHub or our own: its last line.
func ParseMarker[T ~string](text T) (Marker, bool) {
	body := strings.TrimRight(string(text), " \r\n")
	line := body[strings.LastIndex(body, "\n")+1:]
	found := markerLine().FindStringSubmatch(strings.TrimRight(line, "\r"))
	if found == nil {
		return Marker{}, false
	}
	seq, _ := strconv.Atoi(found[3])
	return Marker{Session: found[1], Kind: found[2], Seq: seq, Part: found[4]}, true
}

// withoutMarker is the text above the marker.
func withoutMarker[T ~string](text T) string {
	if _, ok := ParseMarker(text); !ok {
		return string(text)
	}
	body := strings.TrimRight(string(text), " \r\n")
	return strings.TrimRight(body[:strings.LastIndex(body, "\n")+1], "\n")
}
