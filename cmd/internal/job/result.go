package job

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/cmd/internal/daemon"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Outcomes of a job besides those of sessions.
const (
	OutcomeNone     = "none"       // nothing was to be done here
	OutcomeRefused  = "refused"    // the request was refused, and the issue says why
	OutcomeSwept    = "swept"      // lost requests were dispatched
	OutcomeHandover = "handover"   // another job continues: the token of this one ends, or its session could not begin
	OutcomeError    = "error"      // the job could not work
	OutcomeLost     = outcome.Lost // the process left no result: it was killed
)

// ofSession takes in the outcome of the session in dir so far.
func ofSession(ctx context.Context, r *outcome.Result, dir string) error {
	sess, s, err := outcome.Open(dir)
	if err != nil {
		return err
	}
	if err := r.OfSession(sess, s, show.Tell(ctx, session.Entry{Name: filepath.Base(dir), Dir: dir, State: s})); err != nil {
		return err
	}
	r.Next, r.Checkpoint = next(s), checkpointed(sess, s)
	return nil
}

// ofError takes in why there is no session. A request that could not begin is left to another job.
func ofError(r *outcome.Result, err error, text string) {
	r.Outcome, r.Sentence = OutcomeError, text
	if exit.As[*daemon.StalledError](err) {
		r.Outcome = OutcomeHandover
		r.Next = "mend that; the next sweep starts a job for the request, and a run of the workflow does it now"
	}
	if exit.As[*daemon.FullError](err) {
		r.Outcome = OutcomeHandover
	}
}

// next says what a person can do about the end of a session.
func next(s *orchestrator.State) string {
	switch {
	case s.Outcome == orchestrator.OutcomeDone:
		return "review the pull request"
	case (s.Stays != "" || s.OutcomeReason == orchestrator.ReasonOutputGate) && s.Phase != orchestrator.PhaseDone: // an answer would reach a job that finds nothing of it
		return "comment on the issue: /agentmux retry begins once more, from the last checkpoint on the server if there is one"
	case s.Outcome == orchestrator.OutcomeNeedsHuman && s.Gate != nil:
		return "comment on the issue: /agentmux approve, or /agentmux changes and what is to be different"
	case s.Outcome == orchestrator.OutcomeNeedsHuman && slices.ContainsFunc(s.Questions, orchestrator.Question.Open):
		return "comment on the issue: /agentmux answer and the answer"
	case s.OutcomeReason == orchestrator.ReasonPRRefused:
		return "allow GitHub Actions to create pull requests (Settings, Actions, General), or open the one that the last comment on the issue links to"
	}
	return "comment on the issue: /agentmux retry begins once more, /agentmux help lists all commands"
}

// checkpointed says what the last checkpoint of a session that has not got its result is good for. One whose push was not
// recorded any more, as the session ended, is known by the note of the claim.
func checkpointed(sess *session.Session, s *orchestrator.State) string {
	if s.Phase == orchestrator.PhaseDone {
		return ""
	}
	last, server := saves(sess)
	note, err := claim.ReadNote(sess.Dir)
	later := err == nil && note.Checkpoint != "" && note.Checkpoint != server.sha
	switch {
	case later && last == save{}:
		return "on the server: a job on another runner finds it"
	case later && last.pushed:
		return "later than that of " + last.at + ", on the server: a job on another runner finds it"
	case last.at == "":
		return "none: what is in no branch is lost with the runner"
	case last.pushed:
		return "of " + last.at + ", on the server: a job on another runner finds it"
	}
	return "of " + last.at + ", on this runner only: what is in no branch is lost with the runner"
}

// letGo says what the next job makes of the session in dir, which was handed over, and saved unless that was not possible. A
// checkpoint that was pushed while a later one was asked for has no record, so the note of the claim tells whether the server has one.
func letGo(dir string, saved bool) string {
	const now = "; /agentmux retry does it now"
	sess, s, err := outcome.Open(dir)
	if err != nil {
		return "the next sweep starts a job that continues from the last checkpoint on the server" + now
	}
	last, server := saves(sess)
	if saved && last.pushed {
		return "the next sweep starts a job that continues" + now
	}
	text := "what was made"
	if server.at != "" {
		text += " after " + server.at
	}
	text += " is lost with the runner"
	if s.Stays != "" {
		text += ", which it must not leave (" + s.Stays + ")"
	}
	if note, err := claim.ReadNote(dir); err == nil && note.Checkpoint == "" && server.at == "" {
		return text + ": the next sweep starts a job that begins once more" + now
	}
	return text + ": the next sweep starts a job that continues from the last checkpoint on the server" + now
}

// save is a checkpoint that is on record; the zero save means no checkpoint.
type save struct {
	at     string // of day
	pushed bool
	sha    string
}

// saves returns the last checkpoint of a session and the last one that is on the server, as its records have them.
func saves(sess *session.Session) (last, server save) {
	records, _, err := sess.Events(0)
	if err != nil {
		return save{}, save{}
	}
	for _, e := range records {
		if saved, is := e.Data.(orchestrator.CheckpointSavedRecord); is {
			if last = (save{e.TS.UTC().Format("15:04 UTC"), saved.Pushed, saved.SHA}); last.pushed {
				server = last
			}
		}
	}
	return last, server
}

// codeOf is the exit code of the outcome.
func codeOf(r outcome.Result) int {
	switch r.Outcome {
	case orchestrator.OutcomeNeedsHuman:
		return exit.NeedsHuman
	case orchestrator.OutcomeCanceled:
		if r.Reason == string(orchestrator.ReasonClaimLost) {
			return exit.Locked
		}
		return exit.Canceled
	case orchestrator.OutcomeFailed:
		return exit.Failed
	}
	if r.Outcome == OutcomeLost {
		return exit.Failed
	}
	return exit.Done
}

// ReadResult reads result.json. Without one the job was killed.
func ReadResult(path string) (outcome.Result, error) {
	r, err := outcome.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return outcome.Result{Version: 1, Outcome: OutcomeLost, ExitCode: exit.Failed, Sentence: "the process of the job left no result: it was killed, or could not begin"}, nil
	}
	return r, err
}
