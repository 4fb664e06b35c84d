package material

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// IssueSnapshot is the issue text the session works from; fs.ErrNotExist without an issue.
func (r *Files) IssueSnapshot() (ghsync.Snapshot, error) {
	var snap ghsync.Snapshot
	data, err := session.ReadFile(r.sess.Path(session.SnapshotFile))
	if err == nil {
		err = json.Unmarshal(data, &snap)
	}
	if err != nil {
		return ghsync.Snapshot{}, fmt.Errorf("read issue snapshot: %w", err)
	}
	return snap, nil
}

// Request returns the initial request, as requirements.md has it.
func (r *Files) Request() string {
	data, err := r.ReadText(session.RequirementsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.log.Warn("requirements not readable", "session", r.sess.Name(), "err", err)
	}
	_, rest, found := strings.Cut(string(data), "## Initial Request")
	if !found {
		return strings.TrimSpace(string(data))
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return strings.TrimSpace(rest)
}

// FirstRequestLine is the first line of the request that says something.
func (r *Files) FirstRequestLine() string {
	for line := range strings.Lines(r.Request()) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "# ")); line != "" {
			return line
		}
	}
	return "changes of " + r.sess.Name()
}
