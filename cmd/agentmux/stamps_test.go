package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/mail"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// stampedNames are files of one conversation as other tools and clocks name them.
var stampedNames = []string{
	"1231235959-update-api--page-eve.md",        // before the new year
	"0101000000-update-api--page-first.md",      // after it
	"0101000000-update-api--page-second.md",     // in the same second
	"1025023000-update-api--page-summer.md",     // an hour that comes twice
	"1025023000-update-api--page-winter.md",     //
	"0715093000-update-api--page-middle.md",     // older than the ones before it
	"20260715093000-update-api>page-former.md",  // the second form of names
	"20260715093000123-api-page-update-old.md",  // the first one
	"0230250000-update-api--page-impossible.md", // no such day, no such hour
}

const stampedPlaybook = `version: 1
agents:
  - role: build
    task: api
    steps:
      - run: {argv: [sh, "LAY", "{session}"]}
      - submit: {tool: msg_send, with: {to: page, type: update, headline: all, body: It is all.}}
      - hear: I have all of them.
      - write: {file: api.txt, text: "api\n"}
      - submit: {tool: submit_done}
  - role: build
    task: page
    steps:
      - hear: It is all.
      - submit: {tool: msg_send, with: {to: api, type: update, headline: thanks, body: I have all of them.}}
      - write: {file: page.txt, text: "page\n"}
      - submit: {tool: submit_done}
`

// An agent lays messages whose names lie about the time: equal seconds, an order that goes back, a new year, an hour of the
// change from summer time, older forms of names. The other one gets each of them once, and answers.
func TestProtocolT2AConversationWhoseStampsDecideNothing(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{config: "sandbox: {unsafe_flags: true}\n"})
	var lay strings.Builder
	lay.WriteString("cd \"$1/msgs\"\n")
	for _, name := range stampedNames {
		id := strings.TrimSuffix(name[strings.LastIndex(name, "-")+1:], ".md")
		lay.WriteString("printf -- '---\\nto: shop/page\\nfrom: shop/api\\ntype: update\\nmsg-id: " + id + "\\nheadline: " + id + "\\n---\\nThis is " + id + ".\\n' >.new\nmv .new '" + name + "'\n")
	}
	fmt.Fprintf(&lay, "until [ $(grep -c msg_queued ../events.jsonl) -ge %d ]; do sleep .1; done\n", len(stampedNames))
	script := filepath.Join(r.dir, "lay.sh")
	r.write(script, lay.String())
	r.write(filepath.Join(r.dir, "playbook.yaml"), strings.Replace(stampedPlaybook, "LAY", script, 1))
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), mailFile)
	if res := r.agentmux("agents", "start", "--yes", "--headless"); res.code != exit.Done {
		t.Fatalf("exit %d\n%s%s", res.code, res.out, res.err)
	}
	var rows []mail.Message
	if err := json.Unmarshal([]byte(r.expect(exit.Done, "msg", "list", "--session", "shop", "--json").out), &rows); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range rows {
		if m.State != "acked" {
			t.Errorf("message %+v", m)
		}
		if m.To == "shop/page" {
			got = append(got, filepath.Base(m.File))
		}
	}
	got = slices.DeleteFunc(got, func(name string) bool { return strings.Contains(name, "api-1") }) // the last one, which says so
	slices.Sort(got)
	want := slices.Sorted(slices.Values(stampedNames))
	if !slices.Equal(got, want) || len(rows) != len(want)+2 {
		t.Errorf("messages\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	dir := r.session().Dir
	s, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := s.Events(0)
	if err != nil {
		t.Fatal(err)
	}
	queued, delivered := map[string]int{}, map[string]int{}
	for _, record := range records {
		switch d := record.Data.(type) {
		case orchestrator.MsgQueuedRecord:
			queued[d.File]++
		case orchestrator.MsgDeliveredRecord:
			delivered[d.File]++
		}
	}
	for _, name := range stampedNames {
		file := session.MessagesDir + "/" + name
		if queued[file] != 1 || delivered[file] > 1 {
			t.Errorf("%s was queued %d times, delivered %d times", name, queued[file], delivered[file])
		}
		if _, err := os.Lstat(filepath.Join(dir, file)); err != nil {
			t.Errorf("its file: %v", err)
		}
	}
}
