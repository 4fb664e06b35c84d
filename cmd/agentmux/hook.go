package main

import (
	"os"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/monitor"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
	"github.com/spf13/cobra"
)

// hookCommand is what the CLIs of agents call at their events. It always ends
// with 0 and prints valid JSON: a hook that fails would stop the agent.
func (a *app) hookCommand() *cobra.Command {
	f := &callerFlags{}
	cmd := &cobra.Command{
		Use: "hook EVENT", Short: "Record an event of an agent's CLI", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			answer := []byte("{}\n")
			if who, err := f.caller(a); err == nil {
				answer = a.hook(who, args[0])
			}
			_, _ = a.out.Write(answer)
			return nil
		},
	}
	f.add(cmd)
	return hidden(cmd)
}

func (a *app) hook(who tools.Caller, event string) []byte {
	sess, err := session.Open(who.Dir)
	if err != nil {
		return []byte("{}\n")
	}
	dir := sess.Path(session.LaunchesDir, who.Launch)
	if _, err := os.Stat(dir); err != nil {
		return []byte("{}\n")
	}
	answer, err := agent.Record(dir, event, a.in, time.Now(), func() (agent.Instruction, error) {
		waiting, err := tools.Waiting(who)
		if err != nil || len(waiting) == 0 {
			return agent.Instruction{}, err
		}
		return agent.Instruction{Text: tools.Line(who.Dir, waiting[0]), ID: strconv.Itoa(waiting[0].Seq)}, nil
	})
	if err != nil {
		a.say("hook %s: %v", event, err)
	}
	return answer
}

func (a *app) monitorCommand() *cobra.Command {
	return group(groupStart, &cobra.Command{
		Use:     "monitor [S]",
		Short:   "Watch a session live and answer its gates and questions",
		Example: "  agentmux monitor '#42'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, err := a.find(args, nil)
			if err != nil {
				return err
			}
			if entry.Err != nil {
				return entry.Err
			}
			if !a.terminal {
				return usageText("the monitor needs a terminal; agentmux status " + entry.Name + " works without")
			}
			return monitor.Run(cmd.Context(), monitor.Options{
				Dir: entry.Dir, In: a.in, Out: a.out, Shown: a.shown(),
				Send: func(p orchestrator.Payload) error {
					p.Actor, p.SourceID = actor(), "monitor/"+randomID()
					if _, err := tools.AppendCommand(entry.Dir, p); err != nil {
						return err
					}
					return a.wakeParked(cmd.Context(), entry, p.Name)
				},
			})
		},
	})
}
