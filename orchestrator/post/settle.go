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

// maxLive is how many messages of one agent may wait to be read. All of them are in the state, which
// each commit writes.
const maxLive = 10_000

// Full reports whether so many messages of an agent wait that no more are taken. What the session
// tells it counts with them, as of a rejection there is one for each message. more are on their way.
func Full(s *orchestrator.State, address string, more int) bool {
	n := more
	if n+len(s.Messages) < maxLive {
		return false
	}
	for i := range s.Messages {
		if m := &s.Messages[i]; Live(*m) && (m.From == address || m.From == System && m.To == address) {
			n++
		}
	}
	return n >= maxLive
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
