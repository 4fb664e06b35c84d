package story

import (
	"fmt"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// Move tells from which machine a session came last. The zero value: it is where it began.
type Move struct {
	Host    string
	Work    time.Time // of the checkpoint it continues from
	LeftOut int       // files that did not come along
	Seq     int       // of the record that says so
}

func (m *Move) fold(e orchestrator.Event) {
	if d, ok := e.Data.(orchestrator.MovedRecord); ok {
		*m = Move{d.FromHost, e.TS.Add(-time.Duration(d.Age) * time.Second), len(d.LeftOut), e.Seq}
	}
}

// Line says it in one line; empty for the zero value. at words a time, name makes the name of a host harmless.
func (m Move) Line(at func(time.Time) string, name func(string) string) string {
	if m.Host == "" {
		return ""
	}
	line := "moved from " + name(m.Host) + ", work of " + at(m.Work)
	switch {
	case m.LeftOut == 1:
		line += ", 1 file left out"
	case m.LeftOut > 1:
		line += fmt.Sprintf(", %d files left out", m.LeftOut)
	}
	return line
}
