package checkpoint

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/outgate"
)

// inspection is what the output gate said of the commits that were the parents of checkpoints.
type inspection struct {
	tips  []string        // the last ones
	found []string        // why they stay on this machine
	clean map[string]bool // what may leave it, by commit
}

// Inspect asks the output gate whether the commits up to each of tips may leave the machine as the
// parents of a checkpoint, and returns what it found. Each of them is judged: what a later commit takes
// away again is in the history all the same. gate.Base is the commit that the session started from.
func (a *Away) Inspect(ctx context.Context, store *gitrepo.Store, gate outgate.Spec, tips ...string) ([]string, error) {
	if slices.Equal(tips, a.seen.tips) {
		return a.seen.found, nil
	}
	judged, clean := map[string]bool{}, maps.Clone(a.seen.clean)
	if clean == nil {
		clean = map[string]bool{}
	}
	var found []string
	for _, tip := range tips {
		commits, err := gitrepo.Commits(ctx, store, gate.Base, tip)
		if err != nil {
			return nil, err
		}
		for _, c := range commits {
			if clean[c.ID] || judged[c.ID] {
				continue
			}
			judged[c.ID] = true
			gate.Tree, gate.Texts = c.ID, map[string]string{"commit message": c.Message}
			report, err := outgate.Check(ctx, store, gate)
			if err != nil {
				return nil, fmt.Errorf("check %s: %w", c.ID, err)
			}
			for _, f := range report.Findings {
				found = append(found, gate.Secrets.Redact("the commit "+c.ID+": "+f.String()))
			}
			clean[c.ID] = len(report.Findings) == 0
		}
	}
	a.seen = inspection{tips: slices.Clone(tips), found: found, clean: clean}
	return found, nil
}
