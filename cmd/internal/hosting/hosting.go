// Package hosting runs hosts of sessions for a command: in this process, or detached in one of
// their own, which gets what its launcher has read as a document on its standard input. The
// package attaches the terminal to a session's tmux and detaches it, and asks a person first
// what a session may do here. It does not touch a session that was made on another machine
// before a person has taken it over.
package hosting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// startWait is how long a launcher waits for a detached host's first commit.
const startWait = time.Minute

// Host runs a session in this process and turns its outcome into an exit code.
func Host(ctx context.Context, a *site.Finder, s *site.Site, spec host.RunSpec) error {
	spec.Config = s.Config
	if note := show.SetupNote(site.ProjectOf(session.Entry{Dir: spec.Dir}), s.Config); note != "" {
		a.Say("%s", note)
	}
	result := filepath.Join(spec.Dir, outcome.File)
	if err := os.Remove(result); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an earlier run
		return err
	}
	told, err := narrate(a, s, &spec)
	if err != nil {
		return err
	}
	state, err := runClaimed(ctx, a, s, spec)
	told()
	if err != nil {
		return site.ExplainRun(err)
	}
	if !s.Log.Plain {
		show.TellEnd(ctx, a, spec.Dir, state)
	}
	code := outcomeCode(state)
	if !state.Interactive {
		if err := leave(ctx, spec.Dir, result, code); err != nil {
			a.Say("%s is not written: %v", outcome.File, err)
		}
	}
	return exit.Quiet(code)
}

// leave writes for programs how a session without a person ended.
func leave(ctx context.Context, dir, file string, code int) error {
	sess, s, err := outcome.Open(dir)
	if err != nil {
		return err
	}
	st := show.Tell(ctx, session.Entry{Name: filepath.Base(dir), Dir: dir, State: s})
	r := outcome.Result{ExitCode: code, Repo: string(s.Repo), Issue: s.IssueNumber, Next: st.Next()}
	if err := r.OfSession(sess, s, st); err != nil {
		return err
	}
	return r.Write(file)
}

func outcomeCode(s *orchestrator.State) int {
	switch s.Outcome {
	case orchestrator.OutcomeDone:
		return exit.Done
	case orchestrator.OutcomeNeedsHuman:
		return exit.NeedsHuman
	case orchestrator.OutcomeCanceled:
		if s.OutcomeReason == orchestrator.ReasonClaimLost {
			return exit.Locked
		}
		return exit.Canceled
	}
	return exit.Failed
}

// Foreground hosts an existing session of a site for the person at this terminal. The caller has
// asked Trusted or Believes about the session.
func Foreground(ctx context.Context, a *site.Finder, s *site.Site, dir string, spec host.RunSpec) error {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	if s.Log == nil { // not connected yet
		if err := a.Connect(ctx, s, &hostlog.Log{Terminal: a.Err}); err != nil {
			return err
		}
	}
	if err := s.Log.Keep(sess.Path(session.HostLog)); err != nil {
		return err
	}
	return runSession(ctx, a, s, sess, spec)
}

// RunSession hosts an existing session in this process, which is a detached host. handed is
// what its launcher has read; nil = it reads for itself.
func RunSession(ctx context.Context, a *site.Finder, dir string, spec host.RunSpec, handed *site.Handed, take bool) error {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	a.Project = sess.Project()
	log := &hostlog.Log{Terminal: a.Err, Plain: true}
	var s *site.Site
	if handed != nil {
		s, err = a.OpenHanded(ctx, log, handed)
	} else {
		s, err = openAlone(ctx, a, log, sess, spec.Backup)
	}
	if err != nil {
		return err
	}
	s.Take = take
	return runSession(ctx, a, s, sess, spec)
}

// openAlone opens the site of a session without what a launcher has read.
func openAlone(ctx context.Context, a *site.Finder, log *hostlog.Log, sess *session.Session, backup bool) (*site.Site, error) {
	s, err := a.Open(ctx, log)
	if err != nil {
		return nil, err
	}
	state, err := readSession(sess, backup)
	if err != nil {
		return nil, err
	}
	return s, a.AtBase(ctx, s, state)
}

// runSession hosts a session, with GitHub if the session was made with it.
func runSession(ctx context.Context, a *site.Finder, s *site.Site, sess *session.Session, spec host.RunSpec) error {
	state, err := readSession(sess, spec.Backup)
	if err != nil {
		return err
	}
	if state.GHAvailable == nil || !*state.GHAvailable {
		if err := a.Wire(ctx, s, s.Log, false); err != nil {
			return err
		}
	}
	spec.Dir = sess.Dir
	spec.Mirror.On = state.Mirror
	return Host(ctx, a, s, spec)
}

// readSession reads the state that a host will begin with.
func readSession(sess *session.Session, backup bool) (*orchestrator.State, error) {
	if backup {
		return sess.ReadBackup()
	}
	return sess.ReadState()
}

// ErrLeft says that a host was started and keeps running, although nobody waits for its first commit any more.
var ErrLeft = errors.New("the host was started and keeps running")

// Detach starts a host in a session of its own and waits for its first commit. A context that ends
// while it waits is ErrLeft; one that has ended before starts no host.
func Detach(ctx context.Context, a *site.Finder, s *site.Site, dir string, args ...string) error {
	own, err := site.Self()
	if err != nil {
		return err
	}
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	before, err := sess.ReadState()
	if err != nil {
		return err
	}
	argv := append([]string{"session", "run", dir, "--handed"}, args...)
	for flag, value := range map[string]string{"--log-level": a.LogLevel, "--log-format": string(a.Format)} {
		if value != "" {
			argv = append(argv, flag, value)
		}
	}
	if s.Take {
		argv = append(argv, "--take")
	}
	handed, err := s.Hand(ctx)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd, err := startDetached(own, argv, sess.Path(session.HostLog), handed)
	if err != nil {
		return fmt.Errorf("start host: %w", err)
	}
	return awaitHost(ctx, a, sess, before.Seq, cmd)
}

// startDetached starts a host. Its standard input is what it is handed, and ends there.
func startDetached(own string, argv []string, logFile string, handed []byte) (*exec.Cmd, error) {
	log, err := session.OpenLog(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(own, argv...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdin = bytes.NewReader(handed)
	done, err := shield.Seal(cmd, os.Environ())
	if err != nil {
		return nil, err
	}
	defer done()
	return cmd, cmd.Start()
}

// awaitHost returns once the host has committed something. The error says why it did not.
func awaitHost(ctx context.Context, a *site.Finder, sess *session.Session, seq int, cmd *exec.Cmd) error {
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state and the log say how it ended
		close(ended)
	}()
	deadline := time.NewTimer(startWait)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s, err := sess.ReadState(); err == nil && s.Seq > seq && session.Holder(sess.Dir).PID == cmd.Process.Pid {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrLeft, ctx.Err())
		case <-tick.C:
		case <-ended:
			if cmd.ProcessState.ExitCode() == exit.Locked && session.Running(sess.Dir) { // another command was first
				return &session.LockedError{Name: sess.Name(), Owner: session.Holder(sess.Dir)}
			}
			if s, err := sess.ReadState(); err == nil && s.Seq > seq {
				return nil
			}
			return fmt.Errorf("the host ended at once: %s", lastLine(sess.Path(session.HostLog)))
		case <-deadline.C:
			return fmt.Errorf("the host did not start within %s: %s", startWait, lastLine(sess.Path(session.HostLog)))
		}
	}
}

func lastLine(file string) string {
	data, _ := session.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if line := lines[len(lines)-1]; line != "" {
		return line
	}
	return "its log is empty"
}

// Wake starts a host for a parked session that has a command to apply.
func Wake(ctx context.Context, a *site.Finder, e session.Entry) error {
	s, err := a.SiteOf(ctx, e)
	if err != nil {
		return err
	}
	return Detach(ctx, a, s, e.Dir)
}

// Announce says how to watch a session.
func Announce(a *site.Finder, dir string, log *slog.Logger) {
	name := filepath.Base(dir)
	log.Info("session", "session", name, "attach", "agentmux attach "+name, "status", "agentmux status "+name)
	if a.LogAs() == hostlog.Lines {
		a.Say("agentmux attach %s watches it, agentmux status %s says where it is", name, name)
	}
}

// EndAgents ends the agents and the server of a session that cannot be read, and says so.
func EndAgents(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry) error {
	ended, err := s.Host.End(ctx, e.Dir)
	if err != nil {
		return err
	}
	a.Say("%s of its agents and its tmux server are ended; its files stay: %v", console.Counted(ended, "process", "processes"), e.Err)
	return nil
}
