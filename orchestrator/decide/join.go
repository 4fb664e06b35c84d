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
		last := first.Events[n-1]
		last.Data = maps.Clone(last.Data)
		count, _ := last.Data["count"].(int)
		last.Data["count"] = max(count, 1) + 1
		first.Events[n-1] = last
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
	switch a.Type {
	case orchestrator.EvInputCorrupt, orchestrator.EvInputUnknown, orchestrator.EvInputIgnored:
	default:
		return false
	}
	if a.Type != b.Type || a.Visit != b.Visit || a.Phase != b.Phase {
		return false
	}
	for _, key := range []string{"file", "tool", "role", "task", "reason"} {
		if a.Data[key] != b.Data[key] {
			return false
		}
	}
	return true
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
