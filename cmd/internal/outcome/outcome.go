// Package outcome says how a run ended, for programs: result.json, of a job of GitHub Actions, and in
// the directory of a session that ran without a person.
package outcome

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// File is the name of the file.
const File = "result.json"

// Lost is the outcome of a session that has none.
const Lost = "lost"

// Result is result.json: how a run ended. docs/runners.md has its fields.
type Result struct {
	Version  int    `json:"version"` // 1
	Outcome  string `json:"outcome"`
	Reason   string `json:"reason,omitempty"`
	ExitCode int    `json:"exit_code"`
	Repo     string `json:"repo,omitempty"`
	Issue    int    `json:"issue,omitempty"`

	Session  string `json:"session,omitempty"`
	Workflow string `json:"workflow,omitempty"`
	Branch   string `json:"branch,omitempty"`
	PRNumber int    `json:"pr_number,omitempty"`
	PRURL    string `json:"pr_url,omitempty"`
	Draft    bool   `json:"draft,omitempty"`
	HeadSHA  string `json:"head_sha,omitempty"`
	Verdict  string `json:"verdict,omitempty"` // pass, fail; empty: no role has judged
	Digest   string `json:"digest,omitempty"`  // SHA-256 of the text that the agents were given
	Moved    string `json:"moved,omitempty"`   // from which machine the session came, in words

	Phases    []Phase           `json:"phases,omitempty"`
	Verdicts  []Verdict         `json:"verdicts,omitempty"`
	Questions []Question        `json:"questions,omitempty"` // that are open
	Held      []string          `json:"held,omitempty"`      // paths that a person has to look at
	Usage     []story.RoleSpent `json:"usage,omitempty"`     // by role, of all launches of the session that have ended, on whichever machine
	// Checkpoint says what another machine would find of the session, in words; empty if it has its result.
	Checkpoint string `json:"checkpoint,omitempty"`
	Sentence   string `json:"sentence,omitempty"`
	Next       string `json:"next,omitempty"` // what a person can do

	Dispatched []int `json:"dispatched,omitempty"` // issues, by a sweep
}

// Phase is how long a session was in a phase.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Verdict is the last one of a role.
type Verdict struct {
	Role     string `json:"role"`
	Verdict  string `json:"verdict"`
	Findings int    `json:"findings"`
}

// Question is one that has no answer yet.
type Question struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Open opens the session in dir and reads its state.
func Open(dir string) (*session.Session, *orchestrator.State, error) {
	sess, err := session.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	s, err := sess.ReadState()
	return sess, s, err
}

// OfSession takes in the outcome of a session so far, whose story is st, but for what a person can do next.
func (r *Result) OfSession(sess *session.Session, s *orchestrator.State, st story.Story) (err error) {
	r.Session, r.Workflow, r.Branch = orchestrator.PublicID(s.SessionID, s.Identity), s.Workflow, s.FeatureBranch
	r.Outcome, r.Reason, r.Sentence = string(s.Outcome), string(s.OutcomeReason), st.Sentence
	if r.Moved = st.Moved; r.Outcome == "" {
		r.Outcome = Lost
	}
	if st.Usage != nil {
		r.Usage = st.Usage.Roles
	}
	c := s.Completion
	r.PRNumber, r.PRURL, r.Draft, r.HeadSHA, r.Held = c.PRNumber, c.PRURL, c.Draft, c.Commit, c.Held
	r.verdicts(s)
	for _, q := range s.Questions {
		if q.Open() {
			r.Questions = append(r.Questions, Question{q.ID, q.Text})
		}
	}
	if r.Phases, err = phases(sess); err != nil {
		return err
	}
	if data, err := session.ReadFile(sess.Path(session.SnapshotFile)); err == nil {
		if snap, err := ghsync.ParseSnapshot(data); err == nil {
			r.Digest = snap.Digest
		}
	}
	return nil
}

func (r *Result) verdicts(s *orchestrator.State) {
	for role, v := range s.ReviewResults {
		r.Verdicts = append(r.Verdicts, Verdict{role, v.Verdict, v.Findings})
		if r.Verdict == "" || v.Verdict != "pass" {
			r.Verdict = v.Verdict
		}
	}
	slices.SortFunc(r.Verdicts, func(a, b Verdict) int {
		if a.Role < b.Role {
			return -1
		}
		return 1
	})
}

// phases are the visits of phases with their times, oldest first.
func phases(sess *session.Session) (list []Phase, err error) {
	records, err := sess.Follow(0).Read()
	if err != nil {
		return nil, err
	}
	var began, last time.Time
	for _, e := range records {
		last = e.TS.Time
		if e.Type != orchestrator.EvPhaseEntered {
			continue
		}
		if n := len(list); n > 0 {
			list[n-1].Seconds = e.TS.Sub(began).Seconds()
		}
		list, began = append(list, Phase{Name: e.Phase}), e.TS.Time
	}
	if n := len(list); n > 0 {
		list[n-1].Seconds = last.Sub(began).Seconds()
	}
	return list, nil
}

// Write makes the result the file of a path.
func (r *Result) Write(path string) error {
	r.Version = 1
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return durable.Replace(path, append(text, '\n'))
}

const maxResult = 16 << 20 // bytes

// Read reads result.json. An agent of a job may be able to put something else in its place: it must
// be a regular file of at most 16 MiB.
func Read(path string) (Result, error) {
	file, err := durable.ReadRegular(filepath.Dir(path), filepath.Base(path), maxResult)
	var r Result
	if err == nil {
		err = json.Unmarshal(file, &r)
	}
	if err == nil && r.Version != 1 {
		err = fmt.Errorf("version %d is not known", r.Version)
	}
	if err != nil {
		return r, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}
