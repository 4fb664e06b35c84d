package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

// halfMadeAge is how old what an interrupted creation or write left must be to go.
const halfMadeAge = time.Hour

// cleaning is what `agentmux clean` was asked for.
type cleaning struct {
	force     bool
	olderThan age
	maxSize   string
	canceled  bool
	asJSON    bool
}

// cleanJSON is what clean tells a script.
type cleanJSON struct {
	Removed  []cleanedJSON `json:"removed"`
	Stays    []stayingJSON `json:"stays"`
	HalfMade int           `json:"half_made"` // directories of sessions that were never finished
}

// cleanedJSON is one session that was removed.
type cleanedJSON struct {
	Name      string     `json:"name"`
	Condition string     `json:"condition"`
	Ended     time.Time  `json:"ended,omitzero"`
	Bytes     int64      `json:"bytes"`
	Kept      []keptJSON `json:"kept"` // its work that is in no branch
}

type keptJSON struct {
	Repository string `json:"repository"`
	Ref        string `json:"ref"`
}

// stayingJSON is one that has ended and was not removed.
type stayingJSON struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func newCleanCmd(a *app) *cobra.Command {
	var o cleaning
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove ended sessions and their workspaces, never running ones",
		Long: `Remove sessions that ended, the oldest first, with their workspaces and what the host repository kept for them, and
what interrupted commands left behind. Running and parked sessions stay, without --canceled those that were stopped, which
resume goes on with, and without --force those whose end GitHub does not show yet. Work that is in no branch stays, too: it is
kept under a ref, and the ref is named; where that is impossible the session is not removed. A corrupt session stays; --force
ends what agents and tmux server it has left.`,
		Example: "  agentmux clean\n  agentmux clean --older-than 7d --force\n  agentmux clean --max-size '2 GB'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runClean(cmd.Context(), a, o) },
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "do not ask, and remove sessions whose end GitHub does not show yet, too")
	cmd.Flags().Var(&o.olderThan, "older-than", "only sessions that ended this long ago, such as 3d or 36h")
	cmd.Flags().BoolVar(&o.canceled, "canceled", false, "sessions that were stopped and could go on, too")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "machine-readable output, see docs/commands.md")
	cmd.Flags().StringVar(&o.maxSize, "max-size", "", "only as many, the oldest first, as leave the sessions of the project this large, such as '2 GB'")
	return group(groupSetup, cmd)
}

// ended is a session that can be removed.
type ended struct {
	session.Entry
	at   time.Time
	size int64
}

func runClean(ctx context.Context, a *app, o cleaning) error {
	var limit config.Size
	if o.maxSize != "" {
		var err error
		if limit, err = config.ParseSize(o.maxSize); err != nil {
			return exit.Usage(fmt.Errorf("--max-size: %w", err))
		}
	}
	s, err := a.Cleaner(ctx)
	if err != nil {
		return err
	}
	gone, staying, err := removable(ctx, a, s, o, limit)
	if err != nil {
		return err
	}
	out := cleanJSON{Removed: []cleanedJSON{}, Stays: []stayingJSON{}}
	for _, e := range staying {
		why, flag := "GitHub does not show its end yet", "--force"
		if e.State.Outcome == orchestrator.OutcomeCanceled && !o.canceled {
			why, flag = "it was stopped and can go on", "--canceled"
		}
		out.Stays = append(out.Stays, stayingJSON{e.Name, why})
		a.Say("%s stays: %s; agentmux resume %s goes on with it, %s removes it all the same", e.Name, why, e.Name, flag)
	}
	if o.force {
		if err := endCorrupt(ctx, a, s, &out); err != nil {
			return err
		}
	}
	half := halfMade(s.Project)
	for _, e := range gone {
		if !o.asJSON {
			a.Print("%s  %s  %s  %s", e.Name, e.Condition(), e.at.Local().Format(time.DateOnly), sizeText(e.size))
		}
	}
	if len(gone)+len(half) == 0 {
		a.Say("nothing to remove")
		return errors.Join(cleanTemps(a, s.Project), printCleaned(a, o, out))
	}
	if !o.force {
		what := console.Counted(len(gone), "session and its workspaces", "sessions and their workspaces")
		if len(gone) == 0 {
			what = console.Counted(len(half), "half-made session", "half-made sessions")
		}
		if err := a.Confirm(ctx, "Remove "+what+"?"); err != nil {
			return err
		}
	}
	for _, dir := range half {
		if err := gitrepo.RemoveWorkspace(dir); err != nil {
			return err
		}
		out.HalfMade++
	}
	return errors.Join(remove(ctx, a, s, gone, &out), cleanTemps(a, s.Project), printCleaned(a, o, out))
}

func printCleaned(a *app, o cleaning, out cleanJSON) error {
	if !o.asJSON {
		return nil
	}
	return a.PrintJSON(out)
}

// removable lists the sessions to remove, the oldest first: those that ended long enough
// ago, and with a limit only as many as bring all sessions below it. Those that only
// --force or --canceled removes are listed apart.
func removable(ctx context.Context, a *app, s *site.Site, o cleaning, limit config.Size) (found, staying []ended, err error) {
	entries, err := session.List(s.Project)
	if err != nil {
		return nil, nil, err
	}
	var sum int64
	for _, e := range entries {
		if e.State == nil {
			continue
		}
		if ours, err := believes(ctx, a, s, e); err != nil || !ours {
			if err != nil {
				return nil, nil, err
			}
			continue
		}
		one := ended{e, endedAt(e), s.Host.Footprint(e.Dir, e.State, s.Config)}
		sum += one.size
		switch {
		case e.Running || !host.Removable(e.State) || time.Since(one.at) < time.Duration(o.olderThan):
		case e.State.Outcome == orchestrator.OutcomeCanceled && !o.canceled, unshown(e) && !o.force:
			staying = append(staying, one)
		default:
			found = append(found, one)
		}
	}
	slices.SortStableFunc(found, func(a, b ended) int { return a.at.Compare(b.at) })
	if limit == 0 {
		return found, staying, nil
	}
	n := 0
	for ; n < len(found) && sum > int64(limit); n++ {
		sum -= found[n].size
	}
	return found[:n], staying, nil
}

// unshown reports whether people on GitHub still wait for words about the session.
func unshown(e session.Entry) bool {
	return e.State.Mirror && !mirror.Shown(e.Dir, e.State.Seq)
}

func endedAt(e session.Entry) time.Time {
	at, err := time.Parse(time.RFC3339, e.State.UpdatedAt)
	if err != nil {
		return time.Time{}
	}
	return at
}

// remove goes on after a session that has to stay, and says why it does.
func remove(ctx context.Context, a *app, s *site.Site, gone []ended, out *cleanJSON) error {
	var errs []error
	removed, repos := 0, map[string]bool{}
	for _, e := range gone {
		r, err := s.Host.Remove(ctx, e.Dir, s.Config)
		var locked *session.LockedError
		if errors.As(err, &locked) {
			a.Say("%s was started meanwhile and stays", e.Name)
			out.Stays = append(out.Stays, stayingJSON{e.Name, "it was started meanwhile"})
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s stays: %w", e.Name, err))
			out.Stays = append(out.Stays, stayingJSON{e.Name, a.Shown()(err.Error())})
			continue
		}
		removed++
		one := cleanedJSON{e.Name, e.Condition(), e.at, e.size, []keptJSON{}}
		repos[r.Repo] = true
		for _, ref := range r.Kept {
			a.Say("%s: its work that is in no branch stays; git fetch %s %s", e.Name, r.Repo, ref)
			one.Kept = append(one.Kept, keptJSON{r.Repo, ref})
		}
		out.Removed = append(out.Removed, one)
	}
	a.Say("removed %s", console.Counted(removed, "session", "sessions"))
	delete(repos, "")
	if len(repos) > 0 {
		errs = append(errs, s.Host.Collect(ctx, s.Project, s.Config))
	}
	return errors.Join(errs...)
}

// halfMade are the directories of sessions that were never finished, or whose removal
// was not.
func halfMade(project string) []string {
	dir := session.Dir(project)
	found, _ := os.ReadDir(dir) // absent: nothing was ever made
	var old []string
	for _, d := range found {
		if info, err := d.Info(); err == nil && strings.Contains(d.Name(), ".tmp-") && time.Since(info.ModTime()) > halfMadeAge {
			old = append(old, filepath.Join(dir, d.Name()))
		}
	}
	return old
}

// cleanTemps removes what killed writers left in the project's own directory.
func cleanTemps(a *app, project string) error {
	n, err := durable.RemoveTemps(filepath.Dir(session.Dir(project)), time.Now().Add(-halfMadeAge))
	if n > 0 {
		a.Say("removed %s", console.Counted(n, "temporary file", "temporary files"))
	}
	return err
}

func sizeText(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%d kB", (n+999)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
