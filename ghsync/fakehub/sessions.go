package fakehub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Sessions tells the server of a directory with session directories. From then on each
// comment, pull request and pushed branch of one of them must have its intent on that
// directory's disk when it arrives, and Check compares what stands on GitHub with the
// session's records:
//
//	I3  a status or a phase line of a phase that was not entered, or out of order; a
//	    comment whose record says something else
//	I4  a status of a session that is shown whole that says another outcome, or lacks the
//	    phase entered last
//	I5  a write without an earlier intent
//	I9  a session that ended and is shown whole without exactly the label of its outcome
//
// A session made later counts, too; other directories are left alone.
func (s *Server) Sessions(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessionDirs = append(s.sessionDirs, dir)
}

// sessionDir finds the directory of a session, "" without one.
func (s *Server) sessionDir(id string) string {
	if id == "" || id != filepath.Base(id) {
		return ""
	}
	for _, dir := range s.sessionDirs {
		if _, err := os.Stat(filepath.Join(dir, id, "state.json")); err == nil {
			return filepath.Join(dir, id)
		}
	}
	return ""
}

// sessionFiles are what is read of a session: the parts of the formats that matter here.
type sessionFiles struct {
	mirror struct {
		Intents map[string]json.RawMessage `json:"intents"`
		Shown   int                        `json:"shown_seq"`
		Issue   int                        `json:"issue"`
		Label   string                     `json:"label"`
		Status  int64                      `json:"status_comment_id"`
	}
	state struct {
		Seq     int             `json:"seq"`
		Outcome string          `json:"outcome"`
		Pending []pendingEffect `json:"pending_effects"`
	}
	events []sessionRecord
}

type pendingEffect struct {
	Type string `json:"type"`
}

type sessionRecord struct {
	Seq  int    `json:"seq"`
	Type string `json:"type"`
	Data struct {
		Phase string `json:"phase"`
		Event string `json:"event"`
	} `json:"data"`
}

// readSession reads the files; one that is not there is empty.
func readSession(dir string) (*sessionFiles, error) {
	f := &sessionFiles{}
	// The mirror's first: of a session at work, what it has shown is not compared with an
	// older state.
	for _, file := range []struct {
		name string
		into any
	}{{"mirror_state.json", &f.mirror}, {"state.json", &f.state}} {
		name, into := file.name, file.into
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		var e sessionRecord
		if json.Unmarshal(line, &e) == nil && e.Seq <= f.state.Seq {
			f.events = append(f.events, e)
		}
	}
	return f, nil
}

// judgeIntent notes a write of a session that its directory does not know of. What is a
// comment's text, marker included.
func (s *Server) judgeIntent(session, route, text string) {
	dir := s.sessionDir(session)
	if dir == "" {
		return
	}
	f, err := readSession(dir)
	if err != nil {
		s.unannounced = append(s.unannounced, fmt.Sprintf("%s of %s: %v", route, session, err))
		return
	}
	announced := true
	switch route {
	case "POST /repos/{owner}/{repo}/issues/{number}/comments":
		_, announced = f.mirror.Intents[intentOf(lastMarker(text))]
	case "POST /repos/{owner}/{repo}/pulls":
		announced = slices.Contains(f.state.Pending, pendingEffect{"ensure_pr"})
	case "PUSH":
		announced = slices.Contains(f.state.Pending, pendingEffect{"ensure_push"})
	}
	if !announced {
		s.unannounced = append(s.unannounced, fmt.Sprintf("%s of %s came without an intent", route, session))
	}
}

// intentOf is the name under which a comment's intent is kept.
func intentOf(m []string) string {
	switch {
	case m == nil:
		return ""
	case m[2] == "status" && m[4] == "":
		return "status"
	case m[4] == "" || m[4] == "phase" || strings.HasPrefix(m[4], "1/"):
		return m[3]
	}
	part, _, _ := strings.Cut(m[4], "/")
	return m[3] + "/" + part
}

// sessionProblems compares what stands on GitHub with the sessions' files.
func (s *Server) sessionProblems() []string {
	var problems []string
	for _, write := range s.unannounced {
		problems = append(problems, "I5: "+write)
	}
	for _, id := range slices.Sorted(maps.Keys(s.repos)) {
		r := s.repos[id]
		for session, comments := range r.commentsBySession() {
			dir := s.sessionDir(session)
			if dir == "" {
				continue
			}
			f, err := readSession(dir)
			if err != nil {
				problems = append(problems, fmt.Sprintf("read session %s: %v", session, err))
				continue
			}
			for _, m := range comments {
				if problem := f.judge(m.body); problem != "" {
					problems = append(problems, fmt.Sprintf("I3: %s: comment %d: %s", r.fullName(), m.id, problem))
				}
				if problem := f.judgeStatus(m); problem != "" {
					problems = append(problems, fmt.Sprintf("I4: %s: comment %d: %s", r.fullName(), m.id, problem))
				}
			}
			if problem := f.judgeLabels(r); problem != "" {
				problems = append(problems, "I9: "+r.fullName()+": "+problem)
			}
		}
	}
	return problems
}

func (r *repo) commentsBySession() map[string][]*comment {
	found := map[string][]*comment{}
	for _, number := range slices.Sorted(maps.Keys(r.issues)) {
		for _, m := range r.issues[number].comments {
			if marker := lastMarker(m.body); marker != nil {
				found[marker[1]] = append(found[marker[1]], m)
			}
		}
	}
	return found
}

// recordsOf are the types of record that each kind of comment may show.
var recordsOf = map[string][]string{
	"verdict": {"event"}, "question": {"question_asked", "gate_opened"}, "final": {"done", "failed", "canceled", "needs_human"},
}

// judge says what a comment shows that the records do not.
func (f *sessionFiles) judge(body string) string {
	m := lastMarker(body)
	kind, seq, part := m[2], m[3], m[4]
	i := slices.IndexFunc(f.events, func(e sessionRecord) bool { return fmt.Sprint(e.Seq) == seq })
	if i < 0 {
		return "there is no record " + seq
	}
	e := f.events[i]
	switch {
	case kind == "status" && part == "phase":
		if e.Type != "phase_entered" {
			return "a phase line for a record " + e.Type
		}
	case kind == "status":
		return f.judgePhases(body)
	case !slices.Contains(recordsOf[kind], e.Type):
		return fmt.Sprintf("a %s for a record %s", kind, e.Type)
	case kind == "verdict" && e.Data.Event != "review_passed" && e.Data.Event != "review_failed":
		return "a verdict for " + e.Data.Event
	}
	return ""
}

// judgePhases follows the rows of a status through the phases entered.
func (f *sessionFiles) judgePhases(body string) string {
	var entered []string
	for _, e := range f.events {
		if e.Type == "phase_entered" {
			entered = append(entered, e.Data.Phase)
		}
	}
	for line := range strings.Lines(body) {
		cells := strings.Split(line, "|")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "<details>") {
			break // below are commands of people
		}
		if len(cells) < 4 {
			continue
		}
		phase := strings.Trim(strings.TrimSpace(cells[1]), "*")
		if phase == "Phase" || strings.HasPrefix(phase, "---") || strings.HasSuffix(phase, " earlier") || phase == "starting" {
			continue
		}
		i := slices.Index(entered, phase)
		if i < 0 {
			return fmt.Sprintf("phase %s was not entered after the ones above it", phase)
		}
		entered = entered[i+1:]
	}
	return ""
}

// headlines are how the status of an ended session begins, by outcome.
var headlines = map[string]string{"done": "done in ", "needs_human": "needs a human: ", "failed": "failed after ", "canceled": "stopped after "}

// judgeStatus compares the status comment with the state, if all of it was shown.
func (f *sessionFiles) judgeStatus(m *comment) string {
	if m.id != f.mirror.Status || f.mirror.Shown < f.state.Seq {
		return ""
	}
	text, isStatus := strings.CutPrefix(m.body, "### agentmux: ")
	headline, _, _ := strings.Cut(text, "\n")
	for outcome, begins := range headlines {
		if isStatus && strings.HasPrefix(headline, begins) != (outcome == f.state.Outcome) {
			return fmt.Sprintf("%q of a session with the outcome %q", headline, f.state.Outcome)
		}
	}
	last := ""
	for _, e := range f.events {
		if e.Type == "phase_entered" && e.Data.Phase != "done" {
			last = e.Data.Phase
		}
	}
	if !isStatus || last != "" && !strings.Contains(text, "\n| "+last+" |") && !strings.Contains(text, "\n| **"+last+"** |") {
		return fmt.Sprintf("%q and no row of the phase %q", headline, last)
	}
	return ""
}

// outcomeLabels are by outcome; a canceled session has the label of a failed one, or none
// if a person stopped it.
var outcomeLabels = map[string]string{"done": "done", "needs_human": "needs-human", "failed": "failed", "canceled": "failed"}

// judgeLabels compares the labels of the session's issue with its outcome, if all was shown.
func (f *sessionFiles) judgeLabels(r *repo) string {
	i := r.issues[f.mirror.Issue]
	if i == nil || f.state.Outcome == "" || f.mirror.Shown < f.state.Seq {
		return ""
	}
	var have []string
	for _, l := range i.labels {
		_, state, _ := strings.Cut(l.name, ":")
		if slices.Contains([]string{"queued", "running", "needs-human", "done", "failed"}, state) {
			have = append(have, state)
		}
	}
	want := outcomeLabels[f.state.Outcome]
	if len(have) > 1 || len(have) == 1 && have[0] != want || len(have) == 0 && f.mirror.Label != "none" {
		return fmt.Sprintf("#%d of a session that ended %s has the state labels %q", f.mirror.Issue, f.state.Outcome, have)
	}
	return ""
}
