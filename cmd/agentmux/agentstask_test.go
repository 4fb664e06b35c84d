package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/mail"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

const taskFile = `session: shop-1a2b3c
agents:
  - {name: api, branch: feature/api, task: Write the API}
  - {name: page, branch: feature/page, task: Write the page}
  - {name: late, branch: feature/late, task: Write what is late}
`

// taskPlaybook is a conversation of agents by task, task-complete and prompt; OPEN is a file that the test makes.
const taskPlaybook = `version: 1
agents:
  - role: build
    task: page
    steps:
      - submit: {tool: msg_send, with: {to: shop/api, type: task, headline: Write down the port, body: "The page needs it.\n"}}
      - hear: The port is in api.txt.
      - hear: You own the page.
      - write: {file: page.txt, text: "8080\n"}
      - submit: {tool: submit_done}
  - role: build
    task: api
    steps:
      - hear: The page needs it.
      - write: {file: api.txt, text: "8080\n"}
      - submit: {tool: msg_send, with: {to: page, type: task-complete, status: complete, in_reply_to: page-1, headline: It is written down, body: "The port is in api.txt.\n"}}
      - run: {argv: [sh, -c, "until [ -e 'OPEN' ]; do sleep 0.1; done"]}
      - submit: {tool: submit_done}
  - role: build
    task: late
    steps:
      - run: {argv: [sh, -c, "until [ -e 'OPEN' ]; do sleep 0.1; done"]}
      - hear: It expired once.
      - write: {file: late.txt, text: "late\n"}
      - submit: {tool: submit_done}
`

// letters are the messages of the only session by their headline.
func (r *rig) letters() map[string]mail.Message {
	r.t.Helper()
	var rows []mail.Message
	if err := json.Unmarshal([]byte(r.expect(exit.Done, "msg", "list", "--json").out), &rows); err != nil {
		r.t.Fatal(err)
	}
	byHeadline := map[string]mail.Message{}
	for _, m := range rows {
		byHeadline[m.Headline] = m
	}
	return byHeadline
}

// Agents give one another tasks, which end no work of the session; a prompt of another tool is one more
// message. A person takes a message of a run that works as read, and has one delivered again.
func TestTasksPromptsAndAPersonsHandInMessages(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{config: "sandbox: {unsafe_flags: true}\n"})
	open := filepath.Join(r.dir, "open")
	r.write(filepath.Join(r.dir, "playbook.yaml"), strings.ReplaceAll(taskPlaybook, "OPEN", open))
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), taskFile)
	b := r.background("agents", "start", "--yes", "--headless")
	e := r.atWork("build")
	state := func(headline, want string) {
		t.Helper()
		var got mail.Message
		r.eventually(headline+" is "+want, func() bool { got = r.letters()[headline]; return got.State == want }, b.out.String)
	}
	send := func(headline, body string, more ...string) string {
		t.Helper()
		res := r.expect(exit.Done, append([]string{"msg", "send", "--to", "shop/late", "--type", "task", "--headline", headline, "--body", body}, more...)...)
		if !strings.Contains(res.err, `--to: "shop/late" is the bare name of a mesh and was taken for shop-1a2b3c/late, the whole address`) {
			t.Errorf("no warning: %s", res.err)
		}
		return r.letters()[headline].ID
	}

	state("It is written down", "acked")
	if got := r.letters()["Write down the port"]; got.Type != "task" || got.State != "acked" || got.To != "shop-1a2b3c/api" {
		t.Errorf("task %+v", got)
	}
	if got := r.letters()["It is written down"]; got.Type != "task-complete" || got.Status != "complete" || got.InReplyTo != "page-1" {
		t.Errorf("task-complete %+v", got)
	}
	if made, err := os.ReadDir(filepath.Join(e.Dir, session.SignalsDir)); err != nil || len(made) > 0 {
		t.Errorf("markers %v, %v", made, err)
	}
	r.write(filepath.Join(e.Dir, session.MessagesDir, "0115100500-prompt-system--page-p1.md"),
		"---\nto: shop-1a2b3c/page\nfrom: system\ntype: prompt\nstatus: start\nmsg-id: p1\nheadline: The prompt\n---\nYou own the page.\n")
	state("The prompt", "acked")
	if got := r.letters()["The prompt"]; got.Type != "prompt" || !got.Claimed {
		t.Errorf("prompt %+v", got)
	}

	ack := send("Not of use", "It is not read.")
	r.expect(exit.Done, "msg", "ack", ack)
	state("Not of use", "acked")
	if res := r.expect(exit.Failed, "msg", "retry", ack); !strings.Contains(res.err+res.out, " is acked") {
		t.Errorf("retry of what was read: %s%s", res.out, res.err)
	}
	retry := send("Once more", "It expired once.", "--deadline", "2026-01-15T10:05:00Z")
	state("Once more", "expired")
	if res := r.expect(exit.Failed, "msg", "ack", retry); !strings.Contains(res.err+res.out, " is expired") {
		t.Errorf("ack of what expired: %s%s", res.out, res.err)
	}
	r.expect(exit.Done, "msg", "retry", retry)
	if got := r.letters()["Once more"]; got.State != "queued" && got.State != "delivered" {
		t.Errorf("retried %+v", got)
	}
	for _, command := range []string{"ack", "retry"} {
		if res := r.expect(exit.BadUsage, "msg", command, "none"); !strings.Contains(res.err+res.out, `no message is called "none"`) {
			t.Errorf("%s of nothing: %s%s", command, res.out, res.err)
		}
	}

	r.write(open, "")
	b.over()
	if code := b.cmd.ProcessState.ExitCode(); code != exit.Done {
		t.Fatalf("exit code %d: %s", code, b.out.String())
	}
	if got := r.git(r.clone, "show", "feature/late:late.txt"); got != "late" {
		t.Errorf("feature/late holds %q", got)
	}
	if got := r.letters()["Once more"]; got.State != "acked" {
		t.Errorf("retried %+v", got)
	}
	r.expect(exit.Done, "doctor", "shop-1a2b3c")
}

// Of several runs a message goes to the one whose mesh its address names; a bare name that several have is
// refused with their names.
func TestTheAddressOfAMessageNamesItsRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	for _, name := range []string{"shop-1a2b3c", "shop-4d5e6f", "tools-7a8b9c"} {
		s, err := session.Create(session.CreateSpec{
			Project: r.clone, Now: time.Now(), Name: name, Agents: []byte(strings.Replace(taskFile, "shop-1a2b3c", name, 1)),
			State: orchestrator.State{Kind: orchestrator.KindAgents, Settings: orchestrator.DefaultSettings(), BaseSHA: "abc"},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
	}
	for to, want := range map[string][]string{
		"shop/api":           {"shop-1a2b3c", "shop-4d5e6f", "--session names it"},
		"api":                {"shop-1a2b3c", "shop-4d5e6f", "tools-7a8b9c", "--session names it"},
		"shop-1a2b3c/nobody": {`no agent is called "shop-1a2b3c/nobody"; expected one of shop-1a2b3c/api`},
		"tools/nobody":       {`no agent is called "tools/nobody"; expected one of tools-7a8b9c/api`},
	} {
		res := r.expect(exit.BadUsage, "msg", "send", "--to", to, "--type", "update", "--headline", "x", "--body", "x")
		for _, text := range want {
			if !strings.Contains(res.err, text) {
				t.Errorf("%s: no %q in %s", to, text, res.err)
			}
		}
		if to == "shop/api" && strings.Contains(res.err, "tools-7a8b9c") {
			t.Errorf("%s: %s", to, res.err)
		}
	}
}
