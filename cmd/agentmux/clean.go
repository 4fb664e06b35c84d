package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/config"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/host"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

// halfMadeAge is how old what an interrupted creation or write left must be to go.
const halfMadeAge = time.Hour

// cleaning is what `agentmux clean` was asked for.
type cleaning struct {
	force     bool
	olderThan time.Duration
	maxSize   string
}

func (a *app) cleanCommand() *cobra.Command {
	var o cleaning
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove ended sessions and their workspaces, never running ones",
		Long: `Remove sessions that ended, the oldest first, with their workspaces and what the host repository kept for them, and
what interrupted commands left behind. Running and parked sessions stay, and without --force those whose end GitHub does not
show yet. Work that is in no branch stays, too: it is kept under a ref, and the ref is named; where that is impossible the
session is not removed.`,
		Example: "  agentmux clean\n  agentmux clean --older-than 168h --force\n  agentmux clean --max-size '2 GB'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.clean(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "do not ask, and remove sessions whose end GitHub does not show yet, too")
	cmd.Flags().DurationVar(&o.olderThan, "older-than", 0, "only sessions that ended this long ago")
	cmd.Flags().StringVar(&o.maxSize, "max-size", "", "only as many, the oldest first, as leave the sessions of the project this large, such as '2 GB'")
	return group(groupSetup, cmd)
}

// ended is a session that can be removed.
type ended struct {
	session.Entry
	at   time.Time
	size int64
}

func (a *app) clean(ctx context.Context, o cleaning) error {
	if o.olderThan < 0 {
		return usage(fmt.Errorf("--older-than: expected a time such as 168h, found %s", o.olderThan))
	}
	var limit config.Size
	if o.maxSize != "" {
		var err error
		if limit, err = config.ParseSize(o.maxSize); err != nil {
			return usage(fmt.Errorf("--max-size: %w", err))
		}
	}
	s, err := a.cleaner()
	if err != nil {
		return err
	}
	gone, owing, err := s.removable(o, limit)
	if err != nil {
		return err
	}
	for _, e := range owing {
		a.say("%s stays: GitHub does not show its end yet; agentmux resume %s goes on with it, --force removes it all the same", e.Name, e.Name)
	}
	half := halfMade(s.project)
	for _, e := range gone {
		a.print("%s  %s  %s  %s", e.Name, e.Condition(), e.at.Local().Format(time.DateOnly), sizeText(e.size))
	}
	if len(gone)+len(half) == 0 {
		a.say("nothing to remove")
		return a.cleanTemps(s.project)
	}
	if !o.force {
		what := counted(len(gone), "session and its workspaces", "sessions and their workspaces")
		if len(gone) == 0 {
			what = counted(len(half), "half-made session", "half-made sessions")
		}
		if err := a.confirm(ctx, "Remove "+what+"?"); err != nil {
			return err
		}
	}
	for _, dir := range half {
		if err := gitrepo.RemoveWorkspace(dir); err != nil {
			return err
		}
	}
	return errors.Join(a.remove(ctx, s, gone), a.cleanTemps(s.project))
}

// cleaner is a site that leaves GitHub alone.
func (a *app) cleaner() (*site, error) {
	project, err := a.projectDir()
	if err != nil {
		return nil, err
	}
	c, err := a.config(project)
	if err != nil {
		return nil, err
	}
	s := &site{project: project, config: c, identity: identity{bases: ghsync.Bases(c.GitHub.Host, os.Getenv)}}
	return s, a.wire(s, io.Discard, false)
}

// removable lists the sessions to remove, the oldest first: those that ended long enough
// ago, and with a limit only as many as bring all sessions below it. Those that only
// --force removes are listed apart.
func (s *site) removable(o cleaning, limit config.Size) (found, owing []ended, err error) {
	entries, err := session.List(s.project)
	if err != nil {
		return nil, nil, err
	}
	var sum int64
	for _, e := range entries {
		if e.State == nil {
			continue
		}
		one := ended{e, endedAt(e), s.host.Footprint(e.Dir, e.State, s.config)}
		sum += one.size
		switch {
		case e.Running || !host.Removable(e.State) || time.Since(one.at) < o.olderThan:
		case unshown(e) && !o.force:
			owing = append(owing, one)
		default:
			found = append(found, one)
		}
	}
	slices.SortStableFunc(found, func(a, b ended) int { return a.at.Compare(b.at) })
	if limit == 0 {
		return found, owing, nil
	}
	n := 0
	for ; n < len(found) && sum > int64(limit); n++ {
		sum -= found[n].size
	}
	return found[:n], owing, nil
}

// unshown reports whether people on GitHub still wait for words about the session.
func unshown(e session.Entry) bool {
	return e.State.Mirror && !ghsync.Shown(e.Dir, e.State.Seq)
}

func endedAt(e session.Entry) time.Time {
	at, err := time.Parse(time.RFC3339, e.State.UpdatedAt)
	if err != nil {
		return time.Time{}
	}
	return at
}

// remove goes on after a session that has to stay, and says why it does.
func (a *app) remove(ctx context.Context, s *site, gone []ended) error {
	var errs []error
	removed, repos := 0, map[string]bool{}
	for _, e := range gone {
		r, err := s.host.Remove(ctx, e.Dir, s.config)
		var locked *session.LockedError
		if errors.As(err, &locked) {
			a.say("%s was started meanwhile and stays", e.Name)
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s stays: %w", e.Name, err))
			continue
		}
		removed++
		repos[r.Repo] = true
		for _, ref := range r.Kept {
			a.say("%s: its work that is in no branch stays; git fetch %s %s", e.Name, r.Repo, ref)
		}
	}
	a.say("removed %s", counted(removed, "session", "sessions"))
	delete(repos, "")
	if len(repos) > 0 {
		errs = append(errs, s.host.Collect(ctx, s.project, s.config))
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
func (a *app) cleanTemps(project string) error {
	n, err := durable.RemoveTemps(filepath.Dir(session.Dir(project)), time.Now().Add(-halfMadeAge))
	if n > 0 {
		a.say("removed %s", counted(n, "temporary file", "temporary files"))
	}
	return err
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func sizeText(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%d kB", (n+999)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// confirm asks a person; without a terminal --force is needed.
func (a *app) confirm(ctx context.Context, question string) error {
	if !a.terminal {
		return usageText("there is no terminal to ask at; add --force")
	}
	yes, err := a.ask(ctx, question)
	if err == nil && !yes {
		err = errors.New("nothing was removed")
	}
	return err
}

// ask takes an answer from the terminal; anything but yes is a no. An interrupt ends the
// wait; the reader cannot be called back and goes with the process.
func (a *app) ask(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.err, question+" [y/N] ")
	var line string
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		line, err = bufio.NewReader(a.in).ReadString('\n')
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.err)
		return false, ctx.Err()
	case <-read:
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
