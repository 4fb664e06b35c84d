package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/mail"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

const mailFile = `session: shop
agents:
  - name: api
    branch: feature/api
    task: Write the API
  - name: page
    branch: feature/page
    task: Write the page
`

const mailPlaybook = `version: 1
agents:
  - role: build
    task: page
    steps:
      - expect: "api (build): ` + "`shop/api`" + `"
      - hear: the title is Shop
      - submit: {tool: msg_send, with: {to: core/core, type: ask, headline: "Which language?", body: "Go?\n"}}
      - hear: nobody answered
      - submit: {tool: msg_send, with: {to: api, type: ask, headline: "Which port?", body: "The page needs it.\n"}}
      - hear: it is 8080
      - write: {file: page.txt, text: "8080\n"}
      - submit: {tool: submit_done}
  - role: build
    task: api
    steps:
      - expect: "status ` + "`complete`" + ` to page: the API is there"
      - hear: The page needs it.
      - submit: {tool: msg_send, via: cli, args: [msg, send, --to, shop/page, --type, ask-response, --in-reply-to, page-2, --headline, it is 8080, --body, it is 8080]}
      - submit: {tool: msg_send, with: {to: nobody, type: task, headline: x, body: x}, refused: true}
      - submit: {tool: msg_send, with: {to: page, type: task, status: blocked, headline: x, body: x}, refused: true}
      - write: {file: api.txt, text: "api\n"}
      - submit: {tool: submit_done}
`

// Two agents of a run write to each other, by the tool and by its twin, and to the person, who
// cannot be asked here, writes and sees all of it.
func TestAgentsWriteToOneAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: mailPlaybook, config: "sandbox: {unsafe_flags: true}\n"})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), mailFile)
	table := filepath.Join(r.clone, "meshes", "mesh-configs", "shop.json")
	r.write(table, `{"mesh":"shop","routing":{"api":{"complete":{"pages":"typed wrong"}}}}`)
	if res := r.expect(exit.BadUsage, "agents", "start", "--yes", "--headless"); !strings.Contains(res.err, `no agent is called "pages", did you mean "page"?`) || len(r.sessions()) > 0 {
		t.Errorf("a table with a mistake: %s", res.err)
	}
	r.write(table, `{"mesh":"shop","routing":{"api":{"complete":{"page":"the API is there"}}}}`)
	b := r.background("agents", "start", "--yes", "--headless")
	r.atWork("build")
	if res := r.expect(exit.BadUsage, "msg", "send", "--to", "nobody", "--type", "update", "--headline", "", "--body", "x"); !strings.Contains(res.err, `--to: no agent is called "nobody"`) {
		t.Errorf("a message to nobody: %s", res.err)
	}
	body := filepath.Join(r.dir, "body.md")
	r.write(body, "So it is,\nfor now.\n")
	for file, want := range map[string]string{body: "--file and --body both give the body", r.dir: r.dir + " is not a file", "none.md": "no such file"} {
		args := []string{"msg", "send", "--to", "page", "--type", "update", "--headline", "x", "--file", file}
		if file == body {
			args = append(args, "--body", "x")
		}
		if res := r.expect(exit.BadUsage, args...); !strings.Contains(res.err, want) {
			t.Errorf("--file %s: %s, want %q", file, res.err, want)
		}
	}
	if res := r.expect(exit.Done, "msg", "send", "--to", "page", "--type", "update", "--headline", "the title is Shop", "--file", body); !strings.Contains(res.err+res.out, "msg send: done") {
		t.Errorf("a message to page: %s%s", res.err, res.out)
	}
	b.over()
	if code := b.cmd.ProcessState.ExitCode(); code != exit.Done {
		t.Fatalf("exit code %d: %s", code, b.out.String())
	}
	if got := r.git(r.clone, "show", "feature/page:page.txt"); got != "8080" {
		t.Errorf("feature/page holds %q", got)
	}
	var rows []mail.Message
	if err := json.Unmarshal([]byte(r.expect(exit.Done, "msg", "list", "--session", "shop", "--json").out), &rows); err != nil || len(rows) != 5 {
		t.Fatalf("messages %+v, %v", rows, err)
	}
	var got []string
	for _, m := range rows {
		if m.Type == "update" && !strings.HasSuffix(r.expect(exit.Done, "msg", "read", m.ID, "--session", "shop").out, "\n\nSo it is,\nfor now.\n") {
			t.Errorf("the body from a file: %+v", m)
		}
		got = append(got, strings.Join([]string{m.Type, m.Status, m.From, m.To, m.Headline, m.InReplyTo, m.State}, " | "))
	}
	slices.Sort(got) // they are of one second
	if want := []string{
		"ask | start | shop/page | core/core | Which language? |  | acked",
		"ask | start | shop/page | shop/api | Which port? |  | acked",
		"ask-response | complete | core/core | shop/page | answer to m2 | page-1 | acked",
		"ask-response | complete | shop/api | shop/page | it is 8080 | page-2 | acked",
		"update | start | core/core | shop/page | the title is Shop |  | acked",
	}; !slices.Equal(got, want) {
		t.Errorf("messages\n%s", strings.Join(got, "\n"))
	}
	if out := r.expect(exit.Done, "msg", "read", "page-2", "--session", "shop").out; !strings.HasSuffix(out, "\n\nThe page needs it.\n") {
		t.Errorf("read: %s", out)
	}
	dir := r.session().Dir
	for file, want := range map[string]int{"queues/shop-queue.json": 4, "queues/core-queue.json": 1} {
		if n := strings.Count(r.read(dir, file), `"state": "acked"`); n != want {
			t.Errorf("%s shows %d messages, want %d", file, n, want)
		}
	}
	for file, want := range map[string]string{"shop-page": "shop/page", "shop-api": "shop/api", "core-core": "core/core"} {
		if text := r.read(dir, "offsets", file+".json"); !strings.Contains(text, `"agentId": "`+want+`"`) || strings.Contains(text, "null") {
			t.Errorf("the offset of %s: %s", want, text)
		}
	}
	r.expect(exit.Done, "doctor", "shop")
}

// With --from a person sends a message as of somebody else: a claim, of which its reader is told, and
// which an agent cannot make.
func TestAMessageOfAnotherSenderIsClaimed(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{config: "sandbox: {unsafe_flags: true}\n", playbook: `version: 1
agents:
  - role: build
    steps:
      - hear: the port is 8080
      - write: {file: page.txt, text: "8080\n"}
      - submit: {tool: submit_done}
`})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), "session: shop\nagents:\n  - name: page\n    branch: feature/page\n    task: Write the page\n")
	b := r.background("agents", "start", "--yes", "--headless")
	r.atWork("build")
	send := []string{"msg", "send", "--to", "page", "--type", "update", "--headline", "the port is 8080", "--body", "So.", "--from"}
	if res := r.expect(exit.BadUsage, append(send, "ops")...); !strings.Contains(res.err, `--from: expected mesh/agent, found "ops"`) {
		t.Errorf("a sender that is not an address: %s", res.err)
	}
	if res := r.expect(exit.BadUsage, append(send, "shop/ops", "--role", "build", "--task", "page")...); !strings.Contains(res.err, "--from: the sender is the agent of the launch") {
		t.Errorf("an agent's: %s", res.err)
	}
	if res := r.expect(exit.Done, append(send, "shop/ops")...); !strings.Contains(res.err, "of a sender that is claimed") {
		t.Errorf("sent: %s", res.err)
	}
	b.over()
	if code := b.cmd.ProcessState.ExitCode(); code != exit.Done {
		t.Fatalf("exit code %d: %s", code, b.out.String())
	}
	var rows []mail.Message
	if err := json.Unmarshal([]byte(r.expect(exit.Done, "msg", "list", "--session", "shop", "--json").out), &rows); err != nil || len(rows) != 1 ||
		rows[0].From != "shop/ops" || !rows[0].Claimed || rows[0].To != "shop/page" {
		t.Errorf("messages %+v, %v", rows, err)
	}
}

// A person who does not wait for what becomes of a message leaves it to the session.
func TestAMessageOutlivesTheCommandThatSentIt(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{config: "sandbox: {unsafe_flags: true}\n", playbook: `version: 1
agents:
  - role: build
    steps:
      - hear: the title is Shop
      - write: {file: page.txt, text: "Shop\n"}
      - submit: {tool: submit_done}
`})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), "session: shop\nagents:\n  - name: page\n    branch: feature/page\n    task: Write the page\n")
	b := r.background("agents", "start", "--yes", "--headless")
	e := r.atWork("build")
	if err := b.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	sent := r.background("msg", "send", "--to", "page", "--type", "update", "--headline", "the title is Shop", "--body", "So.")
	r.eventually("the message is recorded", func() bool {
		lines, err := os.ReadFile(filepath.Join(e.Dir, session.Commands))
		return err == nil && strings.Contains(string(lines), "msg send")
	}, sent.out.String)
	if code := sent.exit(syscall.SIGINT); code != exit.Canceled || !strings.Contains(sent.out.String(), "is not known to be sent; agentmux msg list --session shop") {
		t.Errorf("exit code %d: %s", code, sent.out.String())
	}
	if err := b.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.over()
	if code := b.cmd.ProcessState.ExitCode(); code != exit.Done {
		t.Errorf("exit code %d: %s", code, b.out.String())
	}
}

// talkPlaybook is a conversation of two agents alone.
const talkPlaybook = `version: 1
agents:
  - role: build
    task: page
    steps:
      - submit: {tool: msg_send, with: {to: api, type: ask, headline: "Which port?", body: "The page needs it.\n"}}
      - hear: it is 8080
      - submit: {tool: msg_send, with: {to: api, type: update, headline: thank you, body: "The page is on its way.\n"}}
      - write: {file: page.txt, text: "8080\n"}
      - submit: {tool: submit_done}
  - role: build
    task: api
    steps:
      - hear: The page needs it.
      - submit: {tool: msg_send, with: {to: page, type: ask-response, in_reply_to: page-1, headline: it is 8080, body: it is 8080}}
      - hear: on its way
      - write: {file: api.txt, text: "api\n"}
      - submit: {tool: submit_done}
`

// What agents write while the host is dead, and what it had taken before, is delivered by the next
// one, each message once.
func TestMessagesOutliveAKilledHost(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: talkPlaybook, config: "sandbox: {unsafe_flags: true}\n"})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), mailFile)
	r.killAfter(9, "agents", "start", "--yes", "--headless")
	if res := r.agentmux("agents", "start", "--yes", "--headless"); res.code != exit.Done && !strings.Contains(res.err, "every agent has a marker") {
		t.Fatalf("exit %d\n%s%s", res.code, res.out, res.err)
	}
	var rows []mail.Message
	if err := json.Unmarshal([]byte(r.expect(exit.Done, "msg", "list", "--session", "shop", "--json").out), &rows); err != nil || len(rows) != 3 {
		t.Fatalf("messages %+v, %v", rows, err)
	}
	for _, m := range rows {
		if m.State != "acked" {
			t.Errorf("message %+v", m)
		}
	}
	r.expect(exit.Done, "doctor", "shop")
}
