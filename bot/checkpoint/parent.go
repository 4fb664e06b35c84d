package checkpoint

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/outgate"
)

// inspection is what the output gate said of the commits that were the parents of checkpoints.
type inspection struct {
	tip   string   // the last one
	found []string // why it stays on this machine
	clean string   // the last one that may leave it
}

// Inspect asks the output gate whether the integrated commits up to tip may leave the machine as the
// parents of a checkpoint, and returns what it found. Each of them is judged: what a later commit takes
// away again is in the history all the same. gate.Base is the commit that the session started from.
func (a *Away) Inspect(ctx context.Context, store *gitrepo.Store, gate outgate.Spec, tip string) ([]string, error) {
	if tip == a.seen.tip {
		return a.seen.found, nil
	}
	since := gate.Base
	if a.seen.clean != "" {
		since = a.seen.clean
	}
	commits, err := gitrepo.Commits(ctx, store, since, tip)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, c := range commits {
		gate.Tree, gate.Texts = c.ID, map[string]string{"commit message": c.Message}
		report, err := outgate.Check(ctx, store, gate)
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", c.ID, err)
		}
		for _, f := range report.Findings {
			found = append(found, gate.Secrets.Redact("the commit "+c.ID+": "+f.String()))
		}
	}
	a.seen.tip, a.seen.found = tip, found
	if len(found) == 0 {
		a.seen.clean = tip
	}
	return found, nil
}
