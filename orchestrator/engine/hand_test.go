package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
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

func newTeamWorld(t *testing.T) *world {
	t.Helper()
	st := orchestrator.State{Kind: orchestrator.KindAgents, Settings: orchestrator.DefaultSettings(), BaseSHA: "c0", Phase: workflows.TeamPhase}
	st.Integrated = orchestrator.Integrated{Commit: "c0", Tree: "t0"}
	s, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: time.Now(), Name: "shop", State: st,
		Agents: []byte("session: shop\nagents:\n  - {name: api, branch: api, task: t}\n  - {name: page, branch: page, task: t}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := worldOf(t, s)
	w.play = idle
	return w
}

// lay puts a file by hand where the messages are.
func (w *world) lay(name, from string) {
	w.t.Helper()
	err := os.MkdirAll(w.s.Path(session.MessagesDir), 0o700)
	if err == nil {
		err = os.WriteFile(w.s.Path(session.MessagesDir, name), []byte("---\nto: shop/page\nfrom: "+from+"\ntype: update\nheadline: x\n---\n"), 0o600)
	}
	if err != nil {
		w.t.Error(err)
	}
}

// taken are the messages in the state that have a file.
func taken(s *orchestrator.State, name string) (n int) {
	for _, m := range s.Messages {
		if m.File == "msgs/"+name {
			n++
		}
	}
	return n
}

// A file that somebody laid there is taken once, as of a claimed sender, also over a new host; what the
// session itself wrote is not taken again.
func TestProtocolT8AFileByHandIsTakenOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newTeamWorld(t)
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 2 })
		w.lay("forged.md", "core/core")
		st := w.until("given the message", func(s *orchestrator.State) bool { return taken(s, "forged.md") == 1 })
		m := st.Messages[len(st.Messages)-1]
		if m.By != post.ByHand || m.From != "core/core" || m.State == orchestrator.MessageFailed || !strings.Contains(post.Sender(m), "claimed") {
			t.Errorf("message %+v", m)
		}
		w.command(`{"name":"say","actor":"mia","source_id":"cli/1","args":{"role":"api","text":"so"}}`)
		w.until("told", func(s *orchestrator.State) bool { return len(s.Messages) == 2 })
		h.stop()
		h = w.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}})
		w.lay("second.md", "shop/api")
		st = w.until("given the second message", func(s *orchestrator.State) bool { return taken(s, "second.md") == 1 })
		if len(st.Messages) != 3 || taken(st, "forged.md") != 1 {
			t.Errorf("messages %+v", st.Messages)
		}
		h.stop()
		lines, _, err := w.s.Lines(session.MessageIndex, orchestrator.Cursor{}, 0)
		if err != nil || len(lines) != 2 {
			t.Errorf("the index has %d lines, %v", len(lines), err)
		}
	})
}

// What is not a message is rejected with its reason, each by itself; what is one beside it arrives, and every file
// stays as it was laid there.
func TestProtocolT8BadFilesHoldNothingUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const front = "---\nto: shop/page\nfrom: shop/api\ntype: update\nheadline: x\n---\n"
		long := strings.Repeat("n", 252) + ".md"
		good := map[string]string{
			long: front, "exact.md": front + strings.Repeat("x", message.MaxFile-len(front)), "twice.md": front + front,
			"tricks.md": strings.Replace(front, "x\n", `"\e[31m\u202enews"`+"\n", 1),
		}
		bad := map[string][2]string{
			"open.md": {"---\nto: shop/page\n", "the keys have no end"},
			"nul.md":  {"---\nto: shop/page\x00\n---\n", "holds a NUL byte"},
			"list.md": {strings.Replace(front, "shop/page", "[shop/page]", 1), "to: "},
		}
		untaken := map[string]string{"large.md": good["exact.md"] + "x", ".hidden.md": front, "half.md.tmp": front, "over-done.md": front}
		w := newTeamWorld(t)
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 2 })
		h.stop()
		lay := func(name, text string) {
			if err := os.WriteFile(w.s.Path("msgs", name), []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
		must(t, os.MkdirAll(w.s.Path("msgs"), 0o700))
		for name, text := range good {
			lay(name, text)
		}
		for name, c := range bad {
			lay(name, c[0])
		}
		for name, text := range untaken {
			lay(name, text)
		}
		must(t, errors.Join(os.Symlink("exact.md", w.s.Path("msgs", "link.md")), syscall.Mkfifo(w.s.Path("msgs", "pipe.md"), 0o600)))
		read := func(name string) string {
			data, err := os.ReadFile(w.s.Path("msgs", name))
			if err != nil {
				t.Error(err)
			}
			return string(data)
		}
		sent := map[string]string{} // files of messages that were sent by tool
		for _, id := range []string{"gone", "edited", "kept"} {
			w.post("1.build.api.1", message.Message{
				To: message.Address{Mesh: "shop", Agent: "page"}, From: message.Address{Mesh: "shop", Agent: "api"}, Type: message.Update, Headline: "x", ID: "api-" + id,
			})
			found, err := filepath.Glob(w.s.Path("msgs", "*-api-"+id+".md"))
			if err != nil || len(found) != 1 {
				t.Fatalf("files of %s: %q, %v", id, found, err)
			}
			sent[id] = filepath.Base(found[0])
		}
		must(t, os.Remove(w.s.Path("msgs", sent["gone"])))
		lay(sent["edited"], front)
		good[sent["kept"]] = read(sent["kept"])
		bad[sent["edited"]], bad[sent["gone"]] = [2]string{front, "its file was changed after it was sent"}, [2]string{"", "missing"}

		h = w.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}})
		const told = 2 // the writers of what is gone or edited
		w.until("all of it decided about", func(s *orchestrator.State) bool { return s.MessageSeq == len(good)+len(bad)+told })
		w.until("what is good delivered", func(*orchestrator.State) bool { return len(w.events(orchestrator.EvMsgDelivered)) == len(good)+told })
		w.pass(time.Minute)
		h.stop()
		for _, e := range w.events(orchestrator.EvMsgFailed) {
			d := e.Data.(orchestrator.MsgFailedRecord)
			if c, known := bad[path.Base(d.File)]; !known || !strings.Contains(d.Reason, c[1]) {
				t.Errorf("%s is rejected: %s", d.File, d.Reason)
			}
			delete(bad, path.Base(d.File))
		}
		for name := range bad {
			t.Errorf("%s is not rejected", name)
		}
		for _, e := range w.events(orchestrator.EvMsgDelivered) {
			d := e.Data.(orchestrator.MsgDeliveredRecord)
			if d.From == post.System && d.To == "shop/api" {
				continue
			}
			name := path.Base(d.File)
			if good[name] == "" || read(name) != good[name] {
				t.Errorf("%s is delivered, or is another file now", name)
			}
			delete(good, name)
		}
		for name := range good {
			t.Errorf("%s is not delivered", name)
		}
		for name, text := range untaken {
			if read(name) != text {
				t.Errorf("%s was changed", name)
			}
		}
	})
}

// Many files at once keep nobody waiting, and all of them are taken.
func TestManyFilesByHand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newTeamWorld(t)
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 2 })
		files := 150
		if testing.Short() {
			files = 60
		}
		for n := range files {
			w.lay(fmt.Sprintf("%d.md", n), "shop/api")
		}
		w.until("given a part", func(s *orchestrator.State) bool { return len(s.Messages) > 0 })
		w.command(`{"name":"stop","actor":"mia","source_id":"cli/1"}`)
		if st := h.wait(); st.Outcome != orchestrator.OutcomeCanceled {
			t.Errorf("outcome %s", st.Outcome)
		}
	})
}

// Messages of agents and files by hand are each delivered once while the host is stopped again and again;
// one that its reader does not confirm comes once more, and says so.
func TestProtocolT9EachMessageArrivesOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const each = 10
		rounds := 10
		if testing.Short() {
			rounds = 3
		}
		w := newTeamWorld(t)
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 2 })
		const writer, reader orchestrator.Launch = "1.build.api.1", "1.build.page.1"
		sent, read := 0, map[string]bool{}
		const unread = 3 // numbers that end so are not confirmed in time
		for round := range rounds {
			for range each {
				w.post(writer, message.Message{
					To: message.Address{Mesh: "shop", Agent: "page"}, From: message.Address{Mesh: "shop", Agent: "api"}, Type: message.Update,
					Headline: fmt.Sprint(sent), ID: fmt.Sprintf("api-%d", sent),
				})
				sent++
			}
			w.lay(fmt.Sprintf("by-hand-%d.md", round), "shop/api")
			sent++
			if round%2 == 0 {
				h.stop()
				h = w.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}})
			}
			w.until("given them", func(s *orchestrator.State) bool {
				for _, m := range s.Messages {
					if m.State == orchestrator.MessageDelivered && !read[m.File] && (m.Again || m.Seq%10 != unread) {
						read[m.File] = true
						w.submit(reader, "msg_read", fmt.Sprintf(`{"file":%q}`, m.File))
					}
				}
				return s.MessageSeq == sent
			})
		}
		w.pass(11 * time.Minute) // what was not confirmed is due
		w.until("read by all", func(s *orchestrator.State) bool {
			for _, m := range s.Messages {
				if m.State == orchestrator.MessageDelivered && !read[m.File] {
					read[m.File] = true
					w.submit(reader, "msg_read", fmt.Sprintf(`{"file":%q}`, m.File))
				}
			}
			return len(read) == sent
		})
		w.until("confirmed", func(*orchestrator.State) bool { return len(w.events(orchestrator.EvMsgAcked)) == sent })
		h.stop()
		delivered := map[int]int{}
		for _, e := range w.events(orchestrator.EvMsgDelivered) {
			delivered[e.Data.(orchestrator.MsgDeliveredRecord).Seq]++
		}
		for seq := 1; seq <= sent; seq++ {
			want := 1
			if seq%10 == unread {
				want = 2
			}
			if delivered[seq] != want {
				t.Errorf("message %d was delivered %d times, want %d", seq, delivered[seq], want)
			}
		}
	})
}

// post writes a message and its line, as the tool of a launch does.
func (w *world) post(launch orchestrator.Launch, m message.Message) {
	w.t.Helper()
	parts, _ := launch.Parts()
	err := w.s.Append(session.MessageIndex, time.Now(), func(tail session.Tail) (*session.NewLine, error) {
		name, sum, err := postbox.Box{Dir: w.s.Path(session.MessagesDir)}.Write(m, time.Now())
		return &session.NewLine{
			Tool: "msg_send", Role: parts.Role, Task: parts.Task, Launch: launch, Visit: tail.State.Visit,
			Payload: orchestrator.Payload{File: session.MessagesDir + "/" + name, SHA256: sum},
		}, err
	})
	if err != nil {
		w.t.Error(err)
	}
}

// Whoever can write where the markers are can put anything there: a pipe does not hold the host up, a link is not
// followed, and the marker that a person makes after it counts.
func TestSecurity41AMarkerIsARegularFile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newTeamWorld(t)
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 2 })
		done := filepath.Join(t.TempDir(), "done")
		must := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		must(os.WriteFile(done, []byte("0\n"), 0o600))
		must(os.MkdirAll(w.s.Path(session.SignalsDir), 0o700))
		must(syscall.Mkfifo(w.s.Path(session.SignalsDir, "api.done"), 0o600))
		must(os.Symlink(done, w.s.Path(session.SignalsDir, "page.done")))
		w.command(`{"name":"say","actor":"mia","source_id":"cli/1","args":{"role":"api","text":"so"}}`)
		st := w.until("told", func(s *orchestrator.State) bool { return len(s.Messages) == 1 })
		if len(st.Team) > 0 && (st.Team["api"].Marker != "" || st.Team["page"].Marker != "") {
			t.Errorf("taken for markers: %+v", st.Team)
		}
		must(os.Remove(w.s.Path(session.SignalsDir, "api.done")))
		must(os.WriteFile(w.s.Path(session.SignalsDir, "api.done"), []byte("3\n"), 0o600))
		if st = w.until("marked", func(s *orchestrator.State) bool { return s.Team["api"].Marker == "3" }); st.Team["page"].Marker != "" {
			t.Errorf("the link was followed: %+v", st.Team["page"])
		}
		h.stop()
	})
}
