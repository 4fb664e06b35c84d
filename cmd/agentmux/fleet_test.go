package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// fleet are sessions of one clone whose only agent is at work and says nothing.
type fleet struct {
	*rig
	dirs  []string
	host  *exec.Cmd        // of all of them, nil when none runs
	ended *os.ProcessState // of a host that has ended by itself
}

// idlePlaybook has every agent be at work for good.
const idlePlaybook = "version: 1\nagents: [{steps: [{hang: true}]}]\n"

// newFleet makes n sessions, each with a live agent and no host.
func newFleet(tb testing.TB, n int) *fleet {
	tb.Helper()
	return manned(tb, newRig(tb, rigOptions{playbook: idlePlaybook}), n, "--headless", "--no-mirror")
}

// manned makes n sessions of a rig without sessions, each with a live agent and
// no host.
func manned(tb testing.TB, r *rig, n int, args ...string) *fleet {
	tb.Helper()
	for range n - 1 {
		r.github.Repo(rigRepo).AddIssue(fakehub.IssueSpec{Title: "Say two", Body: "Soon.", Author: rigOwner, Labels: []string{"agentmux"}})
	}
	f := &fleet{rig: r}
	tb.Cleanup(f.end)
	const atOnce = 4
	turns := make(chan struct{}, atOnce)
	var making sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		turns <- struct{}{}
		making.Go(func() {
			errs[i] = r.startAndKill(i+1, args...)
			<-turns
		})
	}
	making.Wait()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
	for _, e := range r.sessions() {
		f.dirs = append(f.dirs, e.Dir)
	}
	if len(f.dirs) != n {
		tb.Fatalf("%d sessions, want %d", len(f.dirs), n)
	}
	return f
}

// startAndKill starts the session of an issue and kills its host once the agent works.
func (r *rig) startAndKill(issue int, args ...string) error {
	cmd := r.command(append([]string{"issue", strconv.Itoa(issue)}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	err := await(func() bool {
		// By its name: to list all sessions means to read all of them.
		dirs, err := filepath.Glob(filepath.Join(r.clone, ".agentmux", ".sessions", fmt.Sprintf("*-issue-%d-*", issue)))
		if err != nil || len(dirs) == 0 {
			return false
		}
		sess, err := session.Open(dirs[0])
		if err != nil {
			return false
		}
		s, err := sess.ReadState()
		return err == nil && len(s.Agents) > 0 && len(s.Pending) == 0
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed
	if err != nil {
		return fmt.Errorf("issue %d: %w\n%s", issue, err, out.String())
	}
	return nil
}

// await looks until done says yes, at most for runLimit.
func await(done func() bool) error {
	deadline := time.NewTimer(runLimit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline.C:
			return errors.New("did not happen in time")
		case <-tick.C:
		}
	}
	return nil
}

// hostMany is the argument by which the test binary hosts several sessions.
const hostMany = "bench-host"

// takeUp starts one process that hosts all sessions.
func (f *fleet) takeUp() {
	f.t.Helper()
	f.host = f.command(append([]string{hostMany}, f.dirs...)...)
	f.host.Stderr = os.Stderr
	if err := f.host.Start(); err != nil {
		f.t.Fatal(err)
	}
}

// drop ends the host with SIGKILL; the agents continue.
func (f *fleet) drop() {
	if f.host != nil {
		_ = f.host.Process.Kill()
		_ = f.host.Wait() // killed
		f.host = nil
	}
}

// hostSessions is the process of takeUp: every session in one process with one GitHub
// client, as a daemon hosts them. It ends with a signal only.
func hostSessions(dirs []string) int {
	a := newApp(console.System())
	a.Project = filepath.Dir(filepath.Dir(filepath.Dir(dirs[0])))
	a.LogLevel = "warn"
	s, err := a.Open(context.Background(), &hostlog.Log{Terminal: a.Err})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exit.Failed
	}
	var all sync.WaitGroup
	for _, dir := range dirs {
		all.Go(func() {
			if _, err := s.Host.Run(context.Background(), host.RunSpec{Dir: dir, Config: s.Config}); err != nil {
				fmt.Fprintln(os.Stderr, dir, err)
			}
		})
	}
	all.Wait()
	return exit.Done
}

// tell gives every session the same command.
func (f *fleet) tell(name string) {
	f.t.Helper()
	for _, dir := range f.dirs {
		if _, err := command.Append(dir, orchestrator.Payload{Name: name, Actor: rigOwner, Source: "cli"}); err != nil {
			f.t.Fatal(err)
		}
	}
}

// awaitPaused returns when every session has committed that it is paused, or is not.
func (f *fleet) awaitPaused(paused bool) {
	f.t.Helper()
	left := f.dirs
	err := await(func() bool {
		// One after the other: to look at all of them time and again would take from the
		// host what is measured.
		for len(left) > 0 {
			sess, err := session.Open(left[0])
			if err != nil {
				return false
			}
			if s, err := sess.ReadState(); err != nil || s.Paused != paused {
				return false
			}
			left = left[1:]
		}
		return true
	})
	if err != nil {
		f.t.Fatalf("%d sessions are not paused=%v: %v", len(left), paused, err)
	}
}

// agents are the processes at work: agent-exec of each session, which the host started
// once and must not start again.
func (f *fleet) agents() []int {
	f.t.Helper()
	var pids []int
	for _, dir := range f.dirs {
		launches, err := filepath.Glob(filepath.Join(dir, session.LaunchesDir, "*"))
		sess, openErr := session.Open(dir)
		if err := errors.Join(err, openErr); err != nil {
			f.t.Fatal(err)
		}
		if len(launches) != 1 {
			f.t.Fatalf("%s: %d launches, want 1", filepath.Base(dir), len(launches))
		}
		for _, info := range sess.ReadRuntime().Launches {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", info.PID)); err != nil {
				f.t.Fatalf("%s: agent: %v", filepath.Base(dir), err)
			}
			pids = append(pids, info.PID)
		}
	}
	return pids
}

// end stops the agents, which would outlive the benchmark.
func (f *fleet) end() {
	f.drop()
	for _, e := range slices.Concat(f.sessions(), f.served(rigRepo)) {
		sess, err := session.Open(e.Dir)
		if err != nil {
			continue
		}
		for _, info := range sess.ReadRuntime().Launches {
			if p, err := os.FindProcess(info.PID); err == nil {
				_ = p.Signal(os.Interrupt) // agent-exec hands it on, and ends with its program
			}
		}
	}
}
