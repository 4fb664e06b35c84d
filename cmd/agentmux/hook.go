package main

import (
	"os"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/monitor"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
	"github.com/spf13/cobra"
)

// newHookCmd is what the CLIs of agents call at their events. It always ends
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
				Dir: entry.Dir, In: a.In, Out: a.Raw, Shown: a.Shown(), Detach: hosting.Detacher(cmd.Context(), entry, control),
				Changes: func(s *orchestrator.State) string {
					return show.ChangesText(cmd.Context(), a, session.Entry{Name: entry.Name, Dir: entry.Dir, State: s})
				},
				Send: func(p orchestrator.Payload) (string, error) {
					if err := hosting.TypedHere(cmd.Context(), entry, control); err != nil {
						return "", err
					}
					p.Actor, p.SourceID, p.PID, p.Origin = steer.Actor(), "monitor/"+steer.RandomID(), os.Getpid(), steer.Origin()
					return steer.Send(cmd.Context(), a, entry, p)
				},
			})
		},
	}
	cmd.Flags().BoolVar(&control, "control", false, "this is the window of the session's own tmux")
	_ = cmd.Flags().MarkHidden("control") // it is there
	return group(groupStart, cmd)
}
