package decide_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/message"
)

// maxState is how large the state of a session may get by its messages.
const maxState = 200_000

// Thousands of messages among twenty agents, while the host is restarted: each is delivered once, in
// the order of its writer, and the state stays small.
func TestProtocolS8ThousandsOfMessages(t *testing.T) {
	const agents = 20
	messages, killed := 2_000, 300 // the state is as large as with 10,000
	if testing.Short() {
		messages, killed = 250, 50
	}
	file := "session: shop\nagents:\n"
	for n := range agents {
		file += fmt.Sprintf("  - {name: a%d, branch: b%d, task: t}\n", n, n)
	}
	m := newTeam(t, file, func(s *orchestrator.State) { s.Settings.Parallel = agents })
	random := rand.New(rand.NewPCG(1, 2))
	largest, last, seen := 0, map[string]int{}, map[string]int{}
	for n := range messages {
		from, to := random.IntN(agents), random.IntN(agents-1)
		if to >= from {
			to++
		}
		m.events, m.done = nil, nil
		m.posts(fmt.Sprint("a", from), letter(fmt.Sprint("shop/a", from), fmt.Sprint("shop/a", to), message.Message{Headline: fmt.Sprint(n)}))
		for _, e := range m.events {
			d, ok := e.Data.(orchestrator.MsgDeliveredRecord)
			if !ok {
				continue
			}
			seen[d.File]++
			if pair := d.From + d.To; d.Seq < last[pair] {
				t.Fatalf("message %d comes after %d", d.Seq, last[pair])
			} else {
				last[pair] = d.Seq
			}
			m.tool("msg_read", orchestrator.AgentKey("build/"+strings.TrimPrefix(d.To, "shop/")), map[string]any{"file": d.File}, nil)
		}
		if n%killed == 0 { // the host is killed, and reads what it has committed
			data, err := m.s.Encode()
			if err == nil {
				m.s, err = orchestrator.Decode(data)
			}
			if err != nil {
				t.Fatal(err)
			}
			largest = max(largest, len(data))
			m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew, Live: m.live()}})
		}
	}
	if len(seen) != messages || m.s.MessageSeq != messages {
		t.Errorf("%d messages were delivered, %d numbered", len(seen), m.s.MessageSeq)
	}
	for file, n := range seen {
		if n != 1 {
			t.Errorf("%s was delivered %d times", file, n)
		}
	}
	if largest > maxState {
		t.Errorf("the state had %d bytes", largest)
	}
	t.Logf("the largest state had %d bytes", largest)
}
