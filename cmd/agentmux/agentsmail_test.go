package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/mail"
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
      - submit: {tool: msg_send, with: {to: api, type: ask, headline: "Which port?", body: "The page needs it.\n"}}
      - hear: it is 8080
      - write: {file: page.txt, text: "8080\n"}
      - submit: {tool: submit_done}
  - role: build
    task: api
    steps:
      - hear: The page needs it.
      - submit: {tool: msg_send, via: cli, args: [msg, send, --to, shop/page, --type, ask-response, --in-reply-to, page-1, --headline, it is 8080, --body, it is 8080]}
      - submit: {tool: msg_send, with: {to: nobody, type: task, headline: x, body: x}, refused: true}
      - submit: {tool: msg_send, with: {to: page, type: task, status: blocked, headline: x, body: x}, refused: true}
      - write: {file: api.txt, text: "api\n"}
      - submit: {tool: submit_done}
`

// Two agents of a run write to each other, by the tool and by its twin, and the person sees what they
// wrote.
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
	if res := r.agentmux("agents", "start", "--yes", "--headless"); res.code != 0 {
		for _, name := range []string{"1.build.api.1", "1.build.page.1"} {
			t.Log(r.read(r.session().Dir, "transcripts", name+".log"))
		}
		t.Fatal(res.err)
	}
	if got := r.git(r.clone, "show", "feature/page:page.txt"); got != "8080" {
		t.Errorf("feature/page holds %q", got)
	}
	var rows []mail.Message
	if err := json.Unmarshal([]byte(r.expect(exit.Done, "msg", "list", "--session", "shop", "--json").out), &rows); err != nil || len(rows) != 2 {
		t.Fatalf("messages %+v, %v", rows, err)
	}
	for i, want := range []mail.Message{
		{Type: "ask", Status: "start", From: "shop/page", To: "shop/api", Headline: "Which port?", ID: "page-1", State: "acked"},
		{Type: "ask-response", Status: "complete", From: "shop/api", To: "shop/page", Headline: "it is 8080", ID: "api-2", State: "acked"},
	} {
		got := rows[i]
		if got.Type != want.Type || got.Status != want.Status || got.From != want.From || got.To != want.To || got.Headline != want.Headline || got.ID != want.ID || got.State != want.State {
			t.Errorf("message %+v, want %+v", got, want)
		}
	}
	if out := r.expect(exit.Done, "msg", "read", "page-1", "--session", "shop").out; !strings.HasSuffix(out, "\n\nThe page needs it.\n") {
		t.Errorf("read: %s", out)
	}
	r.expect(exit.Done, "doctor", "shop")
}
