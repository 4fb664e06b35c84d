package main

import (
	"os"
	"slices"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/shield"
)

// longLived are the commands that stay as long as a session, or start what does.
var longLived = []string{"issue", "run", "resume", "session", "agents", "bot"}

// conceal keeps what this process knows from the agents, who run as the same user: nobody
// may read its memory, and where it stays for long, the list of variables that the kernel
// shows holds none of a secret. The tools of agents have nothing to hide, and neither has the
// monitor: tmux could not say any more in which directory its pane runs.
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
