package post

import (
	"cmp"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/message"
)

// maxPassed is how often a message may be passed over by a more urgent one that came later.
const maxPassed = 10

// before orders the messages to one reader: those that were passed over often enough, then by
// priority, then as they came.
func before(a, b orchestrator.Message) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Seq, b.Seq))
}

func rank(m orchestrator.Message) int {
	switch {
	case m.Passed >= maxPassed:
		return 0
	case m.Priority == message.High:
		return 1
	case m.Priority == message.Low:
		return 3
	}
	return 2
}

// passOver counts that the message taken was delivered before those to the same reader that came
// earlier.
func passOver(list []orchestrator.Message, taken orchestrator.Message) {
	for i := range list {
		m := &list[i]
		if m.State == orchestrator.MessageQueued && m.To == taken.To && m.Seq < taken.Seq {
			m.Passed++
		}
	}
}
