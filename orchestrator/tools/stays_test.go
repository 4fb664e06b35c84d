package tools_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// overtaken is a disk that fails to sync a file, behind the end of which another one has written meanwhile.
type overtaken struct {
	durable.System
	file  string
	other func()
}

func (d *overtaken) Open(name string, how durable.Opening) (durable.File, error) {
	f, err := d.System.Open(name, how)
	if err == nil && filepath.Base(name) == path.Base(d.file) {
		f = unsynced{f, d}
	}
	return f, err
}

type unsynced struct {
	durable.File
	disk *overtaken
}

func (f unsynced) Sync() error {
	f.disk.other()
	return syscall.EIO
}

// A message whose line stays although the disk failed is not said to be lost: the session takes it, so the
// sender is told how to find out, and its file stays for the reader.
func TestProtocolJ8AMessageThatMayBeSent(t *testing.T) {
	r := startTeam(t)
	api, page := r.agent("build", "api"), r.agent("build", "page")
	behind := func() { r.ok(r.call(api, "msg_send", about("page", "update", "behind it")), "sent: ") }
	a := r.call(page.On(durable.On(&overtaken{file: session.MessageIndex, other: behind})), "msg_send", about("api", "update", "the one"))
	r.messages()
	if len(r.st.Messages) != 2 || r.st.Messages[0].Headline != "the one" {
		t.Fatalf("the session has %+v", r.st.Messages)
	}
	file := r.st.Messages[0].File
	if want := session.MessageIndex + " names " + file; a.OK || !strings.HasPrefix(a.Text, "not known to be sent: ") || !strings.Contains(a.Text, want) {
		t.Errorf("the sender is told %q", a.Text)
	}
	if index, err := os.ReadFile(r.s.Path(session.MessageIndex)); err != nil || !strings.Contains(string(index), file) {
		t.Errorf("the index is %s, %v", index, err)
	}
	r.ok(r.call(api, "msg_read", map[string]any{"file": file}), "---\nto: shop/api\nfrom: shop/page\n")
}

// Likewise a call whose line stays.
func TestProtocolJ8ACallThatMayBeRecorded(t *testing.T) {
	r := start(t, "quick")
	planner := r.agent("planner", "")
	behind := func() {
		err := r.s.Append(session.ToolEvents, r.now, func(session.Tail) (*session.NewLine, error) {
			return &session.NewLine{Tool: "report_status", Payload: orchestrator.Payload{Message: "behind"}}, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	a := r.call(planner.On(durable.On(&overtaken{file: session.ToolEvents, other: behind})), "report_status", map[string]any{"message": "m"})
	if len(r.lines()) != 2 || a.OK || !strings.HasPrefix(a.Text, "not known to be recorded: ") {
		t.Errorf("%d lines, the agent is told %q", len(r.lines()), a.Text)
	}
}
