package decide_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/workflows/message"
)

const pair = `session: shop
agents:
  - {name: api, branch: api, task: t}
  - {name: page, branch: page, task: t}
  - {name: look, role: review, task: t, depends_on: [api, page]}
`

// letter is a message as an agent writes it; the fields that are not given are right.
func letter(from, to string, m message.Message) *message.Letter {
	m.From, _ = message.ParseAddress(from)
	m.To, _ = message.ParseAddress(to)
	if m.Type == "" {
		m.Type = message.Update
	}
	if m.Priority == "" {
		m.Priority = message.Normal
	}
	return &message.Letter{SHA256: "sum", Message: m}
}

// posts has an agent write the line of a message. Its file is called after the number of the line.
func (m *sim) posts(name string, l *message.Letter, changes ...func(*orchestrator.Line)) {
	m.t.Helper()
	key := m.member(name)
	role, task := key.Split()
	m.line++
	body, err := json.Marshal(orchestrator.Payload{File: fmt.Sprintf("msgs/%d.md", m.line), SHA256: "sum"})
	if err != nil {
		m.t.Fatal(err)
	}
	visit := m.s.Visit
	line := &orchestrator.Line{
		File: "index.jsonl", Tool: "msg_send", ID: fmt.Sprintf("id%d", m.line), Role: role, Task: task, Launch: m.s.Agents[key].LastLaunch,
		Visit: &visit, Session: m.s.SessionID, Payload: body, Letter: l, Cursor: orchestrator.Cursor{Offset: int64(m.line), Seq: m.line},
	}
	for _, change := range changes {
		change(line)
	}
	m.do(orchestrator.Input{Kind: orchestrator.InMessage, Line: line})
}

// mail is the last message with this text in its headline.
func (m *sim) mail(headline string) orchestrator.Message {
	m.t.Helper()
	for _, found := range slices.Backward(m.s.Messages) {
		if strings.Contains(found.Headline, headline) {
			return found
		}
	}
	m.t.Fatalf("no message %q in %+v", headline, m.s.Messages)
	return orchestrator.Message{}
}

// refusing has every delivery refused.
func refusing(m *sim) {
	m.result = completion(orchestrator.EffDeliver, orchestrator.Result{Delivery: orchestrator.DeliveryRefused})
}

func TestAMessageGoesFromOneAgentToAnother(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "the port is 8080", ID: "api-1"}))
	got := m.mail("the port")
	if got.State != orchestrator.MessageDelivered || got.From != "shop/api" || got.To != "shop/page" || got.File != "msgs/1.md" || got.By == "" {
		t.Fatalf("message %+v", got)
	}
	if e, ok := m.effectOf(orchestrator.EffDeliver, "page"); !ok || e.Args.Path != "msgs/1.md" || e.Args.Launch != m.s.Agents["build/page"].Launch {
		t.Errorf("delivered by %+v", e)
	}
	m.tool("msg_read", "build/page", map[string]any{"file": "msgs/1.md"}, nil)
	if got := m.mail("the port"); got.State != orchestrator.MessageAcked {
		t.Errorf("message %+v", got)
	}
	if n := len(m.effects(orchestrator.EffWriteFile)); n > 0 {
		t.Errorf("the session wrote %d files, the message has one", n)
	}
}

// A reader that has not started gets its messages when it does; one that never does leaves orphans.
func TestAMessageWaitsForItsReader(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("api", letter("shop/api", "shop/look", message.Message{Headline: "look at the port"}))
	if got := m.mail("the port"); got.State != orchestrator.MessageQueued {
		t.Fatalf("message %+v", got)
	}
	m.submits("api")
	m.submits("page")
	if got := m.mail("the port"); got.State != orchestrator.MessageDelivered {
		t.Fatalf("message %+v", got)
	}
}

// The sender is the agent of the launch that wrote the line, whatever the file says.
func TestSecurity40TheSenderOfAMessageIsWhoItsLaunchSays(t *testing.T) {
	for name, c := range map[string]struct {
		letter *message.Letter
		want   string // of the rejection
	}{
		"another sender":     {letter: letter("shop/look", "shop/page", message.Message{Headline: "x"}), want: "it says that it is from shop/look"},
		"the person":         {letter: letter("core/core", "shop/page", message.Message{Headline: "x"}), want: "it says that it is from core/core"},
		"the program":        {letter: letter("system", "shop/page", message.Message{Headline: "x"}), want: "it says that it is from system"},
		"changed afterwards": {letter: &message.Letter{SHA256: "other", Message: letter("shop/api", "shop/page", message.Message{Headline: "x"}).Message}, want: "its file was changed after it was sent"},
		"removed afterwards": {letter: &message.Letter{Gone: true, Problem: "the file is missing"}, want: "the file is missing"},
		"not a message":      {letter: &message.Letter{SHA256: "sum", Problem: "to: required key missing"}, want: "to: required key missing"},
		"nobody":             {letter: letter("shop/api", "else/page", message.Message{Headline: "x"}), want: `no agent is called "else/page"; expected one of shop/api, shop/page, shop/look, core/core`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTeam(t, pair, nil)
			m.posts("api", c.letter)
			if got := m.s.Messages[0]; got.State != orchestrator.MessageFailed || string(got.Reason) != c.want || got.From != "shop/api" {
				t.Fatalf("message %+v", got)
			}
			if got := m.mail("rejected: "); got.To != "shop/api" || got.From != "system" || got.State != orchestrator.MessageDelivered {
				t.Errorf("rejection %+v", got)
			}
			if e, ok := m.effectOf(orchestrator.EffDeliver, "page"); ok {
				t.Errorf("delivered all the same: %+v", e)
			}
		})
	}
}

// Lines that are not an agent's have no effect, and the reason is recorded.
func TestSecurity40ALineOfAnotherLaunchHasNoEffect(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*orchestrator.Line)
		want   string
	}{
		"forged":            {func(l *orchestrator.Line) { l.Forged = true }, "forged"},
		"another session":   {func(l *orchestrator.Line) { l.Session = "s2" }, "foreign"},
		"an unknown launch": {func(l *orchestrator.Line) { l.Launch = "1.build.nobody.1" }, "it is of no agent of this run"},
		"without a file":    {func(l *orchestrator.Line) { l.Letter = &message.Letter{Problem: "the file is missing"} }, "the message cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTeam(t, pair, nil)
			m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "x"}), c.change)
			if d, ok := m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord); !ok || d.Reason != c.want || len(m.s.Messages) > 0 {
				t.Errorf("%+v, messages %+v", d, m.s.Messages)
			}
		})
	}
}

// A line is taken once, and a file is, however many lines name it.
func TestAMessageIsTakenOnce(t *testing.T) {
	m := newTeam(t, pair, nil)
	for range 2 {
		m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "x"}))
		m.line-- // the same line, as after a rewind
	}
	if len(m.s.Messages) != 1 || m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord).Reason != post.Twice {
		t.Errorf("messages %+v", m.s.Messages)
	}
}

// While the session is paused the lines wait.
func TestMessagesWaitWhileTheSessionIsPaused(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.command("pause", nil)
	before := m.s.MessageCursor
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "x"}))
	if len(m.s.Messages) > 0 || m.s.MessageCursor != before {
		t.Errorf("messages %+v, cursor %+v", m.s.Messages, m.s.MessageCursor)
	}
}

// For one reader the order is by priority, then as they came, one at a time.
func TestMessagesHaveOneOrderForAReader(t *testing.T) {
	m := newTeam(t, pair, nil)
	refusing(m)
	for _, p := range []string{"low", "normal", "high", "normal"} {
		m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: fmt.Sprintf("%s %d", p, m.line), Priority: p}))
	}
	if n := m.count(orchestrator.EvMsgDelivered); n > 0 {
		t.Fatalf("%d are delivered", n)
	}
	m.result = nil
	m.wait(time.Hour)
	m.command("pause", nil)
	m.command("resume", nil)
	var order []string
	for _, e := range m.events {
		if d, ok := e.Data.(orchestrator.MsgDeliveredRecord); ok {
			order = append(order, m.headline(d.Seq))
		}
	}
	if got := strings.Join(order, ", "); got != "high 2, normal 1, normal 3, low 0" {
		t.Errorf("order %s", got)
	}
}

func (m *sim) headline(seq int) string {
	for _, found := range m.s.Messages {
		if found.Seq == seq {
			return found.Headline
		}
	}
	return ""
}

// A message of low priority is passed over ten times, then it is the next.
func TestProtocolT4AMessageOfLowPriorityIsPassedOverTenTimes(t *testing.T) {
	m := newTeam(t, pair, nil)
	refusing(m)
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "low", Priority: "low"}))
	for range 12 {
		m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "other"}))
	}
	m.result = nil
	m.command("pause", nil)
	m.command("resume", nil)
	at := 0
	for _, e := range m.events {
		if d, ok := e.Data.(orchestrator.MsgDeliveredRecord); ok {
			if m.headline(d.Seq) == "low" {
				break
			}
			at++
		}
	}
	if at != 10 {
		t.Errorf("%d were delivered before it", at)
	}
}

// Stamps decide nothing: the order is that of the lines, over a new year and a change of the clock, too.
func TestProtocolT2StampsDecideNothing(t *testing.T) {
	m := newTeam(t, pair, nil)
	for n, at := range []time.Time{
		time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), {},
	} {
		m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: fmt.Sprint("n", n), At: at}))
	}
	var order []string
	for _, e := range m.events {
		if d, ok := e.Data.(orchestrator.MsgDeliveredRecord); ok {
			order = append(order, m.headline(d.Seq))
		}
	}
	if got := strings.Join(order, " "); got != "n0 n1 n2 n3" {
		t.Errorf("delivered %s", got)
	}
}

// A file that is not a message is rejected, and its writer is told why.
func TestProtocolT3AFileThatIsNotAMessageIsRejected(t *testing.T) {
	for _, problem := range []string{"to: required key missing", "not valid YAML: did not find expected ','", "the keys have no end: expected another line ---"} {
		m := newTeam(t, pair, nil)
		m.posts("api", &message.Letter{SHA256: "sum", Problem: problem})
		if got := m.s.Messages[0]; got.State != orchestrator.MessageFailed || string(got.Reason) != problem {
			t.Errorf("message %+v", got)
		}
		if got := m.mail("rejected: 1.md"); got.To != "shop/api" || got.Type != message.Update || got.State != orchestrator.MessageDelivered {
			t.Errorf("rejection %+v", got)
		}
	}
}

// What its reader did not get until the end is an orphan, and the name of its file says so.
func TestProtocolT7AMessageThatNobodyGotIsAnOrphan(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("api", letter("shop/api", "core/core", message.Message{Headline: "shown"}))
	m.result = func(e orchestrator.Effect) orchestrator.Result {
		switch e.Type {
		case orchestrator.EffDeliver:
			return orchestrator.Result{Delivery: orchestrator.DeliveryRefused}
		case orchestrator.EffCommit:
			return orchestrator.Result{Commit: "c-" + e.Args.Task, Tree: e.Args.Tree, Parent: e.Args.Base}
		}
		return orchestrator.Result{}
	}
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "late"}))
	for _, name := range []string{"api", "page", "look"} {
		m.submits(name)
	}
	m.phase(orchestrator.PhaseDone)
	if got := m.mail("late"); got.State != orchestrator.MessageOrphan || got.File != "msgs/2-orphan.md" {
		t.Errorf("message %+v", got)
	}
	if e := m.effects(orchestrator.EffOrphan); len(e) != 1 || !slices.Equal(e[0].Args.Paths, []string{"msgs/2.md"}) {
		t.Errorf("effects %+v", e)
	}
}

// A message whose deadline passed is not sent, also where its timer comes later: its writer was late,
// or the host was away.
func TestAMessageIsNotDeliveredAfterItsDeadline(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "late", Deadline: m.now.Add(-time.Minute)}))
	if got := m.mail("late"); got.State == orchestrator.MessageDelivered {
		t.Fatalf("message %+v", got)
	}
	m.timer("expire/1")
	if got := m.mail("late"); got.State != orchestrator.MessageExpired {
		t.Errorf("message %+v", got)
	}
}

// An agent that writes without end fills neither the state nor the way of others.
func TestSecurity40AnAgentHasOnlySoManyMessagesUnread(t *testing.T) {
	for name, file := range map[string]orchestrator.Message{
		"its own":      {From: "shop/api", To: "shop/look"},
		"what it gets": {From: "system", To: "shop/api"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTeam(t, pair, nil)
			refusing(m)
			for i := range 9_999 {
				file.Seq, file.File, file.State = i+1, fmt.Sprintf("msgs/old%d.md", i), orchestrator.MessageQueued
				m.s.Messages = append(m.s.Messages, file)
			}
			m.posts("api", letter("shop/api", "shop/look", message.Message{Headline: "the last"}))
			m.posts("api", letter("shop/api", "shop/look", message.Message{Headline: "one more"}))
			m.posts("page", letter("shop/page", "shop/look", message.Message{Headline: "of another"}))
			if got := m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord).Reason; got != "too many messages of shop/api wait to be read" {
				t.Error(got)
			}
			if n := len(m.s.Messages); n != 10_001 || m.mail("of another").State != orchestrator.MessageQueued || m.mail("the last").Seq != 10_000 {
				t.Errorf("%d messages", n)
			}
		})
	}
}

// A script of the person that sends without end is told so, and the state stays small.
func TestSecurity40ThePersonHasOnlySoManyMessagesUnread(t *testing.T) {
	m := newTeam(t, pair, nil)
	refusing(m)
	for n := range 101 {
		refused := m.says(post.CommandSend, fmt.Sprintf("msgs/p%d.md", n), letter("core/core", "shop/api", message.Message{Type: message.Update, Headline: fmt.Sprint(n)}))
		if want := "too many messages of yours wait to be read"; (refused == want) != (n == 100) {
			t.Fatalf("message %d: refused %q", n, refused)
		}
	}
}

// A line that was made with the bare name of the run's mesh goes to the agent it means, along the table, and
// people are told of it.
func TestTheBareNameOfAMeshIsTheMeshOfTheRun(t *testing.T) {
	for how, send := range map[string]func(*sim, *message.Letter){
		"by an agent": func(m *sim, l *message.Letter) { m.posts("api", l) },
		"by hand":     func(m *sim, l *message.Letter) { m.lays(l) },
	} {
		m := newTeam(t, strings.Replace(pair, "session: shop", "session: shop-1a2b3c", 1), func(s *orchestrator.State) {
			s.Settings.Msg.Rows = message.Rows{"api": {"start": {"page": ""}}}
		})
		send(m, letter("shop-1a2b3c/api", "shop/page", message.Message{Headline: "the port", Status: "start", ID: "x"}))
		got := m.mail("the port")
		if got.To != "shop-1a2b3c/page" || got.State != orchestrator.MessageDelivered || !strings.Contains(string(got.Reason), "was taken for shop-1a2b3c/page") {
			t.Errorf("%s: message %+v", how, got)
		}
		send(m, letter("shop-1a2b3c/api", "shop/page", message.Message{Headline: "done", Status: "complete", ID: "y"}))
		if got := m.mail("done"); got.State != orchestrator.MessageFailed || !strings.Contains(string(got.Reason), "may not send complete to page") {
			t.Errorf("%s: against the table: %+v", how, got)
		}
	}
}

// A clock that goes back an hour writes stamps a second time, in names and in files: they decide nothing,
// and no message is taken for another one.
func TestProtocolT2AClockThatGoesBackAnHour(t *testing.T) {
	stamps := []struct{ name, at string }{ // of Berlin, in the night of 25 October
		{"1025025930", "2026-10-25T02:59:30+02:00"},
		{"1025020000", "2026-10-25T02:00:00+01:00"}, // 30 seconds later
		{"1025025930", "2026-10-25T02:59:30+01:00"},
		{"1025021500", "2026-10-25T02:15:00+02:00"}, // came late
		{"1025021500", "2026-10-25T02:15:00+01:00"},
	}
	for how, send := range map[string]func(*sim, *message.Letter, func(*orchestrator.Line)){
		"by an agent": func(m *sim, l *message.Letter, named func(*orchestrator.Line)) { m.posts("api", l, named) },
		"by hand": func(m *sim, l *message.Letter, named func(*orchestrator.Line)) {
			m.posts("api", l, named, func(line *orchestrator.Line) { line.Launch, line.Role, line.Task = "", "", "" })
		},
	} {
		m := newTeam(t, pair, nil)
		var want []string
		for n, s := range stamps {
			name := fmt.Sprintf("%s-update-api--page-api-%d.md", s.name, n+1)
			parsed, problems := message.Parse(name, fmt.Appendf(nil, "---\nto: shop/page\nfrom: shop/api\ntype: update\nheadline: n%d\ntimestamp: %s\n---\nx\n", n, s.at), nil)
			if len(problems) > 0 {
				t.Fatal(problems.Lines())
			}
			send(m, &message.Letter{SHA256: "sum", Message: parsed}, func(line *orchestrator.Line) {
				line.Payload = fmt.Appendf(nil, `{"file":"msgs/%s","sha256":"sum"}`, name)
			})
			want = append(want, fmt.Sprint("n", n))
		}
		var order []string
		for _, e := range m.events {
			if d, ok := e.Data.(orchestrator.MsgDeliveredRecord); ok {
				order = append(order, m.headline(d.Seq))
			}
		}
		if !slices.Equal(order, want) {
			t.Errorf("%s: delivered %q", how, order)
		}
	}
}

// Messages never move a phase and set no marker: whoever says by one that work is complete, it is as it was.
func TestAMessageThatSaysCompleteCompletesNothing(t *testing.T) {
	complete := func(from, to string) *message.Letter {
		return letter(from, to, message.Message{Type: message.TaskComplete, Status: message.StatusComplete, Headline: "done", ID: "d", InReplyTo: "api-task"})
	}
	for how, send := range map[string]func(*sim){
		"an agent to another": func(m *sim) { m.posts("api", complete("shop/api", "shop/page")) },
		"an agent to the one that waits for it": func(m *sim) {
			m.posts("api", complete("shop/api", "shop/look"))
		},
		"an agent to the person":  func(m *sim) { m.posts("api", complete("shop/api", "core/core")) },
		"by hand, to the person":  func(m *sim) { m.lays(complete("shop/api", "core/core")) },
		"by hand, to the program": func(m *sim) { m.lays(complete("system", "shop/page")) },
		"the person": func(m *sim) {
			if refused := m.says(post.CommandSend, "msgs/p.md", complete("core/core", "shop/api")); refused != "" {
				t.Errorf("refused: %s", refused)
			}
		},
	} {
		t.Run(how, func(t *testing.T) {
			m := newTeam(t, pair, nil)
			phase, visit, statuses, submissions := m.s.Phase, m.s.Visit, m.statuses(), m.count(orchestrator.EvSubmission)
			send(m)
			if len(m.s.Messages) != 1 || m.s.Messages[0].State == orchestrator.MessageFailed {
				t.Fatalf("messages %+v", m.s.Messages)
			}
			if m.s.Phase != phase || m.s.Visit != visit || m.statuses() != statuses || m.s.Ended() || m.count(orchestrator.EvSubmission) != submissions {
				t.Errorf("phase %s, visit %d, agents %s", m.s.Phase, m.s.Visit, m.statuses())
			}
			for _, e := range append(slices.Clone(m.done), m.s.Pending...) {
				if slices.Contains([]string{orchestrator.EffWriteMarker, orchestrator.EffCommit, orchestrator.EffIntegrate, orchestrator.EffPush}, e.Type) {
					t.Errorf("effect %+v", e)
				}
			}
		})
	}
}
