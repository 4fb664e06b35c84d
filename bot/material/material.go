package material

import (
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// Spec says whose files they are.
type Spec struct {
	Session  *session.Session
	Place    place.Place
	Workflow *workflows.Definition // may be nil for what makes none
	Issue    string                // blob with the snapshot of an agent's issue; empty = the session's own
	Now      func() time.Time
	Log      *slog.Logger
}

// Files are those of a session's directory that are made from others, and those that tell
// what the session is about.
type Files struct {
	sess  *session.Session
	place place.Place
	def   *workflows.Definition
	issue string         // blob
	repo  *gitrepo.Store // nil before useStore
	now   func() time.Time
	log   *slog.Logger
}

// New reads and writes nothing.
func New(spec Spec) *Files {
	return &Files{sess: spec.Session, place: spec.Place, def: spec.Workflow, issue: spec.Issue, now: spec.Now, log: spec.Log}
}

// UseStore says in which store the work of the session is.
func (r *Files) UseStore(store *gitrepo.Store) { r.repo = store }
