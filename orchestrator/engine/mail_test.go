package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/message"
)

const (
	correspondents = 20
	maxUnread      = 5         // messages of one writer that are not read
	maxMailState   = 200 << 10 // bytes of state.json
)

// mailHandOver is a message that was given to an agent.
type mailHandOver struct {
	seq    int
	launch orchestrator.Launch
}

// mailRoom is a session whose agents write to one another and answer, while its hosts are killed and they
// themselves are.
type mailRoom struct {
	*world
	random *rand.Rand

	mu       sync.Mutex
	writer   map[string]int // agent that sent a file
	asks     map[string]message.Message
	unread   [correspondents]int
	effects  map[string]bool // deliveries that were carried out, by the id of the effect
	handed   []mailHandOver
	deaths   int // of agents, that are still to come
	dead     map[string]bool
	killAt   int // commit at which the host dies; 0 = it lives
	commits  int
	hostEnds int
	largest  int64
}

func newMailRoom(t *testing.T, deaths int) *mailRoom {
	t.Helper()
	var file strings.Builder
	file.WriteString("session: shop\nagents:\n")
	for i := range correspondents {
		fmt.Fprintf(&file, "  - {name: a%d, branch: b%d, task: t}\n", i, i)
	}
	settings := orchestrator.DefaultSettings()
	settings.Parallel, settings.AgentRetries, settings.AckTimeout = correspondents, 1000, orchestrator.Duration(time.Minute)
	settings.LimitPhase, settings.LimitTotal, settings.LimitStall = 0, 0, 0
	st := orchestrator.State{Kind: orchestrator.KindAgents, Settings: settings, BaseSHA: "c0", Phase: workflows.TeamPhase}
	st.Integrated = orchestrator.Integrated{Commit: "c0", Tree: "t0"}
	s, err := session.Create(session.CreateSpec{Project: t.TempDir(), Now: time.Now(), Name: "shop", State: st, Agents: []byte(file.String())})
	if err != nil {
		t.Fatal(err)
	}
	m := &mailRoom{
		world: worldOf(t, s), random: rand.New(rand.NewPCG(1, 5)), writer: map[string]int{}, asks: map[string]message.Message{},
		effects: map[string]bool{}, deaths: deaths, dead: map[string]bool{},
	}
	m.play, m.fail = idle, m.handOver
	return m
}

func mailAgent(i int) message.Address {
	return message.Address{Mesh: "shop", Agent: fmt.Sprint("a", i)}
}

// launch returns the launch at which an agent is at work; "" if it is not.
func (m *mailRoom) launch(key orchestrator.AgentKey) (found orchestrator.Launch) {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	for launch, pane := range m.panes {
		if pane.Key == key && pane.Condition == orchestrator.AgentLive {
			found = launch
		}
	}
	return found
}

// handOver carries out a delivery, once for each effect. The agent reads the message, and answers an ask;
// or it forgets to; or it is killed.
func (m *mailRoom) handOver(e orchestrator.Effect) error {
	if e.Type != orchestrator.EffDeliver {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.effects[e.ID] {
		return nil
	}
	m.effects[e.ID] = true
	first := !slices.ContainsFunc(m.handed, func(h mailHandOver) bool { return h.seq == e.Args.Seq })
	m.handed = append(m.handed, mailHandOver{e.Args.Seq, e.Args.Launch})
	switch chance := m.random.IntN(100); {
	case first && m.deaths > 0 && chance < 8:
		m.deaths--
		m.dead[e.Args.Task] = true
		m.pane(e.Args.Launch, func(r *orchestrator.AgentReport) { r.Condition, r.Signal = orchestrator.AgentDead, "killed" })
		return nil
	case first && chance >= 95:
		return nil
	}
	m.read(e.Args.Launch, e.Args.Path)
	return nil
}

func (m *mailRoom) read(launch orchestrator.Launch, file string) {
	m.submit(launch, "msg_read", fmt.Sprintf(`{"file":%q}`, file))
	l := postbox.Read(m.s.Path(session.MessagesDir), path.Base(file), nil)
	for asked, ask := range m.asks {
		if l.Message.From == message.Person && l.Message.InReplyTo == ask.ID { // it would have closed a circle
			m.unread[m.writer[asked]]--
			delete(m.asks, asked)
			delete(m.writer, asked)
		}
	}
	if from, ok := m.writer[file]; ok {
		m.unread[from]--
		delete(m.writer, file)
	}
	if ask, ok := m.asks[file]; ok {
		delete(m.asks, file)
		m.post(launch, message.Message{
			To: ask.From, From: ask.To, Type: message.AskResponse, Status: "complete", Headline: "8080", InReplyTo: ask.ID, ID: "answer-" + ask.ID,
		})
	}
}

// write sends message n of an agent, if it is at work and its last ones are read.
func (m *mailRoom) write(from, n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	launch := m.launch(orchestrator.KeyOf("build", fmt.Sprint("a", from)))
	if launch == "" || m.unread[from] >= maxUnread {
		return false
	}
	w := message.Message{
		From: mailAgent(from), To: mailAgent((from + 1 + m.random.IntN(correspondents-1)) % correspondents), Type: message.Update,
		ID: fmt.Sprintf("a%d-%d", from, n), Headline: fmt.Sprint(n), Priority: []string{message.Normal, message.Normal, message.High}[m.random.IntN(3)],
	}
	if m.random.IntN(25) == 0 {
		w.Type = message.Ask
	}
	file := m.postFile(launch, w)
	m.writer[file] = from
	m.unread[from]++
	if w.Type == message.Ask {
		m.asks[file] = w
	}
	return true
}

// revive has the person start the agents again that were killed, once the session knows it.
func (m *mailRoom) revive() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.dead) == 0 {
		return
	}
	st := m.state()
	for name := range m.dead {
		switch {
		case m.launch(orchestrator.KeyOf("build", name)) != "": // a new host has seen that it owes its part
			delete(m.dead, name)
		case st.Team[name].Marker != "":
			m.command(fmt.Sprintf(`{"name":"retry","actor":"mia","source_id":"cli/%s-%d","args":{"role":%q}}`, name, st.Seq, name))
			delete(m.dead, name)
		}
	}
}

// postFile is post, and returns the file.
func (m *mailRoom) postFile(launch orchestrator.Launch, w message.Message) string {
	name, err := message.FileName(time.Now(), &w)
	if err != nil {
		m.t.Error(err)
	}
	m.post(launch, w)
	return path.Join(session.MessagesDir, name)
}

// host starts a host that dies at a commit some commits from now; with 0 it lives.
func (m *mailRoom) host(mode string, life int) *host {
	m.mu.Lock()
	m.killAt, m.commits = life, 0
	m.mu.Unlock()
	return m.start(engine.Options{Start: orchestrator.Start{Mode: mode}, OnCommit: func(*orchestrator.State) {
		info, err := os.Stat(m.s.Path(session.StateFile))
		if err != nil {
			m.t.Error(err)
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.largest = max(m.largest, info.Size())
		if m.commits++; m.commits == m.killAt {
			m.hostEnds++
			runtime.Goexit() // nothing of what would have followed happens
		}
	}})
}

// life returns at which of its commits the next host is killed; 0 if enough were.
func (m *mailRoom) life(n, kills int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hostEnds >= kills {
		return 0
	}
	return 1 + m.random.IntN(max(2, n/kills))
}

// killing reports whether hosts or agents are still to be killed.
func (m *mailRoom) killing(kills int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hostEnds < kills || m.deaths > 0
}

// manyMessages is how many messages the test below sends.
func manyMessages() int {
	if n, err := strconv.Atoi(os.Getenv("AGENTMUX_MESSAGES")); err == nil && n > 0 {
		return n
	}
	if testing.Short() {
		return 40
	}
	return 150
}

// Twenty agents write to one another and ask while hosts and agents are killed: each message is given to
// its reader, once more only if that did not confirm it, in the order of its reader; every ask comes to an
// end, and the state stays small.
func TestProtocolT9ManyMessagesWhileHostsAndAgentsAreKilled(t *testing.T) {
	n := manyMessages()
	kills := max(3, n*30/10_000)
	bubble(t, func(t *testing.T) {
		m := newMailRoom(t, kills)
		h := m.host(orchestrator.StartNew, 0)
		m.until("at work", func(*orchestrator.State) bool { return len(m.launches()) == correspondents })
		h.stop()
		life := func() int { return m.life(n, kills) }
		h = m.host(orchestrator.StartResume, life())
		sent, of := 0, [correspondents]int{}
		for range 4000 + 2*n { // half a second each
			select {
			case <-h.done:
				h = m.host(orchestrator.StartResume, life())
			default:
			}
			for i := range correspondents {
				if (sent < n || m.killing(kills)) && m.write(i, of[i]) {
					of[i]++
					sent++
				}
			}
			m.revive()
			m.pass(500 * time.Millisecond)
			if sent >= n && !m.killing(kills) && m.quiet() {
				break
			}
		}
		st := m.until("quiet", func(s *orchestrator.State) bool { return m.quiet() })
		h.stop()
		if sent < n || m.hostEnds < kills || m.deaths > 0 {
			t.Errorf("%d of %d messages were sent, %d hosts killed, %d agents not killed", sent, n, m.hostEnds, m.deaths)
		}
		t.Logf("%d messages, %d deliveries, the largest state has %d bytes", st.MessageSeq, len(m.handed), m.largest)
		if m.largest > maxMailState {
			t.Errorf("the state had %d bytes", m.largest)
		}
		m.check(st)
	})
}

// quiet reports whether every message was read and every ask has its answer.
func (m *mailRoom) quiet() bool {
	m.mu.Lock()
	unread := len(m.writer) + len(m.asks) + len(m.dead)
	m.mu.Unlock()
	if unread > 0 {
		return false
	}
	st := m.state()
	if info, err := os.Stat(m.s.Path(session.MessageIndex)); err != nil || info.Size() != st.MessageCursor.Offset {
		return false
	}
	return !slices.ContainsFunc(st.Messages, post.Live)
}

// check judges from the records what became of each message.
func (m *mailRoom) check(st *orchestrator.State) {
	m.t.Helper()
	to, urgent, answer, again := map[int]string{}, map[int]bool{}, map[int]bool{}, map[int]bool{}
	refused := map[int]bool{}
	for _, e := range m.events("") {
		switch d := e.Data.(type) {
		case orchestrator.MsgQueuedRecord:
			if d.Reason == "not acknowledged" {
				again[d.Seq] = true
			}
			to[d.Seq], urgent[d.Seq], answer[d.Seq] = d.To, d.Priority == message.High, d.MsgType == message.AskResponse
		case orchestrator.MsgFailedRecord:
			// An ask may be written while its reader is dead and the person has not started it again.
			ended := d.MsgType == message.Ask && strings.HasSuffix(d.Reason, " has ended")
			if !strings.HasPrefix(d.Reason, "a circle of asks") && !ended {
				m.t.Errorf("message %d failed: %+v", d.Seq, d)
			}
			refused[d.Seq] = true
		case orchestrator.MsgExpiredRecord: // an ask to an agent that was killed
			refused[d.Seq] = true
		}
	}
	times, given := map[mailHandOver]int{}, map[int]bool{}
	newest := map[string]int{}
	for _, h := range m.handed {
		if times[h]++; times[h] == 2 && !again[h.seq] || times[h] > 2 {
			m.t.Errorf("message %d was given to %s %d times, marked %t", h.seq, h.launch, times[h], again[h.seq])
		}
		if given[h.seq] {
			continue
		}
		given[h.seq] = true
		class := fmt.Sprint(to[h.seq], urgent[h.seq], answer[h.seq])
		if h.seq < newest[class] {
			m.t.Errorf("%s: message %d came after %d", class, h.seq, newest[class])
		}
		newest[class] = max(newest[class], h.seq)
	}
	for seq := 1; seq <= st.MessageSeq; seq++ {
		if !refused[seq] && (to[seq] == "" || !given[seq]) {
			m.t.Errorf("message %d to %q was not given", seq, to[seq])
		}
	}
}

// What agents say they have read at one time shares a commit.
func TestReadsShareACommit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 50
		w := newTeamWorld(t)
		commits := map[int64]bool{}
		o := engine.Options{OnCommit: func(s *orchestrator.State) { commits[s.ToolCursor.Offset] = true }}
		h := w.start(o)
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 2 })
		for i := range n {
			w.post("1.build.api.1", message.Message{
				To: message.Address{Mesh: "shop", Agent: "page"}, From: message.Address{Mesh: "shop", Agent: "api"}, Type: message.Update,
				Headline: fmt.Sprint(i), ID: fmt.Sprintf("api-%d", i),
			})
		}
		st := w.until("given them", func(s *orchestrator.State) bool {
			return len(s.Messages) == n && s.Messages[n-1].State == orchestrator.MessageDelivered
		})
		h.stop()
		for _, m := range st.Messages {
			w.submit("1.build.page.1", "msg_read", fmt.Sprintf(`{"file":%q}`, m.File))
		}
		clear(commits)
		o.Start.Mode = orchestrator.StartResume
		w.start(o)
		w.until("told that they are read", func(s *orchestrator.State) bool { return !slices.ContainsFunc(s.Messages, post.Live) })
		if len(commits) > 3 {
			t.Errorf("%d commits for %d messages that were read", len(commits), n)
		}
	})
}
