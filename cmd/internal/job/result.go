package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/daemon"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// Outcomes of a job besides those of sessions.
const (
	OutcomeNone     = "none"     // nothing was to be done here
	OutcomeRefused  = "refused"  // the request was refused, and the issue says why
	OutcomeSwept    = "swept"    // lost requests were dispatched
	OutcomeHandover = "handover" // another job continues: the token of this one ends, or its session could not begin
	OutcomeError    = "error"    // the job could not work
	OutcomeLost     = "lost"     // the process left no result: it was killed
)

// Result is result.json: how a job ended. docs/runners.md has its fields.
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

	Phases    []Phase    `json:"phases,omitempty"`
	Verdicts  []Verdict  `json:"verdicts,omitempty"`
	Questions []Question `json:"questions,omitempty"` // that are open
	Held      []string   `json:"held,omitempty"`      // paths that a person has to look at
	Usage     *story.Sum `json:"usage,omitempty"`     // of all launches of the session, on whichever machine; nil: none has ended
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

// ofSession takes in how the session in dir stands.
func (r *Result) ofSession(ctx context.Context, dir string) error {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	s, err := sess.ReadState()
	if err != nil {
		return err
	}
	e := session.Entry{Name: filepath.Base(dir), Dir: dir, State: s}
	st := show.Tell(ctx, e)
	r.Session, r.Workflow, r.Branch = orchestrator.PublicID(s.SessionID, s.Identity), s.Workflow, s.FeatureBranch
	r.Outcome, r.Reason, r.Sentence = string(s.Outcome), string(s.OutcomeReason), st.Sentence
	if r.Moved, r.Usage = st.Moved, st.Usage; r.Outcome == "" {
		r.Outcome = OutcomeLost
	}
	r.Next = next(s)
	r.Checkpoint = checkpointed(sess, s)
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

// ofError takes in why there is no session. A request that could not begin is left to another job.
func (r *Result) ofError(err error, text string) {
	r.Outcome, r.Sentence = OutcomeError, text
	if exit.As[*daemon.StalledError](err) {
		r.Outcome = OutcomeHandover
		r.Next = "mend that; the next sweep starts a job for the request, and a run of the workflow does it now"
	}
}

// next says what a person can do about the end of a session.
func next(s *orchestrator.State) string {
	switch {
	case s.Outcome == orchestrator.OutcomeDone:
		return "review the pull request"
	case s.Outcome == orchestrator.OutcomeNeedsHuman && s.Gate != nil:
		return "comment on the issue: /agentmux approve, or /agentmux changes and what is to be different"
	case s.Outcome == orchestrator.OutcomeNeedsHuman && slices.ContainsFunc(s.Questions, orchestrator.Question.Open):
		return "comment on the issue: /agentmux answer and the answer"
	case s.OutcomeReason == orchestrator.ReasonPRRefused:
		return "allow GitHub Actions to create pull requests (Settings, Actions, General), or open the one that the last comment on the issue links to"
	}
	return "comment on the issue: /agentmux retry begins once more, /agentmux help lists all commands"
}

// checkpointed says what the last checkpoint of a session that has not got its result is good for.
func checkpointed(sess *session.Session, s *orchestrator.State) string {
	if s.Phase == orchestrator.PhaseDone {
		return ""
	}
	records, _, err := sess.Events(0)
	if err != nil {
		return ""
	}
	for _, e := range slices.Backward(records) {
		saved, is := e.Data.(orchestrator.CheckpointSavedRecord)
		switch {
		case is && saved.Pushed:
			return "of " + e.TS.UTC().Format("15:04 UTC") + ", on the server: a job on another runner finds it"
		case is:
			return "of " + e.TS.UTC().Format("15:04 UTC") + ", on this runner only: what is in no branch is lost with the runner"
		}
	}
	return "none: what is in no branch is lost with the runner"
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

// code is the exit code of the outcome.
func (r *Result) code() int {
	switch r.Outcome {
	case orchestrator.OutcomeNeedsHuman:
		return exit.NeedsHuman
	case orchestrator.OutcomeCanceled:
		if r.Reason == string(orchestrator.ReasonClaimLost) {
			return exit.Locked
		}
		return exit.Done // a person stopped it; a signal has a code of its own
	case orchestrator.OutcomeFailed:
		return exit.Failed
	}
	if r.Outcome == OutcomeLost {
		return exit.Failed
	}
	return exit.Done
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

// ReadResult reads result.json. Without one the job was killed. An agent of the job may be able to put
// something else in its place: it must be a regular file of at most 16 MiB.
func ReadResult(path string) (Result, error) {
	file, err := durable.ReadRegular(filepath.Dir(path), filepath.Base(path), maxResult)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{Version: 1, Outcome: OutcomeLost, ExitCode: exit.Failed, Sentence: "the process of the job left no result: it was killed, or could not begin"}, nil
	}
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
