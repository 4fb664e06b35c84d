package agents

import (
	"strconv"
	"strings"
)

// ExitBlocked is the content of the marker of an agent that never started, because a dependency
// failed.
const ExitBlocked = 99

// Marker is what the file signals/<name>.done says of an agent.
type Marker struct {
	Exit    int  // 0 = done, ExitBlocked = blocked, else failed
	Corrupt bool // the content is not an exit code; Exit is 1
}

// ParseMarker reads the content of a marker. An empty file, as touch makes one, is a 0.
func ParseMarker(content []byte) Marker {
	text := strings.TrimSpace(string(content))
	if text == "" {
		return Marker{}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return Marker{Exit: 1, Corrupt: true}
	}
	return Marker{Exit: int(n)}
}

// Status is the status of an agent with this marker.
func (m Marker) Status() Status {
	switch m.Exit {
	case 0:
		return Done
	case ExitBlocked:
		return Blocked
	}
	return Failed
}

// String is the content of the file, without its newline.
func (m Marker) String() string { return strconv.Itoa(m.Exit) }
