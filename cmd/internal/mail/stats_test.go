package mail_test

import (
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/mail"
	"github.com/agentmux/agentmux/orchestrator/folder"
	"github.com/agentmux/agentmux/workflows/message"
)

// Whom a file alone names as its sender is not counted as a sender.
func TestClaimedSendersAreMarkedInTheCounts(t *testing.T) {
	from := func(agent string, claimed bool) folder.Entry {
		return folder.Entry{Claimed: claimed, Message: message.Message{From: message.Address{Mesh: "shop", Agent: agent}}}
	}
	c := mail.Count([]folder.Entry{from("api", false), from("api", true), from("api", false), from("page", true), from("web", false)})
	for agent, want := range map[string]string{"shop/api": "3 (1 claimed)", "shop/page": "1 (claimed)", "shop/web": "1"} {
		if got := c.Agents[agent].SentText(); got != want {
			t.Errorf("%s sent %q, want %q", agent, got, want)
		}
	}
	if n := c.Agents["shop/api"]; n.Sent != 3 || n.Claimed != 1 {
		t.Errorf("%+v", n)
	}
}
