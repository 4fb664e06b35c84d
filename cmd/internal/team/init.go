// Package team writes the agents file of a project: from the answers of a person at a terminal,
// or with an agent for each of some issues. It never replaces a file unasked, and what it
// writes is a file that package agents reads without a problem.
//
// Of a run of such a file it shows how far the agents are, marks one by hand, writes down what
// they did, and removes what the run made beside its branches.
package team

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Options are those of agents init.
type Options struct {
	Issues []string // of which each becomes an agent; then nothing is asked
	Force  bool     // replace a file that exists
}

// Init writes the agents file and says so.
func Init(ctx context.Context, a *site.Finder, o Options) error {
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	file, err := a.AgentsFile(project)
	if err != nil {
		return err
	}
	if err := isWithin(project, filepath.Dir(file)); err != nil {
		return err
	}
	switch info, err := os.Lstat(file); {
	case err == nil && info.IsDir():
		return exit.Usage(fmt.Errorf("%s is a directory, not a file", file))
	case err == nil && !o.Force:
		return exists(file)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s cannot be read: %w", file, exit.Bare(err))
	}
	draft := &agents.Team{Session: session.Slug(filepath.Base(project)), WorktreeBase: "..", MainPane: true, Notifications: true}
	switch {
	case len(o.Issues) > 0:
		err = fromIssues(ctx, a, draft, o.Issues)
	case !a.Terminal:
		err = exit.UsageText("there is no terminal to ask at; agentmux agents init --from-issue 1,2 asks nothing and writes an agent for each issue")
	default:
		err = (&questions{ctx: ctx, console: a.Console, team: draft}).ask()
	}
	if err != nil {
		return err
	}
	data := draft.Encode()
	if _, problems := agents.Parse(file, data, agents.Known{}); problems.Err() != nil {
		return fmt.Errorf("check the file before it is written: %w", problems.Err())
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return cannotWrite(file, err)
	}
	if err := isWithin(project, filepath.Dir(file)); err != nil {
		return err // it was exchanged while questions were asked
	}
	if err := write(file, data, o.Force); err != nil {
		return err
	}
	a.Print("wrote %s (%s)", file, console.Counted(len(draft.Agents), "agent", "agents"))
	return nil
}

// isWithin fails unless dir is a directory of the project, or is to be made in one: a repository that names the file must not lead out of itself by a link.
func isWithin(project, dir string) error {
	whole, err := filepath.EvalSymlinks(project)
	if err != nil {
		return err
	}
	at, err := filepath.EvalSymlinks(dir)
	for lacking := dir; errors.Is(err, fs.ErrNotExist); at, err = filepath.EvalSymlinks(lacking) {
		if _, there := os.Lstat(lacking); there == nil {
			return exit.Usage(fmt.Errorf("agents.file: %s is a link that leads nowhere", lacking))
		}
		lacking = filepath.Dir(lacking) // it is made when the file is written
	}
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(whole, at); err != nil || !filepath.IsLocal(rel) {
		return exit.Usage(fmt.Errorf("agents.file: %s leads out of the project", dir))
	}
	return nil
}

func exists(file string) error {
	return exit.Usage(fmt.Errorf("%s exists; --force replaces it", file))
}

// write makes the file. Without force a file that was made meanwhile is left alone. With force
// the old one is there until the new one is complete; a link is replaced, because its target may
// be outside of the project.
func write(file string, data []byte, force bool) error {
	var f *os.File
	var err error
	if force {
		f, err = os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".tmp-*")
	} else {
		f, err = os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	}
	if errors.Is(err, fs.ErrExist) {
		return exists(file)
	}
	if err != nil {
		return cannotWrite(file, err)
	}
	_, err = f.Write(data)
	if force && err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err == nil && force {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return cannotWrite(file, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

func cannotWrite(file string, err error) error {
	return fmt.Errorf("%s cannot be written: %w; make its directory writable for you", file, exit.Bare(err))
}

// ended says that the person closed the input in the middle.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the input ended before the last question, nothing was written")
	}
	return err
}
