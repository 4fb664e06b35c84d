package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/invariant"
	"github.com/agentmux/agentmux/orchestrator/replay"
	"github.com/agentmux/agentmux/workflows"
)

// Report is what CheckDir found.
type Report struct {
	Problems []string // broken promises; empty = the session is sound
	Notes    []string // what a person may want to know
	Records  int

	advised []bool // of Problems
}

// Advised reports whether the text of a problem says itself what to do.
func (r Report) Advised(problem int) bool { return r.advised[problem] }

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	r.advised = append(r.advised, slices.ContainsFunc(args, func(arg any) bool {
		err, ok := arg.(error)
		return ok && (errors.As(err, new(*CorruptError)) || errors.As(err, new(*NewerError)) || errors.As(err, new(*LockedError)))
	}))
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Err is nil for a sound session.
func (r Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(r.Problems, "\n"))
}

// CheckDir checks a session directory by itself: what the records say is what the
// state says, phases follow their workflow, every text that is named is kept,
// the cursors fit their files. It changes nothing. A session that is run while it
// is checked may look unsound for a moment.
func CheckDir(dir string) Report {
	var r Report
	s, err := Open(dir)
	if err != nil {
		r.problem("%v", err)
		return r
	}
	st, err := s.ReadState()
	if err != nil {
		r.problem("%v", err)
		return r
	}
	def, err := s.Definition()
	if err != nil {
		r.problem("%v", err)
		return r
	}
	if st.IsClassic() {
		st.ToolCursor = s.classicCursor()
	} else if err := invariant.Check(def, st); err != nil {
		r.problem("%v", err)
	}
	records := r.records(s, st)
	r.order(records, def)
	r.blobs(s, st, records)
	r.cursors(s, st)
	r.created(s)
	r.sides(s, st)
	return r
}

// Differences lists what the records say of a state and the state does not, one line
// each. Where records were lost there is nothing to compare.
func (s *Session) Differences(st *orchestrator.State) []string {
	all := s.Follow(0)
	all.decode = replay.Read
	records, err := all.Read()
	if err != nil || !replayable(records) || st.IsClassic() {
		return nil
	}
	return replay.Of(records).Differences(replay.OfState(st))
}

// replayable reports whether these are all records from the session's creation on.
func replayable(records []orchestrator.Event) bool {
	for i, e := range records {
		if e.Seq != i+1 {
			return false
		}
	}
	return len(records) > 0 && records[0].Type == orchestrator.EvSessionCreated
}

// sides checks the files beside the state, which a session can do without.
func (r *Report) sides(s *Session, st *orchestrator.State) {
	if err := s.mayAdd(); err != nil {
		r.problem("%v", err)
	}
	if s.exists(StateBackup) {
		if _, err := s.ReadBackup(); err != nil {
			r.problem("%s: %v", StateBackup, err)
		}
	}
	data, err := readOwn(s.Path(ToolCursorFile), 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var view toolCursorView
	if err == nil {
		err = json.Unmarshal(data, &view)
	}
	switch {
	case err != nil:
		r.problem("%s: %v", ToolCursorFile, err)
	case !st.IsClassic() && view.AppliedOffset != st.ToolCursor.Offset:
		r.note("%s is at byte %d, the state at %d", ToolCursorFile, view.AppliedOffset, st.ToolCursor.Offset)
	}
}

// records checks the numbers of the records and what they add up to.
func (r *Report) records(s *Session, st *orchestrator.State) []orchestrator.Event {
	records, bad, err := s.Events(0)
	if err != nil {
		r.problem("%v", err)
		return nil
	}
	r.Records = len(records)
	if bad > 0 {
		r.note("%s: %d unreadable lines", EventsFile, bad)
	}
	whole := true
	for i, e := range records {
		if i > 0 && e.Seq == records[i-1].Seq+1 || i == 0 && e.Seq == 1 {
			continue
		}
		whole = false
		if lost, ok := e.Data.(orchestrator.InputRewoundRecord); !ok || lost.File != EventsFile {
			r.problem("%s: record %d does not follow the one before it", EventsFile, e.Seq)
		}
	}
	switch {
	case len(records) == 0 && st.Seq > 0:
		r.problem("%s holds no record, the state is at %d", EventsFile, st.Seq)
	case len(records) > 0 && records[len(records)-1].Seq < st.Seq:
		r.problem("%s ends at record %d, the state is at %d", EventsFile, records[len(records)-1].Seq, st.Seq)
	}
	switch {
	case !whole:
		r.note("%s: records were lost, the rest is not replayed", EventsFile)
	case len(records) == 0 || records[0].Type != orchestrator.EvSessionCreated:
		r.note("%s does not begin with the session's creation and is not replayed", EventsFile)
	default:
		for _, d := range s.Differences(st) {
			r.problem("records and state differ in %s", d)
		}
	}
	return records
}

// order checks that phases follow one another as the workflow says and that
// nothing runs backwards.
func (r *Report) order(records []orchestrator.Event, def *workflows.Definition) {
	visit, left := 0, ""
	for _, e := range records {
		if e.Visit < visit {
			r.problem("record %d: visit %d after visit %d", e.Seq, e.Visit, visit)
		}
		visit = max(visit, e.Visit)
		switch d := e.Data.(type) {
		case orchestrator.PhaseLeftRecord:
			left = d.Next
			if !leadsTo(def, d.Phase, left) {
				r.problem("record %d: phase %s does not lead to %s", e.Seq, d.Phase, left)
			}
		case orchestrator.PhaseEnteredRecord:
			if left != "" && left != d.Phase {
				r.problem("record %d: phase %s entered, %s was next", e.Seq, d.Phase, left)
			}
		}
	}
}

// leadsTo reports whether some outcome of a phase leads to another, phases that
// are passed over left aside. A change request leads to the plan from anywhere.
func leadsTo(def *workflows.Definition, from, to string) bool {
	if plan, ok := def.Kind(workflows.KindPlan); ok && plan.ID == to {
		return true
	}
	seen := map[string]bool{}
	for next := []string{from}; len(next) > 0; {
		phase, ok := def.Phase(next[0])
		next = next[1:]
		if !ok {
			continue
		}
		for _, targets := range phase.Next {
			for _, t := range targets {
				if t.To == to {
					return true
				}
				passed, ok := def.Phase(t.To)
				if ok && len(passed.When) > 0 && !seen[t.To] {
					seen[t.To] = true
					next = append(next, t.To)
				}
			}
		}
	}
	return false
}

// blobs checks that every text which is named is kept.
func (r *Report) blobs(s *Session, st *orchestrator.State, records []orchestrator.Event) {
	named := map[string]string{}
	for _, e := range st.Pending {
		if e.Args.SHA256 != "" {
			named[e.Args.SHA256] = "effect " + e.ID
		}
		for _, sha := range e.Args.Sources {
			named[sha] = "effect " + e.ID
		}
	}
	for _, m := range st.Messages {
		if m.By == "" { // else its file is the sender's
			named[m.SHA256] = "message " + m.File
		}
	}
	for role, res := range st.ReviewResults {
		named[res.SHA256] = "verdict of " + role
	}
	for _, e := range records {
		if d, ok := e.Data.(orchestrator.ArtifactAcceptedRecord); ok {
			named[d.SHA256] = fmt.Sprintf("record %d", e.Seq)
		}
	}
	if !st.IsClassic() && st.PlanSHA256 != "" {
		named[st.PlanSHA256] = "plan"
	}
	for _, sha := range slices.Sorted(maps.Keys(named)) {
		if sha == "" {
			continue
		}
		if _, err := s.Blob(sha); err != nil {
			r.problem("%s: %v", named[sha], err)
		}
	}
}

func (r *Report) cursors(s *Session, st *orchestrator.State) {
	for file, cursor := range cursors(st) {
		lines, _, err := s.Lines(file, cursor, 0)
		switch {
		case err != nil:
			r.problem("%v", err)
		case len(lines) > 0 && lines[0].Rewound != nil:
			r.problem("%s: the cursor does not fit: %s", file, lines[0].Rewound.Reason)
		case len(lines) > 0:
			r.note("%s: %d unread lines", file, len(lines))
		}
	}
}

func (r *Report) created(s *Session) {
	data, err := readOwn(s.Path(CreatedLog), 64<<20)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.note("%v", err)
		}
		return
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		_, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if seen[name] {
			r.problem("%s names %s twice", CreatedLog, name)
		}
		seen[name] = true
	}
}
