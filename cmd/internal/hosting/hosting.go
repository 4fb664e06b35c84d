// Package hosting runs hosts of sessions for a command: in this process, or detached in one of
// their own; it joins the terminal to a session's tmux and takes it off, and asks a person
// first what a session may do here. A session that was not made on this machine is not touched
// before its person has taken it.
package hosting

import (
	"context"
	"fmt"
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
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// startWait is how long a launcher waits for a detached host's first commit.
const startWait = 5 * time.Second

// Host runs a session in this process and turns its outcome into an exit code.
func Host(ctx context.Context, a *site.Finder, s *site.Site, spec host.RunSpec) error {
	spec.Config = s.Config
	if note := show.SetupNote(site.ProjectOf(session.Entry{Dir: spec.Dir}), s.Config); note != "" {
		a.Say("%s", note)
	}
	told, err := narrate(a, s, &spec)
	if err != nil {
		return err
	}
	last, err := s.Host.Run(ctx, spec)
	told()
	if err != nil {
		return site.ExplainRun(err)
	}
	if !s.Log.Plain {
		show.TellEnd(ctx, a, spec.Dir, last)
	}
	return exit.Quiet(outcomeCode(last))
}

func outcomeCode(s *orchestrator.State) int {
	switch s.Outcome {
	case orchestrator.OutcomeDone:
		return exit.Done
	case orchestrator.OutcomeNeedsHuman:
		return exit.NeedsHuman
	case orchestrator.OutcomeCanceled:
		return exit.Canceled
	}
	return exit.Failed
}

// Foreground hosts an existing session for the person at this terminal.
func Foreground(ctx context.Context, a *site.Finder, dir string, spec host.RunSpec) error {
	if err := Trusted(ctx, a, dir, spec.Backup); err != nil {
		return err
	}
	log := &hostlog.Log{Terminal: a.Err}
	if err := log.Keep(filepath.Join(dir, session.HostLog)); err != nil {
		return err
	}
	return RunSession(ctx, a, dir, spec, log)
}

// RunSession hosts an existing session in this process.
func RunSession(ctx context.Context, a *site.Finder, dir string, spec host.RunSpec, log *hostlog.Log) error {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	a.Project = sess.Project()
	s, err := a.Open(ctx, log)
	if err != nil {
		return err
	}
	state, err := readSession(sess, spec.Backup)
	if err != nil {
		return err
	}
	if state.GHAvailable == nil || !*state.GHAvailable {
		if err := a.Wire(ctx, s, log, false); err != nil {
			return err
		}
	}
	spec.Dir = sess.Dir
	spec.Mirror.On = state.Mirror
	return Host(ctx, a, s, spec)
}

// readSession reads the state a host will begin with.
func readSession(sess *session.Session, backup bool) (*orchestrator.State, error) {
	if backup {
		return sess.ReadBackup()
	}
	return sess.ReadState()
}

// Detach starts a host in a session of its own and waits for its first commit.
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
	argv := append([]string{"session", "run", dir}, args...)
	for flag, value := range map[string]string{"--config": a.ConfigFile, "--log-level": a.LogLevel, "--log-format": string(a.Format)} {
		if value != "" {
			abs := value
			if flag == "--config" {
				if abs, err = filepath.Abs(value); err != nil {
					return err
				}
			}
			argv = append(argv, flag, abs)
		}
	}
	token, err := s.Identity.Hand(ctx)
	if err != nil {
		return err
	}
	if token != "" {
		argv = append(argv, "--token-stdin")
	}
	cmd, err := startDetached(own, argv, sess.Path(session.HostLog), token)
	if err != nil {
		return fmt.Errorf("start host: %w", err)
	}
	return awaitHost(ctx, a, sess, before.Seq, cmd)
}

func startDetached(own string, argv []string, logFile, token string) (*exec.Cmd, error) {
	log, err := session.OpenLog(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(own, argv...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if token != "" {
		cmd.Stdin = strings.NewReader(token + "\n")
	}
	done, err := shield.Seal(cmd, os.Environ())
	if err != nil {
		return nil, err
	}
	defer done()
	return cmd, cmd.Start()
}

// awaitHost returns once the host committed something, or says why it did not.
func awaitHost(ctx context.Context, a *site.Finder, sess *session.Session, seq int, cmd *exec.Cmd) error {
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state and the log say how it went
		close(ended)
	}()
	deadline := time.NewTimer(startWait)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s, err := sess.ReadState(); err == nil && s.Seq > seq {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case <-ended:
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
	if last := lines[len(lines)-1]; last != "" {
		return last
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

// Announce says where a session can be watched.
func Announce(a *site.Finder, dir string, log *slog.Logger) {
	name := filepath.Base(dir)
	log.Info("session", "session", name, "attach", "agentmux attach "+name, "status", "agentmux status "+name)
	if a.LogAs() == hostlog.Lines {
		a.Say("agentmux attach %s watches it, agentmux status %s says where it is", name, name)
	}
}

// EndAgents ends the agents and the server of a session that nobody can read, and says so.
func EndAgents(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry) error {
	ended, err := s.Host.End(ctx, e.Dir)
	if err != nil {
		return err
	}
	a.Say("%s of its agents and its tmux server are ended; its files stay: %v", console.Counted(ended, "process", "processes"), e.Err)
	return nil
}
