package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
	"github.com/agentmux/agentmux/workflows"
	"github.com/spf13/cobra"
)

func newAttachCmd(a *app) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:     "attach [S] [ROLE]",
		Short:   "Join a session's tmux; detaching changes nothing",
		Example: "  agentmux attach\n  agentmux attach '#42' coder",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, err := findFor(cmd.Context(), a, "attach", args[:min(len(args), 1)], live)
			if exit.As[*session.NotFoundError](err) && len(args) == 1 && slices.Contains(workflows.Roles(), args[0]) {
				return exit.Usage(fmt.Errorf("no session %q; agentmux attach --role %s shows that agent of the only session", args[0], args[0]))
			}
			if err != nil {
				return err
			}
			if len(args) == 2 {
				role = args[1]
			}
			if !a.Terminal {
				return exit.UsageText("attach needs a terminal; agentmux status " + entry.Name + " and agentmux logs " + entry.Name + " work without")
			}
			return attach(cmd.Context(), a, entry, role)
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "show this agent's window, as `role` or role/task")
	return group(groupStart, cmd)
}

// attach gives the terminal to tmux until the person detaches.
func attach(ctx context.Context, a *app, e session.Entry, role string) error {
	if e.Err != nil {
		return e.Err
	}
	s, err := session.Open(e.Dir)
	if err != nil {
		return err
	}
	runtime := s.ReadRuntime()
	server, err := openServer(ctx, socketOf(e.Dir, e.State, runtime))
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
		return fmt.Errorf("attach: %w", err)
	}
	return farewell(ctx, a, e, server)
}

// noTmux says why there is nothing to attach to. While a host still shows the end of its
// session nobody could resume that.
func noTmux(e session.Entry) error {
	switch {
	case ending(e):
		return fmt.Errorf("%s is ending and its agents are gone; agentmux status %s says how it ended", e.Name, e.Name)
	case e.Running:
		return fmt.Errorf("%s has no tmux session at the moment; agentmux logs %s --follow shows what its host does", e.Name, e.Name)
	case e.State.Phase == orchestrator.PhaseDone:
		return fmt.Errorf("%s is done and its agents are gone; agentmux status %s says how it ended", e.Name, e.Name)
	}
	return fmt.Errorf("%s has no tmux session now; agentmux resume %s", e.Name, e.Name)
}

func openServer(ctx context.Context, socket string) (*tmux.Server, error) {
	if socket == "" {
		return nil, tmux.ErrNoServer
	}
	server, err := tmux.New(tmux.Options{Socket: socket})
	if err != nil {
		return nil, err
	}
	_, err = server.Started(ctx)
	return server, err
}

// farewell says where the session stands after a person has left its tmux, and
// ends the server of one that needs none any more.
func farewell(ctx context.Context, a *app, e session.Entry, server *tmux.Server) error {
	now, err := session.Find(site.ProjectOf(e), e.Name, nil)
	if err != nil || now.State == nil {
		return err
	}
	if !now.State.Ended() || now.Running {
		printStatus(ctx, a, a.Err, now)
		return nil
	}
	defer tellEnd(ctx, a, now.Dir, now.State) // the server is gone by then
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
	if pane, ok := r.Panes[role]; ok {
		return pane, nil
	}
	for key, pane := range r.Panes {
		if name, _ := orchestrator.SplitKey(key); name == role && s.Agents[key].Launch != "" {
			return pane, nil
		}
	}
	return "", exit.Usage(fmt.Errorf("no pane of %q; agentmux status shows who is at work", role))
}

// terminalEnvironment is what tmux needs to draw here. A client gives all its variables to
// the server, whose memory any agent can read, and TMUX would keep it from attaching.
func terminalEnvironment(environ []string) []string {
	return slices.DeleteFunc(shield.Clean(environ), func(kv string) bool {
		return strings.HasPrefix(kv, "TMUX=") || strings.HasPrefix(kv, "TMUX_PANE=")
	})
}

func newLogsCmd(a *app) *cobra.Command {
	var follow bool
	last := -1
	cmd := &cobra.Command{
		Use:     "logs [S]",
		Short:   "Show the log of a session's host",
		Example: "  agentmux logs --follow\n  agentmux logs -n 50",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("lines") && last < 0 {
				return exit.Usage(fmt.Errorf("--lines: expected a number of lines, found %d", last))
			}
			entry, err := a.Find(args, nil)
			if err != nil {
				return err
			}
			s, err := session.Open(entry.Dir)
			if err != nil {
				return err
			}
			return copyLog(cmd.Context(), a, s, last, follow)
		},
	}
	cmd.Flags().IntVarP(&last, "lines", "n", -1, "only the last `N` lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as the log grows, until the host ends")
	return group(groupStart, cmd)
}

func copyLog(ctx context.Context, a *app, s *session.Session, last int, follow bool) error {
	f, err := session.ReadLog(s.Path(session.HostLog))
	if errors.Is(err, os.ErrNotExist) {
		a.Say("no log yet")
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if last >= 0 {
		if err := hostlog.SeekLines(f, last); err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.Copy(a.Out, f); err != nil {
			return err
		}
		if !follow || !session.Running(s.Dir) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
