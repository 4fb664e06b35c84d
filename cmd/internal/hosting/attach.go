package hosting

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// Attach gives the terminal to tmux until the person detaches. s is the site of the session's
// project, if this process has it already.
func Attach(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry, role string) error {
	if e.Err != nil {
		return e.Err
	}
	sess, err := session.Open(e.Dir)
	if err != nil {
		return err
	}
	runtime := sess.ReadRuntime()
	server, err := site.OpenServer(ctx, site.SocketOf(e.Dir, e.State, runtime))
	if err != nil {
		return noTmux(e)
	}
	target, err := attachTarget(runtime, e.State, role)
	if err != nil {
		return err
	}
	if os.Getenv("TERM") == "" {
		return exit.UsageText("TERM is not set, so tmux cannot draw here; for example TERM=xterm-256color agentmux attach " + e.Name)
	}
	if os.Getenv("TMUX") != "" {
		a.Say("you are inside another tmux: its prefix reaches that one first (press it twice for this session)")
	}
	argv, err := server.AttachArgs(e.State.SessionName, target)
	if err != nil {
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = terminalEnvironment(os.Environ())
	if err := cmd.Run(); err != nil {
		if !vanishes(ctx, server) {
			return fmt.Errorf("attach: %w", err)
		}
		a.Say("the tmux session of %s has ended", e.Name) // as the session has, or by another terminal
	}
	return farewell(ctx, a, s, e, server)
}

// vanishes reports whether a server is gone, or about to be: its clients are told before it is.
func vanishes(ctx context.Context, server *tmux.Server) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for {
		if _, err := server.Started(ctx); errors.Is(err, tmux.ErrNoServer) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// noTmux says why there is nothing to attach to. A session whose host still completes its end
// cannot be resumed.
func noTmux(e session.Entry) error {
	switch {
	case site.Ending(e):
		return fmt.Errorf("%s is ending and its agents are gone; agentmux status %s says how it ended", e.Name, e.Name)
	case e.Running:
		return fmt.Errorf("%s has no tmux session at the moment; agentmux logs %s --follow shows what its host does", e.Name, e.Name)
	case e.State.Phase == orchestrator.PhaseDone:
		return fmt.Errorf("%s is done and its agents are gone; agentmux status %s says how it ended", e.Name, e.Name)
	}
	return fmt.Errorf("%s has no tmux session now; agentmux resume %s", e.Name, e.Name)
}

// farewell prints the status of a session after a person has left its tmux. It ends the server
// of a session that has ended.
func farewell(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry, server *tmux.Server) error {
	now, err := session.Find(site.ProjectOf(e), e.Name, nil)
	if err != nil || now.State == nil {
		return err
	}
	if !now.State.Ended() || now.Running {
		show.PrintStatus(ctx, a, s, a.Err, now)
		return nil
	}
	defer show.TellEnd(ctx, a, now.Dir, now.State) // the server is gone by then
	if err := server.KillServer(ctx); err != nil && !errors.Is(err, tmux.ErrNoServer) {
		return err
	}
	return nil
}

// attachTarget returns the pane of a role, or "" for the window shown last.
func attachTarget(r session.Runtime, s *orchestrator.State, role string) (string, error) {
	if role == "" {
		return "", nil
	}
	if pane, ok := r.Panes[orchestrator.AgentKey(role)]; ok {
		return pane, nil
	}
	for key, pane := range r.Panes {
		if _, task := key.Split(); (key.Role() == role || s.Kind == orchestrator.KindAgents && task == role) && s.Agents[key].Launch != "" {
			return pane, nil
		}
	}
	return "", exit.Usage(fmt.Errorf("no pane of %q; agentmux status shows who is at work", role))
}

// terminalEnvironment returns the variables that tmux needs to draw here. A client gives all its
// variables to the server, whose memory any agent can read, and with TMUX it would not attach.
func terminalEnvironment(environ []string) []string {
	return slices.DeleteFunc(shield.Clean(environ), func(kv string) bool {
		return strings.HasPrefix(kv, "TMUX=") || strings.HasPrefix(kv, "TMUX_PANE=")
	})
}
