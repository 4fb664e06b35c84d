package lineage

import (
	"maps"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
)

// Refs returns the refs that the records of a session tell of, with their commits. key returns the key of the refs of an
// agent of an agents file, and for "" that of the session.
func Refs(records []orchestrator.Event, key func(agent string) string) map[string]string {
	refs, round := map[string]string{}, 0
	for _, e := range records {
		switch d := e.Data.(type) {
		case orchestrator.EventRecord:
			if d.Event == orchestrator.LastChanges {
				round++
			}
		case orchestrator.CommitCreatedRecord:
			refs[gitrepo.RoundRef(key(d.Agent), round, "own")] = d.SHA
		case orchestrator.BranchPushedRecord:
			refs[gitrepo.RoundRef(key(d.Agent), round, "tip")] = d.SHA
			if d.Skipped == "" {
				refs[gitrepo.PushedRef(key(d.Agent))] = d.SHA
			}
		}
	}
	maps.DeleteFunc(refs, func(_, id string) bool { return id == "" })
	return refs
}

// Commits returns the commits that the records of a session and its state name as its own.
func Commits(records []orchestrator.Event, s *orchestrator.State) map[string]bool {
	own := map[string]bool{s.Integrated.Commit: true, s.Completion.Commit: true}
	for _, e := range records {
		switch d := e.Data.(type) {
		case orchestrator.SubplanDoneRecord:
			own[d.Commit] = true
		case orchestrator.CommitCreatedRecord:
			own[d.SHA] = true
		case orchestrator.BranchPushedRecord:
			own[d.SHA] = true
		case orchestrator.CheckpointSavedRecord:
			own[d.SHA] = true
		case orchestrator.DoneRecord:
			own[d.Commit] = true
		}
	}
	delete(own, "")
	delete(own, s.BaseSHA) // every session of that base has it
	return own
}

// HasMoved reports whether a session comes from another machine.
func HasMoved(records []orchestrator.Event) bool {
	for _, e := range records {
		if _, moved := e.Data.(orchestrator.MovedRecord); moved {
			return true
		}
	}
	return false
}
