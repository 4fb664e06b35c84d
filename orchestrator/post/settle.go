package post

import (
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// maxEnded is how many messages that have ended stay in the state, for those who list the last ones.
const maxEnded = 20

// Live reports whether something may still become of a message.
func Live(m orchestrator.Message) bool {
	return m.Open || m.State == orchestrator.MessageQueued || m.State == orchestrator.MessageDelivered
}

// All that is live is in the state, which each commit writes: with room messages and the shares of
// twenty agents it is smaller than 200 KB.
const (
	room     = 250 // so many may wait to be read before writers have to wait
	shares   = 100 // of all agents; each may have its own unread also when there is no more room
	minShare = 4
	maxDead  = 50 // to agents that have ended
	// maxLive is how many of one agent the session takes, whatever its tools should have refused.
	maxLive = 10_000
	// maxHeadline keeps entries small. The whole headline is in the file.
	maxHeadline = 80
)

// Full reports whether so many messages of an agent wait that no more are taken. What the session
// tells it counts with them, as of a rejection there is one for each message.
func Full(s *orchestrator.State, address string) bool {
	if len(s.Messages) < maxLive {
		return false
	}
	n := 0
	for i := range s.Messages {
		if m := &s.Messages[i]; Live(*m) && of(m, address) {
			n++
		}
	}
	return n >= maxLive
}

func of(m *orchestrator.Message, address string) bool {
	return m.From == address || m.From == System && m.To == address
}

// load counts messages that wait: for readers that may read them, those of one writer among them, and for
// readers that have ended.
type load struct{ all, own, dead int }

func loadOf(def *workflows.Definition, s *orchestrator.State, writer string) (n load) {
	ended := map[string]bool{}
	for i := range s.Messages {
		m := &s.Messages[i]
		if !Live(*m) {
			continue
		}
		gone, known := ended[m.To]
		if !known {
			gone = hasEnded(def, s, m.To)
			ended[m.To] = gone
		}
		switch {
		case gone:
			n.dead++
		case of(m, writer):
			n.own++
			n.all++
		default:
			n.all++
		}
	}
	return n
}

// hasEnded reports whether the reader at an address is an agent that has a marker.
func hasEnded(def *workflows.Definition, s *orchestrator.State, address string) bool {
	_, task := At(def, s, address).Split()
	return s.Team[task].Marker != ""
}

// Sending is a message that an agent is about to send.
type Sending struct {
	From, To    string
	Answers     bool // an open ask
	Unread, Own int  // messages on their way that the state does not include, and those of From among them
}

// Waits reports whether an agent may not send now because too many messages wait to be read. None keeps
// another from its share, and an answer to an open ask has room of its own: its reader waits for it, and gets
// nothing else until then.
// What is for agents that have ended takes no room from the others, and has little.
func Waits(def *workflows.Definition, s *orchestrator.State, m Sending) bool {
	share := minShare
	if def.Team != nil {
		share = max(shares/max(len(def.Team.Agents), 1), minShare)
	}
	if m.Answers {
		return m.Own >= share // an ask has one answer, so that the asks bound them
	}
	n := loadOf(def, s, m.From)
	if hasEnded(def, s, m.To) {
		return n.dead >= maxDead
	}
	return n.all+m.Unread >= room && n.own+m.Own >= share
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
