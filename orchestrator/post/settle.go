package post

import (
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
)

// maxEnded is how many messages that have ended stay in the state, for those who list the last ones.
const maxEnded = 20

// Live reports whether something may still become of a message.
func Live(m orchestrator.Message) bool {
	return m.Open || m.State == orchestrator.MessageQueued || m.State == orchestrator.MessageDelivered
}

// Settle takes the messages that have ended out of the state, but for the last ones, and returns them
// in their order.
func Settle(s *orchestrator.State) []orchestrator.Message {
	ended := -maxEnded
	for i := range s.Messages {
		if !Live(s.Messages[i]) {
			ended++
		}
	}
	if ended <= 0 {
		return nil
	}
	var gone []orchestrator.Message
	s.Messages = slices.DeleteFunc(s.Messages, func(m orchestrator.Message) bool {
		if Live(m) || len(gone) == ended {
			return false
		}
		gone = append(gone, m)
		return true
	})
	return gone
}
