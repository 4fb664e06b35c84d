package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/monitor"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
	"github.com/spf13/cobra"
)

// hookCommand is what the CLIs of agents call at their events. It always ends
// with 0 and prints valid JSON: a hook that fails would stop the agent.
func newHookCmd(a *app) *cobra.Command {
	f := &callerFlags{}
	cmd := &cobra.Command{
		Use: "hook EVENT", Short: "Record an event of an agent's CLI", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			answer := []byte("{}\n")
			if who, err := f.caller(a); err == nil {
				answer = answerHook(a, who, args[0])
			}
			_, _ = a.Raw.Write(answer)
			return nil
		},
	}
	f.add(cmd)
	return hidden(cmd)
}

func answerHook(a *app, who tools.Caller, event string) []byte {
	sess, err := session.Open(who.Dir)
	if err != nil {
		return []byte("{}\n")
	}
	dir := sess.Path(session.LaunchesDir, who.Launch)
	if _, err := os.Stat(dir); err != nil {
		return []byte("{}\n")
	}
	answer, err := agent.Record(dir, event, a.In, time.Now(), func() (agent.Instruction, error) {
		waiting, err := tools.Waiting(who)
		if err != nil || len(waiting) == 0 {
			return agent.Instruction{}, err
		}
		return agent.Instruction{Text: tools.Line(who.Dir, waiting[0]), ID: strconv.Itoa(waiting[0].Seq)}, nil
	})
	if err != nil {
		a.Say("hook %s: %v", event, err)
	}
	return answer
}

func newMonitorCmd(a *app) *cobra.Command {
	control := false
	cmd := &cobra.Command{
		Use:     "monitor [S]",
		Short:   "Watch a session live and answer its gates and questions",
		Example: "  agentmux monitor '#42'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, err := a.Find(args, nil)
			if err != nil {
				return err
			}
			if entry.Err != nil {
				return entry.Err
			}
			if !a.Terminal {
				return exit.UsageText("the monitor needs a terminal; agentmux status " + entry.Name + " works without")
			}
			return monitor.Run(cmd.Context(), monitor.Options{
				Dir: entry.Dir, In: a.In, Out: a.Raw, Shown: a.Shown(), Detach: detacher(cmd.Context(), entry, control),
				Changes: func(s *orchestrator.State) string {
					return changesText(cmd.Context(), a, session.Entry{Name: entry.Name, Dir: entry.Dir, State: s})
				},
				Send: func(p orchestrator.Payload) (string, error) {
					if err := typedHere(cmd.Context(), entry, control); err != nil {
						return "", err
					}
					p.Actor, p.SourceID, p.PID, p.Origin = actor(), "monitor/"+randomID(), os.Getpid(), origin()
					return send(cmd.Context(), a, entry, p)
				},
			})
		},
	}
	cmd.Flags().BoolVar(&control, "control", false, "this is the window of the session's own tmux")
	_ = cmd.Flags().MarkHidden("control") // it is there
	return group(groupStart, cmd)
}

// detacher takes the person's terminal off a session's own tmux; nil for a monitor elsewhere.
func detacher(ctx context.Context, e session.Entry, control bool) func() error {
	if !control {
		return nil
	}
	return func() error {
		sess, err := session.Open(e.Dir)
		if err != nil {
			return err
		}
		server, err := openServer(ctx, socketOf(e.Dir, e.State, sess.ReadRuntime()))
		if err != nil {
			return err
		}
		return server.Detach(ctx)
	}
}

// typedBefore is how long before a command a terminal must have been typed at: tmux counts
// seconds, and the command follows its key at once.
const typedBefore = 3 * time.Second

// typedHere refuses a command of the window that every process of this user can type into over
// the socket of tmux, unless a person has just typed at a terminal that shows it.
func typedHere(ctx context.Context, e session.Entry, control bool) error {
	if !control {
		return nil
	}
	since := time.Now().Add(-typedBefore)
	sess, err := session.Open(e.Dir)
	if err != nil {
		return err
	}
	server, err := openServer(ctx, socketOf(e.Dir, e.State, sess.ReadRuntime()))
	if err != nil {
		return err
	}
	typed, err := server.Typed(ctx, since)
	if err == nil && !typed {
		err = errors.New("no terminal has typed this; agentmux attach " + e.Name)
	}
	return err
}
