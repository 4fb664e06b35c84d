package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/outgate"
	"github.com/agentmux/agentmux/orchestrator"
)

// Difference is what the commit of a session would change, or has changed.
type Difference struct {
	From, To string         // commits or trees in the store
	Stats    []gitrepo.Stat // in git's order
	Patch    []byte         // if it was asked for
	Large    bool           // the patch is too large to show

	work *Work
}

// maxPatch bounds the patch that is shown.
const maxPatch = 16 << 20

// Counts sums the lines of a difference.
func (d Difference) Counts() (files, added, removed int) {
	for _, s := range d.Stats {
		added, removed = added+s.Added, removed+s.Removed
	}
	return len(d.Stats), added, removed
}

// String says how much a difference changes, as git does.
func (d Difference) String() string {
	files, added, removed := d.Counts()
	noun := "files"
	if files == 1 {
		noun = "file"
	}
	return fmt.Sprintf("%d %s changed, +%d -%d", files, noun, added, removed)
}

// Difference compares what the session began its round with, and its work; with patch also as
// text. It only reads.
func (r *Work) Difference(ctx context.Context, s *orchestrator.State, patch bool) (Difference, error) {
	former, err := r.before(ctx, s, s.ChangeRound, s.BaseSHA)
	if err != nil {
		return Difference{}, err
	}
	d := Difference{From: former.own, To: s.Integrated.Tree, work: r}
	if s.Completion.Commit != "" { // less what the person left out
		d.From, d.To = cmp.Or(s.Completion.Parent, d.From), s.Completion.Commit
	}
	if d.Stats, err = r.repo.DiffStat(ctx, d.From, d.To); err != nil {
		return d, err
	}
	d.Stats = slices.DeleteFunc(d.Stats, func(stat gitrepo.Stat) bool { return ours(stat.Path) })
	if !patch {
		return d, nil
	}
	d.Patch, err = r.repo.DiffWithout(ctx, d.From, d.To, maxPatch, ownPaths...)
	if d.Large = errors.Is(err, gitrepo.ErrTooLarge); d.Large {
		return d, nil
	}
	return d, err
}

// Held lists what of the difference takes a person with more than write permission to approve: held
// paths, and what the output gate blocks. It only reads.
func (d Difference) Held(ctx context.Context) (held, findings []string, err error) {
	if d.work == nil {
		return nil, nil, nil // there is no work
	}
	report, err := outgate.Check(ctx, d.work.repo, d.work.gate(d.From, d.To))
	if err != nil {
		return nil, nil, err
	}
	return outgate.Paths(report.Held), report.Texts(), nil
}

// Paths are those of the files that differ, in git's order.
func (d Difference) Paths() (paths []string) {
	for _, stat := range d.Stats {
		paths = append(paths, stat.Path)
	}
	return paths
}
