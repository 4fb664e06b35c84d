package decide

import (
	"maps"

	"github.com/agentmux/agentmux/orchestrator"
)

// Join makes one step of two that share a commit, the second decided on the state of the
// first. Of equal faults of lines in a row the first record stays and counts them: whoever
// floods a file does not flood the records.
func Join(first, then Step) Step {
	if !first.Changed {
		return then
	}
	if n := len(first.Events); n > 0 && len(then.Events) == 1 && sameFault(first.Events[n-1], then.Events[0]) {
		first.Events[n-1].Data = countedOnceMore(first.Events[n-1].Data)
		then.Events = nil
		then.State.Seq--
	}
	then.Events = append(first.Events, then.Events...)
	then.Effects = append(first.Effects, then.Effects...)
	if first.Blobs != nil {
		maps.Copy(first.Blobs, then.Blobs)
		then.Blobs = first.Blobs
	}
	return then
}

// sameFault reports whether two records tell the same of two lines.
func sameFault(a, b orchestrator.Event) bool {
	if a.Visit != b.Visit || a.Phase != b.Phase {
		return false
	}
	switch one := a.Data.(type) {
	case orchestrator.InputCorruptRecord:
		other, ok := b.Data.(orchestrator.InputCorruptRecord)
		return ok && one.File == other.File && one.Reason == other.Reason
	case orchestrator.InputUnknownRecord:
		other, ok := b.Data.(orchestrator.InputUnknownRecord)
		return ok && one.Tool == other.Tool
	case orchestrator.InputIgnoredRecord:
		other, ok := b.Data.(orchestrator.InputIgnoredRecord)
		return ok && one.Tool == other.Tool && one.Role == other.Role && one.Task == other.Task && one.Reason == other.Reason
	}
	return false
}

// countedOnceMore returns the record of a fault that happened once more.
func countedOnceMore(fault orchestrator.Record) orchestrator.Record {
	switch d := fault.(type) {
	case orchestrator.InputCorruptRecord:
		d.Count = max(d.Count, 1) + 1
		return d
	case orchestrator.InputUnknownRecord:
		d.Count = max(d.Count, 1) + 1
		return d
	case orchestrator.InputIgnoredRecord:
		d.Count = max(d.Count, 1) + 1
		return d
	}
	return fault
}

// Minor reports whether a step only tells of a line: it may share a commit with the next.
func (s Step) Minor() bool {
	if len(s.Effects) > 0 || len(s.Blobs) > 0 || s.State.Ended() || s.State.Paused {
		return false
	}
	for _, e := range s.Events {
		switch e.Type {
		case orchestrator.EvInputCorrupt, orchestrator.EvInputUnknown, orchestrator.EvInputIgnored, orchestrator.EvAgentStatus:
		default:
			return false
		}
	}
	return true
}
