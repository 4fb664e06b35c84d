package main

import (
	"os"
	"slices"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/shield"
)

// longLived are the commands that stay as long as a session, or start what does.
var longLived = []string{"issue", "run", "resume", "session", "agents", "bot"}

// conceal hides what this process knows from the agents, which run as the same user. No other
// process may read its memory, and in a process that lives long, the variables that the kernel
// shows hold no secret. The tools of agents and the monitor have nothing to hide, and tmux could
// no longer read the directory of the monitor's pane.
func conceal(args []string) error {
	if os.Getenv("AGENTMUX_MARK") != "" || len(args) > 1 && args[1] == "monitor" {
		return nil
	}
	sealed, err := shield.Unseal()
	if err != nil {
		return err
	}
	if !sealed && slices.ContainsFunc(args[1:], func(word string) bool { return slices.Contains(longLived, word) }) {
		own, err := site.Self()
		if err != nil {
			return err
		}
		if err := shield.Restart(own, args); err != nil {
			return err
		}
	}
	return shield.Close()
}
