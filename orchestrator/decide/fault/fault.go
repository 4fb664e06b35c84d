// Package fault says which records of faulty lines tell the same, so that an agent that floods a
// file with them does not flood the records. It is pure.
package fault

import "github.com/agentmux/agentmux/orchestrator"

// Same reports whether two records tell the same of two lines.
func Same(a, b orchestrator.Event) bool {
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
		return ok && one.Tool == other.Tool && one.Role == other.Role && one.Task == other.Task && one.Line == other.Line && one.Reason == other.Reason
	}
	return false
}

// Again returns the record of a fault that happened once more.
func Again(fault orchestrator.Record) orchestrator.Record {
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
