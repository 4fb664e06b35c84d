package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/mail"
	"github.com/rogpeppe/go-internal/txtar"
)

// tree is a directory of messages as the page of messages shows it.
const tree = `
-- .ai/tx/msgs/0115100500-ask-coder-2--planner-ask-timeouts-001.md --
---
to: pipeline/planner
from: pipeline/coder-2
type: ask
msg-id: ask-timeouts-001
headline: Which timeout applies?
timestamp: 2026-01-15T10:05:00Z
---
plan_2 names two values.
-- .ai/tx/msgs/0115100700-ask-response-planner--coder-2-r1.md --
---
to: pipeline/coder-2
from: pipeline/planner
type: ask-response
in-reply-to: ask-timeouts-001
timestamp: 2026-01-15T10:07:00Z
---
# The first one
-- .ai/tx/msgs/0115110000-task-red--green-t1-failed.md --
---
to: tdd/green
from: tdd/red
type: task
status: complete
timestamp: 2026-01-15T11:00:00Z
---
Make the test pass.
-- .ai/tx/msgs/0115110001-task-red--green-t2.md --
---
to: tdd/green
type: task
timestamp: 2026-01-15T11:00:01Z
---
`

func newTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(tree)).Files {
		file := filepath.Join(dir, f.Name)
		put(t, file, string(f.Data))
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour)); err != nil { // not half written
			t.Fatal(err)
		}
	}
	return dir
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// msg runs a command and returns what it prints to each stream.
func msg(t *testing.T, code int, args ...string) (out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	got := run(t.Context(), append([]string{"msg"}, args...), console.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	if got != code {
		t.Fatalf("msg %q: exit %d, want %d\n%s%s", args, got, code, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

func TestMessagesOfADirectoryAreListed(t *testing.T) {
	dir := newTree(t)
	for _, c := range []struct {
		args string
		want string // ids, or files of what has none
	}{
		{"", "ask-timeouts-001 r1 t1 t2"},
		{"--limit 2", "t1 t2"},
		{"--type ask,ask-response", "ask-timeouts-001 r1"},
		{"--agent planner", "ask-timeouts-001 r1"},
		{"--agent tdd/red", "t1"},
		{"--mesh tdd", "t1 t2"},
		{"--errors", "t1 t2"},
		{"--since 2026-01-15T10:07:00Z --before 2026-01-15T11:00:01Z", "r1 t1"},
		{"--since 1h", ""},
		{"--before 3d", "ask-timeouts-001 r1 t1 t2"},
	} {
		out, _ := msg(t, 0, append([]string{"list", "--json", "--dir", dir}, strings.Fields(c.args)...)...)
		var rows []mail.Message
		if err := json.Unmarshal([]byte(out), &rows); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, row := range rows {
			ids = append(ids, row.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.args, got, c.want)
		}
	}
	out, _ := msg(t, 0, "list", "--dir", dir)
	for _, want := range []string{"AGE ", "pipeline/coder-2 (claimed)  pipeline/planner  start", "The first one", "failed", "from: required key missing"} {
		if !strings.Contains(out, want) {
			t.Errorf("the list does not have %q:\n%s", want, out)
		}
	}
	for _, c := range []struct{ args, says string }{
		{"list --since soon", `--since: expected an age such as 3d or 36h, or a moment such as 2026-01-15T10:05:00Z, found "soon"`},
		{"list --type asks", `--type: expected ask, ask-response, task, task-complete, update, prompt, found "asks", did you mean ask?`},
		{"list --limit -1", "--limit: expected a number of messages, found -1"},
		{"list --session one", "--dir and --session exclude each other"},
		{"list --role coder", "--dir shows files, which belong to no agent: leave out --role, --task and --launch"},
		{"read nothing", `no message is called "nothing"`},
	} {
		if _, said := msg(t, 2, append(strings.Fields(c.args), "--dir", dir)...); !strings.Contains(said, c.says) {
			t.Errorf("%s: %s", c.args, said)
		}
	}
	nowhere := filepath.Join(dir, "nowhere")
	if _, said := msg(t, 2, "list", "--dir", nowhere); !strings.HasSuffix(said, "--dir: open messages: stat "+nowhere+": no such file or directory\n") {
		t.Error(said)
	}
	if _, said := msg(t, 2, "list", "--role", "coder", "--errors"); !strings.Contains(said, "only --unread and --limit choose") {
		t.Error(said)
	}
}

func TestAMessageOfADirectoryIsRead(t *testing.T) {
	dir := newTree(t)
	out, _ := msg(t, 0, "read", "r1", "--dir", dir)
	if !strings.Contains(out, "answers    ask-timeouts-001") || !strings.Contains(out, "from       pipeline/planner (claimed)\n") || !strings.HasSuffix(out, "\n\n# The first one\n") {
		t.Error(out)
	}
	out, _ = msg(t, 0, "read", "0115100500-ask-coder-2--planner-ask-timeouts-001", "--json", "--dir", dir)
	var m mail.Message
	if err := json.Unmarshal([]byte(out), &m); err != nil || m.Body == nil || *m.Body != "plan_2 names two values.\n" || !m.Claimed {
		t.Errorf("%v: %s", err, out)
	}
	put(t, filepath.Join(dir, ".ai/tx/msgs/0115120000-update-red--green-x.md"), "---\nto: tdd/green\nfrom: tdd/red\ntype: update\nmsg-id: r1\nheadline: \"a\\u202eb\\e[31mc\"\n---\n\x1b[31mred\u202e\n")
	if _, said := msg(t, 2, "read", "r1", "--dir", dir); !strings.Contains(said, "2 messages have the id \"r1\"") || !strings.Contains(said, "0115120000-update-red--green-x.md") {
		t.Error(said)
	}
	out, _ = msg(t, 0, "read", "0115120000-update-red--green-x", "--dir", dir)
	if strings.ContainsAny(out, "\x1b\u202e") || !strings.Contains(out, "ab[31mc") {
		t.Errorf("a terminal would be steered: %q", out)
	}
}

func TestMessagesOfADirectoryAreCounted(t *testing.T) {
	dir := newTree(t)
	out, _ := msg(t, 0, "stats", "--json", "--dir", dir)
	var c mail.Counts
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	if c.Messages != 4 || c.Types["task"] != 2 || c.States["failed"] != 2 || c.States["queued"] != 2 ||
		c.Agents["tdd/green"].Received != 2 || c.Agents["pipeline/planner"] != (mail.AgentCount{Sent: 1, Claimed: 1, Received: 1}) || c.Hours["2026-01-15T10:00Z"] != 2 {
		t.Errorf("%+v", c)
	}
	out, _ = msg(t, 0, "stats", "--dir", dir)
	for _, want := range []string{"messages   4", "2 task", "2 failed", "pipeline/coder-2  1 (claimed)  1", "2026-01-15T11:00Z  2"} {
		if !strings.Contains(out, want) {
			t.Errorf("the counts do not have %q:\n%s", want, out)
		}
	}
}

// The page has each key that programs get.
func TestMessagesOfADirectoryHaveDocumentedKeys(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "messages.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range jsonFields(reflect.TypeFor[mail.Message](), "") {
		if !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("no %s", key)
		}
	}
}

// linesOut hands on what a command prints, a line at a time.
type linesOut struct {
	rest  []byte
	lines chan string
}

func (o *linesOut) Write(p []byte) (int, error) {
	o.rest = append(o.rest, p...)
	for {
		line, rest, ok := bytes.Cut(o.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		o.lines <- string(line)
		o.rest = rest
	}
}

// New messages are shown once each, whatever their stamps say: the first ones of a new year have
// smaller ones. A file that is half written is shown when it is whole, and the new name of a
// message that is over is not a new message.
func TestMessagesAreFollowed(t *testing.T) {
	dir := newTree(t)
	msgs := filepath.Join(dir, ".ai/tx/msgs")
	ctx, cancel := context.WithCancel(t.Context())
	out := &linesOut{lines: make(chan string, 100)}
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"msg", "follow", "--dir", dir, "--limit", "1", "--mesh", "tdd", "--json"}, console.Streams{In: strings.NewReader(""), Out: out, Err: &bytes.Buffer{}})
	}()
	next := func(want string) {
		t.Helper()
		select {
		case line := <-out.lines:
			var m mail.Message
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.ID != want {
				t.Fatalf("%s, want %s", line, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s is not shown", want)
		}
	}
	text := func(id, stamp string) string {
		return "---\nto: tdd/red\nfrom: tdd/green\ntype: update\nmsg-id: " + id + "\ntimestamp: " + stamp + "\n---\n"
	}
	next("t2")
	put(t, filepath.Join(msgs, "1231235959-update-green--red-a.md"), text("last-year", "2026-12-31T23:59:59Z"))
	next("last-year")
	put(t, filepath.Join(msgs, "0101000000-update-green--red-b.md"), text("new-year", "2026-01-01T00:00:00Z"))
	next("new-year")
	half := filepath.Join(msgs, "0101000001-update-green--red-c.md")
	whole := text("whole", "2027-01-01T00:00:01Z")
	put(t, half, whole[:len(whole)-4])
	put(t, filepath.Join(msgs, "0101000002-update-core--brain-d.md"), strings.ReplaceAll(text("other-mesh", "2027-01-01T00:00:02Z"), "tdd/", "else/"))
	if err := os.Rename(filepath.Join(msgs, "1231235959-update-green--red-a.md"), filepath.Join(msgs, "1231235959-update-green--red-a-done.md")); err != nil {
		t.Fatal(err)
	}
	put(t, half, whole)
	next("whole")
	put(t, filepath.Join(msgs, "0101000003-update-green--red-e.md"), text("end", "2027-01-01T00:00:03Z"))
	next("end")
	cancel()
	if code := <-done; code != 0 {
		t.Errorf("exit %d", code)
	}
}
