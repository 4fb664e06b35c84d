package material

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// Told is what the records tell people of the work: which files were changed out of scope, who worked, a line for each role and
// what it ran on and one for the persons at their panes, and what they used, empty if that is not known.
type Told struct {
	Strays story.Strays
	Crew   []string
	Used   string
}

// Told reads what the records tell of the work for a task, or of the whole session if task is empty.
func (r *Files) Told(task string) (Told, error) {
	records, _, err := r.sess.Events(0)
	if err != nil {
		return Told{}, fmt.Errorf("read what was changed and used: %w", err)
	}
	var strays story.Strays
	var crew story.Crew
	var used story.Usages
	var persons story.Persons
	for _, e := range records {
		strays.Fold(e)
		crew.Fold(e)
		used.Fold(e)
		persons.Fold(e)
	}
	sum := used.Sum()
	if task != "" {
		sum = used.Of(task)
	}
	return Told{Strays: strays.By(task), Crew: append(crew.Lines(task), persons.Of(task).Lines()...), Used: sum.Line()}, nil
}

// Strays reads which files subplans changed though the plan does not give them to them.
func (r *Files) Strays() (story.Strays, error) {
	records, _, err := r.sess.Events(0)
	if err != nil {
		return nil, fmt.Errorf("read which files were changed outside of the plan: %w", err)
	}
	var strays story.Strays
	for _, e := range records {
		strays.Fold(e)
	}
	return strays, nil
}

// maxStat is how many changed files a prompt lists.
const maxStat = 400

// statList lists changed files for a prompt. Strays are marked, and come first so that a
// long list does not lose them.
func statList(stats []gitrepo.Stat, strays story.Strays) string {
	var b strings.Builder
	added, removed := 0, 0
	stats = slices.Clone(stats)
	slices.SortStableFunc(stats, func(x, y gitrepo.Stat) int { return statRank(x, strays) - statRank(y, strays) })
	for i, f := range stats {
		added, removed = added+f.Added, removed+f.Removed
		if i >= maxStat {
			continue
		}
		count := fmt.Sprintf(" | +%d -%d", f.Added, f.Removed)
		if f.Binary {
			count = " (binary)"
		}
		mark := ""
		if owner := strays.Of(f.Path); owner != "" {
			mark = " | changed by " + owner + ", which does not own it"
		}
		fmt.Fprintf(&b, "%s%s%s\n", f.Path, count, mark)
	}
	if more := len(stats) - maxStat; more > 0 {
		fmt.Fprintf(&b, "... and %d more files\n", more)
	}
	fmt.Fprintf(&b, "%d files, +%d -%d lines\n", len(stats), added, removed)
	return b.String()
}

func statRank(f gitrepo.Stat, strays story.Strays) int {
	if strays.Of(f.Path) != "" {
		return 0
	}
	return 1
}

// DiffStat lists what changed between two commits or trees, see statList.
func (r *Files) DiffStat(ctx context.Context, from, to string, strays story.Strays) (string, error) {
	if to == "" || from == to {
		return "", nil
	}
	stats, err := r.repo.DiffStat(ctx, from, to)
	if err != nil {
		return "", err
	}
	return statList(stats, strays), nil
}
