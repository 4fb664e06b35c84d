package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
)

// A session of the earlier tool that is done has no pull request of ours: it takes no changes, and says so.
func TestADoneClassicSessionTakesNoChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	const name = "20240115-103000-greet"
	r.write(filepath.Join(r.clone, ".agentmux", ".sessions", name, "state.json"), `{"phase": "done", "last_event": "pr_approved", "session_name": "agentmux-greet"}`)
	for _, args := range [][]string{{"resume", name, "--changes", "say three"}, {"changes", "say three", name}} {
		if res := r.expect(exit.BadUsage, args...); !strings.Contains(res.err, "is done without a pull request") {
			t.Errorf("%v: %s", args, res.err)
		}
	}
}
