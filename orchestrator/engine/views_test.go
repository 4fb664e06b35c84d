package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/message"
)

// view reads what a view of the messages says, if it is one.
func (w *world) view(said any, elem ...string) bool {
	data, err := os.ReadFile(w.s.Path(elem...))
	return err == nil && json.Unmarshal(data, said) == nil
}

func (w *world) mail(n int) {
	w.post("1.build.api.1", message.Message{
		To: message.Address{Mesh: "shop", Agent: "page"}, From: message.Address{Mesh: "shop", Agent: "api"}, Type: message.Update,
		Headline: fmt.Sprint(n), ID: fmt.Sprintf("api-%d", n),
	})
}

// The queue and the offset of a reader follow the session. What a kill has left of them, whatever it is, is
// made good by the next host, before anything is said to it.
func TestProtocolT9TheViewsFollowTheSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newTeamWorld(t)
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 2 })
		if w.view(&postbox.Queue{}, session.QueuesDir, "shop-queue.json") {
			t.Error("there is a queue before there is a message")
		}
		w.mail(1)
		shown := func(state string, seq int) func(*orchestrator.State) bool {
			return func(s *orchestrator.State) bool {
				var q postbox.Queue
				var o postbox.Offset
				return w.view(&q, session.QueuesDir, "shop-queue.json") && w.view(&o, session.OffsetsDir, "shop-page.json") &&
					len(q.Entries) == 1 && len(s.Messages) == 1 && q.Entries[0] == s.Messages[0] && q.Entries[0].State == state && o.Seq == seq && o.Agent == "shop/page"
			}
		}
		st := w.until("shown as delivered", shown(orchestrator.MessageDelivered, 0))
		w.submit("1.build.page.1", "msg_read", fmt.Sprintf(`{"file":%q}`, st.Messages[0].File))
		w.until("shown as read", shown(orchestrator.MessageAcked, 1))
		for what, damage := range map[string]func() error{
			"removed": func() error { return os.RemoveAll(w.s.Path(session.QueuesDir)) },
			"cut":     func() error { return os.Truncate(w.s.Path(session.OffsetsDir, "shop-page.json"), 0) },
			"older": func() error {
				return os.WriteFile(w.s.Path(session.OffsetsDir, "shop-page.json"), []byte(`{"agentId":"shop/page","lastSeq":0}`), 0o600)
			},
		} {
			h.stop()
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			h = w.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}})
			w.until("shown again after one was "+what, shown(orchestrator.MessageAcked, 1))
		}
	})
}

// However many messages are written, the views are written once a second, and at the end; and not for what
// says nothing of messages.
func TestViewsAreWrittenNowAndThen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newTeamWorld(t)
		changes, last := 0, time.Time{}
		look := func() {
			if info, err := os.Stat(w.s.Path(session.QueuesDir, "shop-queue.json")); err == nil && !info.ModTime().Equal(last) {
				last = info.ModTime()
				changes++
			}
		}
		wakes, commits := make(chan struct{}, 1), 0
		h := w.start(engine.Options{Wakes: wakes, OnCommit: func(*orchestrator.State) { commits++; look() }})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 2 })
		n := 100
		if testing.Short() {
			n = 40
		}
		for i := range n { // for five seconds
			w.mail(i)
			wakes <- struct{}{}
			w.pass(5 * time.Second / time.Duration(n))
		}
		st := w.until("told all", func(s *orchestrator.State) bool { return s.MessageSeq == n })
		h.stop()
		look()
		if changes < 4 || changes > 8 || commits < n {
			t.Errorf("the queue was written %d times in %d commits", changes, commits)
		}
		var q postbox.Queue
		if !w.view(&q, session.QueuesDir, "shop-queue.json") || len(q.Entries) != len(st.Messages) {
			t.Errorf("%d entries at the end, %d messages", len(q.Entries), len(st.Messages))
		}
	})
}
