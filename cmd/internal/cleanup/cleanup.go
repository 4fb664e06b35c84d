// Package cleanup removes ended sessions, their workspaces and what interrupted commands left
// behind. A session that runs, waits or can continue stays, and so does work that is in no
// branch. Removals are independent of one another; the next one completes an interrupted one.
package cleanup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/bell"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/restore"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// halfMadeAge is how old files of an interrupted creation or write must be to be removed.
const halfMadeAge = time.Hour

// Options is what `agentmux clean` was asked for.
type Options struct {
	Force     bool
	OlderThan Age
	MaxSize   string
	Canceled  bool
	AsJSON    bool
}

// Report is what clean tells a script.
type Report struct {
	Removed  []cleanedJSON `json:"removed"`
	Stays    []stayingJSON `json:"stays"`
	HalfMade int           `json:"half_made"` // directories of sessions that were never finished
}

// cleanedJSON is a session that was removed.
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

// stayingJSON is a session that has ended and was not removed.
type stayingJSON struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// ended is a session that can be removed.
type ended struct {
	session.Entry
	at   time.Time
	size int64
}

// Run removes what the options say. It asks first unless they force it.
func Run(ctx context.Context, a *site.Finder, o Options) error {
	var limit config.Size
	if o.MaxSize != "" {
		var err error
		if limit, err = config.ParseSize(o.MaxSize); err != nil {
			return exit.Usage(fmt.Errorf("--max-size: %w", err))
		}
	}
	named := a.Project != ""
	s, err := a.Cleaner(ctx)
	if err != nil {
		return err
	}
	if !named && bell.Heard(s.Project) {
		return exit.Usage(fmt.Errorf("agentmux bot removes the sessions of this directory by itself once they are as old as session.keep says; "+
			"agentmux clean --project %s does it now", s.Project))
	}
	chosen, staying, err := removable(ctx, a, s, o, limit)
	if err != nil {
		return err
	}
	out := Report{Removed: []cleanedJSON{}, Stays: []stayingJSON{}}
	for _, e := range staying {
		why, flag := "GitHub does not show its end yet", "--force"
		if e.State.Outcome == orchestrator.OutcomeCanceled && !o.Canceled {
			why, flag = "it was stopped and can continue", "--canceled"
		}
		out.Stays = append(out.Stays, stayingJSON{e.Name, why})
		a.Say("%s stays: %s; agentmux resume %s continues it, %s removes it all the same", e.Name, why, e.Name, flag)
	}
	if o.Force {
		if err := endCorrupt(ctx, a, s, &out); err != nil {
			return err
		}
	}
	half := halfMade(s.Project)
	var aside []overtaken
	if limit == 0 { // a limit is for sessions
		aside = overtakenIn(s.Project, o.OlderThan)
	}
	for _, e := range chosen {
		if !o.AsJSON {
			a.Print("%s  %s  %s  %s", e.Name, e.Condition(), e.at.Local().Format(time.DateOnly), sizeText(e.size))
		}
	}
	for _, one := range aside {
		if !o.AsJSON {
			a.Print("%s", one.line())
		}
	}
	if len(chosen)+len(half)+len(aside) == 0 {
		a.Say("nothing to remove")
		return errors.Join(cleanTemps(a, s.Project), printCleaned(a, o, out))
	}
	if !o.Force {
		if err := a.Confirm(ctx, "Remove "+whatGoes(len(chosen), len(aside), len(half))+"?"); err != nil {
			return err
		}
	}
	removeOvertaken(ctx, a, s, aside, &out)
	for _, dir := range half {
		if err := workspace.Remove(dir); err != nil {
			return err
		}
		out.HalfMade++
	}
	return errors.Join(remove(ctx, a, s, chosen, &out), cleanTemps(a, s.Project), printCleaned(a, o, out))
}

// whatGoes names what a person is asked about, the most valuable of it.
func whatGoes(sessions, aside, half int) string {
	switch {
	case sessions > 0:
		return console.Counted(sessions, "session and its workspaces", "sessions and their workspaces")
	case aside > 0:
		return console.Counted(aside, "overtaken directory", "overtaken directories")
	}
	return console.Counted(half, "half-made session", "half-made sessions")
}

func printCleaned(a *site.Finder, o Options, out Report) error {
	if !o.AsJSON {
		return nil
	}
	return a.PrintJSON(out)
}

// removable lists the sessions to remove, the oldest first: those that ended long enough
// ago, and with a limit only as many as bring all sessions below it. It lists apart those that
// only --force or --canceled removes.
func removable(ctx context.Context, a *site.Finder, s *site.Site, o Options, limit config.Size) (found, staying []ended, err error) {
	entries, err := session.List(s.Project)
	if err != nil {
		return nil, nil, err
	}
	var sum int64
	for _, e := range entries {
		if e.State == nil {
			continue
		}
		if believed, err := hosting.Believes(ctx, a, s, e); err != nil || !believed {
			if err != nil {
				return nil, nil, err
			}
			continue
		}
		one := ended{e, show.EndedAt(e), s.Host.Footprint(e.Dir, e.State, s.Config)}
		sum += one.size
		switch {
		case e.Running || !host.Removable(e.State) || time.Since(one.at) < time.Duration(o.OlderThan):
		case e.State.Outcome == orchestrator.OutcomeCanceled && !o.Canceled, unshown(e) && !o.Force:
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

// unshown reports whether the end of the session is not shown on GitHub yet.
func unshown(e session.Entry) bool {
	return e.State.Shown() && !mirror.Shown(e.Dir, e.State.Seq)
}

// remove removes the sessions. If one has to stay, it says why and continues with the next.
func remove(ctx context.Context, a *site.Finder, s *site.Site, chosen []ended, out *Report) error {
	var errs []error
	removed, repos := 0, map[string]bool{}
	online := connect(ctx, a, s, chosen)
	for _, e := range chosen {
		if online && restore.Pushed(e.Dir) != "" {
			if err := (host.Elsewhere{Host: s.Host}).Forget(ctx, e.Dir, s.Config); err != nil {
				a.Say("%s: its checkpoint stays on the server until checkpoint.keep is over: %v", e.Name, err)
			}
		}
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
			a.Say("%s: its work stays under a ref: git fetch %s %s", e.Name, r.Repo, ref)
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

// connect has the site use GitHub if one of the sessions has a checkpoint there. Without an account those stay.
func connect(ctx context.Context, a *site.Finder, s *site.Site, chosen []ended) bool {
	if !slices.ContainsFunc(chosen, func(e ended) bool { return restore.Pushed(e.Dir) != "" }) {
		return false
	}
	if err := a.Connect(ctx, s, &hostlog.Log{Terminal: a.Err}); err != nil {
		a.Say("checkpoints stay on the server until checkpoint.keep is over: %v", err)
		return false
	}
	return true
}

// halfMade lists the directories of sessions whose creation or removal was interrupted.
func halfMade(project string) []string {
	dir := session.Dir(project)
	found, _ := os.ReadDir(dir) // absent: no session was ever made
	var old []string
	for _, d := range found {
		if info, err := d.Info(); err == nil && strings.Contains(d.Name(), ".tmp-") && time.Since(info.ModTime()) > halfMadeAge {
			old = append(old, filepath.Join(dir, d.Name()))
		}
	}
	return old
}

// cleanTemps removes temporary files that killed processes left in the project's own directory.
func cleanTemps(a *site.Finder, project string) error {
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

// endCorrupt ends the agents and servers of a project's corrupt sessions. The sessions stay,
// because their work cannot be identified.
func endCorrupt(ctx context.Context, a *site.Finder, s *site.Site, out *Report) error {
	entries, err := session.List(s.Project)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if e.Running || !exit.As[*session.CorruptError](e.Err) {
			continue
		}
		err := hosting.EndAgents(ctx, a, s, e)
		if exit.As[*session.LockedError](err) {
			continue // a host runs it by now
		}
		errs = append(errs, err)
		out.Stays = append(out.Stays, stayingJSON{e.Name, a.Shown()(e.Condition())})
	}
	return errors.Join(errs...)
}
