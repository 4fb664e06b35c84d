package engine_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// isFile tells the effects that prepare the files of a phase.
func isFile(kind string) bool {
	return slices.Contains([]string{
		orchestrator.EffEnsureDirs, orchestrator.EffWriteFile, orchestrator.EffWriteMarker, orchestrator.EffMoveAside,
		orchestrator.EffRemoveFiles, orchestrator.EffMaterialise,
	}, kind)
}

// The files of a phase are made one after the other, and their ends share a commit. An agent is
// started only when that is done: after a kill nothing may be moved aside that is its own.
func TestTheFilesOfAPhaseShareACommit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		workspace := make(chan struct{}) // of the first agent: its start waits for the files alone
		others := make(chan struct{})    // whose ends would take what waits with them
		w.hold = func(e orchestrator.Effect) <-chan struct{} {
			switch {
			case isFile(e.Type) && w.state().Visit == 1:
				return workspace
			case !isFile(e.Type) && e.Type != orchestrator.EffStartAgent && w.state().Visit == 2:
				return others
			case e.Type == orchestrator.EffStartAgent:
				for _, p := range owedFiles(w.state()) {
					if slices.Contains(e.After, p.ID) {
						t.Errorf("%s begins while %s is owed", e.Key, p.Type)
					}
				}
			}
			return nil
		}
		made := sync.OnceFunc(func() { close(workspace) })
		h := w.start(engine.Options{OnCommit: func(s *orchestrator.State) {
			owed := len(owedFiles(s))
			if !slices.ContainsFunc(s.Pending, func(p orchestrator.Effect) bool { return p.Type == orchestrator.EffEnsureWorkspace }) {
				made()
			}
			w.note("commit in visit %d, %d files owed", s.Visit, owed)
		}})
		w.until("the files of the second phase", func(s *orchestrator.State) bool { return s.Visit == 2 && len(owedFiles(s)) == 0 })
		close(others)
		if st := h.wait(); st.Outcome != orchestrator.OutcomeDone {
			t.Fatalf("ended %s", st.Outcome)
		}
		entries := w.entries()
		first := w.at("begin remove_files plan files@1")
		last := slices.Index(entries, "commit in visit 2, 0 files owed")
		files := 0
		var commits []string // what other inputs have committed meanwhile owes all of them
		for _, entry := range entries[first:last] {
			if strings.HasPrefix(entry, "commit in visit 2") {
				commits = append(commits, entry)
			}
			if verb, rest, _ := strings.Cut(entry, " "); verb == "end" && isFile(strings.Fields(rest)[0]) {
				files++
			}
		}
		if len(slices.Compact(commits)) > 1 || files < 2 {
			t.Errorf("%d files were made, commits meanwhile: %q\n%s", files, commits, strings.Join(entries[first:last+1], "\n"))
		}
	})
}

func owedFiles(s *orchestrator.State) []orchestrator.Effect {
	return slices.DeleteFunc(slices.Clone(s.Pending), func(p orchestrator.Effect) bool { return !isFile(p.Type) })
}
