// Package session reads what a session's directory says must be on GitHub, and compares it with
// what is there: the other side of the fake's invariants. It knows the formats of the files and
// of the comments, not the code that writes them, so that a mistake there does not hide here.
//
// What it finds wrong is a sentence, "" if nothing is.
package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files are what is read of a session: the parts of the formats that matter here.
type Files struct {
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
	events []record
}

type pendingEffect struct {
	Type string `json:"type"`
}

type record struct {
	Seq  int    `json:"seq"`
	Type string `json:"type"`
	Data struct {
		Phase string `json:"phase"`
		Event string `json:"event"`
	} `json:"data"`
}

// Read reads the files of a session's directory. The mirror's and the state may be missing.
func Read(dir string) (*Files, error) {
	f := &Files{}
	// The mirror's first: of a session at work, what it has shown is not compared with an
	// older state.
	if err := read(dir, "mirror_state.json", &f.mirror); err != nil {
		return nil, err
	}
	if err := read(dir, "state.json", &f.state); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		var e record
		if json.Unmarshal(line, &e) == nil && e.Seq <= f.state.Seq {
			f.events = append(f.events, e)
		}
	}
	return f, nil
}

// read reads a file of JSON, which may be missing.
func read(dir, name string, into any) error {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// Announced reports whether the session of a directory meant to make a write. route is that of
// the request, PUSH for a push; text is a comment's, its marker included. Only the file that
// tells is read: every write comes through here.
func Announced(dir, route, text string) (bool, error) {
	f := &Files{}
	switch route {
	case "POST /repos/{owner}/{repo}/issues/{number}/comments":
		m, has := MarkerOf(text)
		err := read(dir, "mirror_state.json", &f.mirror)
		_, announced := f.mirror.Intents[m.intent()]
		return has && announced, err
	case "POST /repos/{owner}/{repo}/pulls":
		err := read(dir, "state.json", &f.state)
		return slices.Contains(f.state.Pending, pendingEffect{"ensure_pr"}), err
	case "PUSH":
		err := read(dir, "state.json", &f.state)
		return slices.Contains(f.state.Pending, pendingEffect{"ensure_push"}), err
	}
	return true, nil
}

// recordsOf are the types of record that each kind of comment may show.
var recordsOf = map[string][]string{
	"verdict": {"event"}, "question": {"question_asked", "gate_opened"}, "final": {"done", "failed", "canceled", "needs_human"},
}

// Comment says what a comment with a marker shows that the records do not.
func (f *Files) Comment(body string) string {
	m, _ := MarkerOf(body)
	kind, seq, part := m.Kind, m.Seq, m.Part
	i := slices.IndexFunc(f.events, func(e record) bool { return fmt.Sprint(e.Seq) == seq })
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
		return f.phases(body)
	case !slices.Contains(recordsOf[kind], e.Type):
		return fmt.Sprintf("a %s for a record %s", kind, e.Type)
	case kind == "verdict" && e.Data.Event != "review_passed" && e.Data.Event != "review_failed":
		return "a verdict for " + e.Data.Event
	}
	return ""
}

// phases follows the rows of a status through the phases entered.
func (f *Files) phases(body string) string {
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

// Status compares the status comment with the state, if all of it was shown. Other comments
// pass.
func (f *Files) Status(id int64, body string) string {
	if id != f.mirror.Status || f.mirror.Shown < f.state.Seq {
		return ""
	}
	text, isStatus := strings.CutPrefix(body, "### agentmux: ")
	headline, _, _ := strings.Cut(text, "\n")
	for outcome, begins := range headlines {
		if isStatus && strings.HasPrefix(headline, begins) != (outcome == f.state.Outcome) {
			return fmt.Sprintf("%q of a session with the outcome %q", headline, f.state.Outcome)
		}
	}
	phase := ""
	for _, e := range f.events {
		if e.Type == "phase_entered" && e.Data.Phase != "done" {
			phase = e.Data.Phase
		}
	}
	if !isStatus || phase != "" && !strings.Contains(text, "\n| "+phase+" |") && !strings.Contains(text, "\n| **"+phase+"** |") {
		return fmt.Sprintf("%q and no row of the phase %q", headline, phase)
	}
	return ""
}

// outcomeLabels are by outcome; a canceled session has the label of a failed one, or none
// if a person stopped it.
var outcomeLabels = map[string]string{"done": "done", "needs_human": "needs-human", "failed": "failed", "canceled": "failed"}

// Issue is the number of the session's issue.
func (f *Files) Issue() int { return f.mirror.Issue }

// Labels compares the names of the labels of the session's issue with its outcome, if all was
// shown.
func (f *Files) Labels(names []string) string {
	if f.state.Outcome == "" || f.mirror.Shown < f.state.Seq {
		return ""
	}
	var have []string
	for _, name := range names {
		_, state, _ := strings.Cut(name, ":")
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
