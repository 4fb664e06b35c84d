package material

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// completionNote is .agentmux/.last_completion.json. It is shown to people only.
type completionNote struct {
	Feature     string  `json:"feature_name"`
	Commit      *string `json:"commit_hash"`
	PR          *string `json:"pr_url"`
	Branch      string  `json:"branch_name"`
	Session     string  `json:"session_id"`
	CompletedAt string  `json:"completed_at"`
}

// WriteLastCompletion notes in the project how the session ended, for people.
func (r *Files) WriteLastCompletion(_ context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	note := completionNote{
		Feature: session.FeatureSlug(s.SessionID), Branch: e.Args.Branch, Session: s.SessionID,
		CompletedAt: orchestrator.Classic(r.now()),
	}
	if e.Args.Commit != "" {
		short := fmt.Sprintf("%.7s", e.Args.Commit)
		note.Commit = &short
	}
	if s.Completion.PRURL != "" {
		note.PR = &s.Completion.PRURL
	}
	data, err := json.Marshal(note)
	if err != nil {
		return orchestrator.Result{}, fmt.Errorf("encode completion: %w", err)
	}
	return orchestrator.Result{}, session.NoteCompletion(r.sess.Project(), append(data, '\n'))
}
