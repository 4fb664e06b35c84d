package main

import (
	"os"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
	"github.com/spf13/cobra"
)

// newHookCmd returns the command that the CLIs of agents call at their events. It always ends
// with 0 and prints valid JSON: a hook that fails would stop the agent.
func newHookCmd(a *app) *cobra.Command {
	f := &callerFlags{}
	cmd := &cobra.Command{
		Use: "hook EVENT", Short: "Record an event of an agent's CLI", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer := []byte("{}\n")
			if who, err := f.caller(cmd.Context(), a); err == nil {
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
	dir := sess.Path(session.LaunchesDir, string(who.Launch))
	if _, err := os.Stat(dir); err != nil {
		return []byte("{}\n")
	}
	answer, err := signal.Record(dir, event, a.In, time.Now(), func() (signal.Instruction, error) {
		waiting, err := tools.Waiting(who)
		if err != nil || len(waiting) == 0 {
			return signal.Instruction{}, err
		}
		return signal.Instruction{Text: tools.Line(who.Dir, waiting[0]), ID: strconv.Itoa(waiting[0].Seq)}, nil
	})
	if err != nil {
		a.Say("hook %s: %v", event, err)
	}
	return answer
}
