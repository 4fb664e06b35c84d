package orchestrator

import "github.com/agentmux/agentmux/workflows/artifact"

// ClassicDir is what the directory of a session of the earlier tool shows, as evidence
// for the upgrade of its state.
type ClassicDir struct {
	SessionID  string     `json:"session_id"`
	Identity   string     `json:"identity"`
	Branch     string     `json:"branch"`
	Base       string     `json:"base"`
	Integrated Integrated `json:"integrated"` // the content of the directory the work was done in

	Schedule   *artifact.Schedule `json:"schedule,omitempty"` // from plan.yaml, else execution_plan.yaml
	PlanSHA256 string             `json:"plan_sha256,omitempty"`

	Applied      []string `json:"applied,omitempty"`     // tools of the lines that were consumed
	Markers      []string `json:"markers,omitempty"`     // N of each done_N
	OldMarkers   []string `json:"old_markers,omitempty"` // of those made before the fix in hand was asked for
	PMDone       bool     `json:"pm_done,omitempty"`     // 01_product_management/done
	Architecture bool     `json:"architecture,omitempty"`
	Execution    bool     `json:"execution,omitempty"` // execution_plan.yaml is valid
	ExecutionAny bool     `json:"execution_any,omitempty"`
	Design       bool     `json:"design,omitempty"`
	FixRequest   bool     `json:"fix_request,omitempty"`
	Passed       bool     `json:"passed,omitempty"` // review.md begins with a pass
	Summary      bool     `json:"summary,omitempty"`
	Changes      string   `json:"changes,omitempty"` // changes.md, asked for at the completion

	Reviews map[string]ClassicReview `json:"reviews,omitempty"` // by role, of the valid files
}

// ClassicReview is the verdict file of a role in a session of the earlier tool, whose state
// holds the verdict and its text only.
type ClassicReview struct {
	Verdict       string `json:"verdict"`
	SHA256        string `json:"sha256"` // of the file, which is kept
	Findings      int    `json:"findings,omitempty"`
	CommitMessage string `json:"commit_message,omitempty"`
	// Archive is the newest archive made from the file, of round Iteration; empty if there is
	// none, or if the file is newer than each of them.
	Archive   string `json:"archive,omitempty"`
	Iteration int    `json:"iteration,omitempty"`
}
