package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/host"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

// halfMadeAge is how old a directory of an interrupted creation must be to go.
const halfMadeAge = time.Hour

func (a *app) cleanCommand() *cobra.Command {
	var force bool
	var olderThan time.Duration
	cmd := &cobra.Command{
		Use:     "clean",
		Short:   "Remove ended sessions and their workspaces, never running ones",
		Example: "  agentmux clean\n  agentmux clean --older-than 168h --force",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.clean(force, olderThan) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "do not ask")
	cmd.Flags().DurationVar(&olderThan, "older-than", 0, "only sessions that ended this long ago")
	return group(groupSetup, cmd)
}

func (a *app) clean(force bool, olderThan time.Duration) error {
	project, err := a.projectDir()
	if err != nil {
		return err
	}
	entries, err := session.List(project)
	if err != nil {
		return err
	}
	var gone []session.Entry
	for _, e := range entries {
		if cleanable(e) && time.Since(endedAt(e)) >= olderThan {
			gone = append(gone, e)
			a.print("%s  %s", e.Name, e.Condition())
		}
	}
	half := halfMade(project)
	if len(gone)+len(half) == 0 {
		a.say("nothing to remove")
		return nil
	}
	if !force {
		if err := a.confirm(fmt.Sprintf("Remove %d sessions and their workspaces?", len(gone))); err != nil {
			return err
		}
	}
	for _, e := range gone {
		if err := removeSession(e); err != nil {
			return err
		}
	}
	for _, dir := range half {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	a.say("removed %d sessions", len(gone))
	return nil
}

// cleanable reports whether a session ended for good: a failed one can be
// resumed, but is a person's to throw away; a parked one holds work in progress.
func cleanable(e session.Entry) bool {
	return e.State != nil && !e.Running && (e.State.Phase == orchestrator.PhaseDone || e.State.Phase == orchestrator.PhaseFailed)
}

func endedAt(e session.Entry) time.Time {
	at, err := time.Parse(time.RFC3339, e.State.UpdatedAt)
	if err != nil {
		return time.Time{}
	}
	return at
}

func halfMade(project string) []string {
	found, _ := filepath.Glob(filepath.Join(session.Dir(project), "*.tmp-*"))
	var old []string
	for _, dir := range found {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > halfMadeAge {
			old = append(old, dir)
		}
	}
	return old
}

// confirm asks a person; without a terminal --force is needed.
func (a *app) confirm(question string) error {
	if !a.terminal {
		return usageText("there is no terminal to ask at; add --force")
	}
	fmt.Fprint(a.err, question+" [y/N] ")
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil {
		return err
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("nothing was removed")
	}
	return nil
}

// removeSession removes a session's directory and its workspaces. Work that was
// not integrated stays under the host repository's preserved refs.
func removeSession(e session.Entry) error {
	s, err := session.Open(e.Dir)
	if err != nil {
		return err
	}
	if err := s.Lock(0); err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // its directory is gone by then
	for _, w := range e.State.Workspaces {
		if w.Path == "" || filepath.Base(filepath.Dir(w.Path)) != e.Name {
			continue
		}
		if err := errors.Join(gitrepo.RemoveWorkspace(w.Path), os.RemoveAll(filepath.Dir(w.Path))); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(host.Homes(stateHome(), e.Dir)); err != nil {
		return err
	}
	return os.RemoveAll(e.Dir)
}
