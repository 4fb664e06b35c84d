package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
)

// lockName is the file in the directory of a trial that is locked while a process has to do with it.
const lockName = "lock"

// takeOverTime is how long a process that removes a trial waits for the lock of the one that made it.
const takeOverTime = 10 * time.Second

func trials() string { return filepath.Join(site.StateHome(), "trials") }

// scratch is the directory of a trial.
type scratch struct {
	dir  string
	held *durable.Held
	end  func() error // has the process beside this one remove the directory, and waits for it
}

// newScratch makes a directory, and starts the process that removes it once this one has ended.
func newScratch(a *site.Finder) (*scratch, error) {
	if err := durable.MkdirAll(trials()); err != nil {
		return nil, fmt.Errorf("make trial: %w", err)
	}
	dir, err := os.MkdirTemp(trials(), "")
	if err != nil {
		return nil, fmt.Errorf("make trial: %w", err)
	}
	p := &scratch{dir: dir}
	if p.held, err = durable.Lock(filepath.Join(dir, lockName), ""); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	crash.Point("make trial", "")
	argv := []string{"session", "sweep", dir}
	if a.ConfigFile != "" {
		file, err := filepath.Abs(a.ConfigFile)
		if err != nil {
			return nil, errors.Join(err, p.held.Close(), os.RemoveAll(dir))
		}
		argv = append(argv, "--config", file)
	}
	if p.end, err = hosting.Beside(argv); err != nil {
		return nil, errors.Join(err, p.held.Close(), os.RemoveAll(dir))
	}
	return p, nil
}

// clone is where the scratch repository lies. It is deeper than a managed project, which it must not be
// taken for.
func (p *scratch) clone() string { return cloneIn(p.dir) }

func cloneIn(dir string) string { return filepath.Join(dir, "work", "scratch") }

// fill makes the scratch repository with one commit.
func (p *scratch) fill(ctx context.Context) error {
	dir := p.clone()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make scratch repository: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# Scratch\n"), 0o600); err != nil {
		return fmt.Errorf("make scratch repository: %w", err)
	}
	author := []string{"user.name=agentmux", "user.email=agentmux@localhost"}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "README.md"}, {"commit", "--quiet", "--message=Begin"}} {
		if _, err := (git.Call{Dir: dir, Config: author, Args: args}).Run(ctx); err != nil {
			return fmt.Errorf("make scratch repository: %w", err)
		}
	}
	return nil
}

// remove returns once the directory is removed.
func (p *scratch) remove() error {
	if err := errors.Join(p.held.Close(), p.end()); err != nil {
		return fmt.Errorf("%s is not removed yet, the next test of a provider tries again: %w", p.dir, err)
	}
	return nil
}

// Sweep waits until in ends, which it does with the process that made the trial in dir, and removes it.
func Sweep(ctx context.Context, a *site.Finder, dir string, in io.Reader) error {
	if filepath.Dir(dir) != trials() {
		return exit.Usage(fmt.Errorf("%s is not the directory of a trial", dir))
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return fmt.Errorf("wait for the end of a trial: %w", err)
	}
	held, err := durable.LockWithin(filepath.Join(dir, lockName), "", takeOverTime)
	if err != nil {
		return err
	}
	return errors.Join(clearTrial(ctx, a, dir), held.Close())
}

// removeLeft removes the trials that no process has to do with any more.
func removeLeft(ctx context.Context, a *site.Finder) {
	left, _ := os.ReadDir(trials()) // absent: there was never one
	for _, d := range left {
		dir := filepath.Join(trials(), d.Name())
		held, err := durable.Lock(filepath.Join(dir, lockName), "")
		if errors.Is(err, durable.ErrLocked) {
			continue
		}
		if err == nil {
			err = errors.Join(clearTrial(ctx, a, dir), held.Close())
		}
		if err != nil {
			a.Say("an earlier test has left %s: %v", dir, err)
		}
	}
}

// clearTrial ends what runs of the trial in dir and removes everything of it. It may be called again after
// any error or kill.
func clearTrial(ctx context.Context, of *site.Finder, dir string) error {
	a := *of
	a.Project = cloneIn(dir)
	entries, err := session.List(a.Project)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		s, err := a.Cleaner(ctx)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := removeSession(ctx, s, e); err != nil {
				return err
			}
		}
	}
	if err := workspace.Remove(gitrepo.LocalStorePath(site.StateHome(), a.Project)); err != nil {
		return err
	}
	crash.Point("remove trial", dir)
	return workspace.Remove(dir)
}

// removeSession removes a session of a trial. One that has not ended is stopped first, as by a person.
func removeSession(ctx context.Context, s *site.Site, e session.Entry) error {
	if e.State != nil && !host.Removable(e.State) {
		_, err := command.Append(e.Dir, orchestrator.Payload{Name: "stop", Source: "cli", SourceID: "cli/trial"})
		if err == nil {
			_, err = s.Host.Run(ctx, host.RunSpec{Dir: e.Dir, Config: s.Config})
		}
		if err != nil {
			s.Host.Log.Warn("a session of a trial did not end", "err", err)
		}
	}
	if _, err := s.Host.Remove(ctx, e.Dir, s.Config); err == nil {
		return nil
	}
	// What cannot be removed in order, such as a damaged session, still must not run. What it had elsewhere goes by what
	// was noted of it when it was made.
	if _, err := s.Host.End(ctx, e.Dir); err != nil {
		return err
	}
	made := register.Open(site.StateHome())
	for _, n := range made.At(e.Dir) {
		homes := place.Of(e.Dir, &orchestrator.State{Identity: n.ID}).Homes(site.StateHome())
		if err := errors.Join(workspace.Remove(homes), made.Remove(n.ID)); err != nil {
			return err
		}
	}
	return nil
}
