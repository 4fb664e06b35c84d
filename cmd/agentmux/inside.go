package main

import (
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/spf13/cobra"
)

// forPeople are the commands, besides those that steer, that an agent may not use: with them it
// would decide about its own session or another one.
var forPeople = []string{"msg ack", "msg retry", "resume", "clean", "attach", "monitor", "session run", "agents start", "agents done", "agents cleanup"}

// refuseAgents refuses a command of a person that an agent has started. An agent has commands of its
// own, and those identify it.
func refuseAgents(cmd *cobra.Command) error {
	name := commandName(cmd)
	if cmd.GroupID != groupSteer && !slices.Contains(forPeople, name) {
		return nil
	}
	return refuseInside(name)
}

// refuseInside refuses what only a person may do, if an agent has started this process.
func refuseInside(name string) error {
	if pid, inside := process.Inside(); inside {
		return exit.Usage(fmt.Errorf("%s is for a person: process %d, from which it was started, belongs to an agent; "+
			"type it in a terminal of your own. An agent has agentmux submit, ask and report", name, pid))
	}
	return nil
}

// commandName is the command without the name of the program.
func commandName(cmd *cobra.Command) string {
	if cmd.HasParent() && cmd.Parent().HasParent() {
		return commandName(cmd.Parent()) + " " + cmd.Name()
	}
	return cmd.Name()
}
