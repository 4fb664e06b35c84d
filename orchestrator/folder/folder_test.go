package folder_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/folder"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/workflows/message"
)

var now = time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, now, now); err != nil {
		t.Fatal(err)
	}
}

func text(from, to, kind, more string) string {
	return "---\nfrom: " + from + "\nto: " + to + "\ntype: " + kind + "\n" + more + "---\nbody of " + kind + "\n"
}

func open(t *testing.T, dir string) *folder.Folder {
	t.Helper()
	f, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t *testing.T, f *folder.Folder) []folder.Entry {
	t.Helper()
	entries, err := f.Read(now)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// shown is a message in one line.
func shown(e folder.Entry) string {
	m := e.Message
	return fmt.Sprintf("%s %s %s>%s %s %s", m.ID, m.Type, m.From, m.To, e.State, e.Reason)
}

// What became of each message of a tree is told by its name, by how far its reader is, also
// across a new year, and by its deadline; files that are not messages are told with the reason.
func TestATreeIsRead(t *testing.T) {
	dir := t.TempDir()
	msgs := filepath.Join(dir, ".ai/tx/msgs")
	for name, content := range map[string]string{
		"1231235958-task-core>brain-old.md":            text("core/core", "brain/brain", "task", ""),
		"1231235959-task-core--brain-edge.md":          text("core/core", "brain/brain", "task", ""),
		"0101000000-task-core--brain-new.md":           text("core/core", "brain/brain", "task", ""),
		"0101000001-brain-core-task-complete-first.md": text("brain/brain", "core/core", "task-complete", "in-reply-to: old\n"),
		"0101000002-update-brain--core-over-done.md":   text("brain/brain", "core/core", "update", ""),
		"0101000003-update-brain--core-lost-orphan.md": text("brain/brain", "core/core", "update", ""),
		"0101000004-update-brain--core-bad-failed.md":  text("brain/brain", "core/core", "update", ""),
		"0101000005-ask-brain--core-late.md":           text("brain/brain", "core/core", "ask", "deadline: 2026-01-01T00:30:00Z\n"),
		"0101000006-ask-brain--core-twice.md":          "---\nfrom: brain/brain\ntype: ask\n",
		"0101000007-ask-brain--core-list.md":           text("brain/brain", "[a/b]", "ask", ""),
		"0101000008-ask-brain--core-big.md":            text("brain/brain", "core/core", "ask", "") + strings.Repeat("x", message.MaxFile),
		strings.Repeat("n", 252) + ".md":               text("brain/brain", "core/core", "update", "msg-id: long\n"),
		".hidden.md":                                   "x",
		"0101000009-task-core--brain-half.md.tmp":      "x",
		"notes.txt":                           "x",
		"0101000010-task-core--brain-said.md": text("core/core", "brain/brain", "task", "timestamp: 2025-12-01T00:00:00+02:00\npriority: urgent\n"),
		"0101000011-task-core--brain-crlf.md": strings.ReplaceAll(text("core/core", "brain/brain", "task", "msg-id: crlf-1\n"), "\n", "\r\n"),
		"../state/offsets/brain-brain.json":   `{"agentId":"brain/brain","lastProcessedTimestamp":"2025-12-31T23:59:59.000Z","updatedAt":"x"}`,
		"../state/offsets/bad.json":           `{`,
	} {
		write(t, filepath.Join(msgs, name), content)
	}
	if err := os.Symlink("notes.txt", filepath.Join(msgs, "0101000012-task-core--brain-link.md")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(msgs, "0101000013-task-core--brain-fifo.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSpace(`
said task core/core>brain/brain queued
new task core/core>brain/brain queued
first task-complete brain/brain>core/core queued
over update brain/brain>core/core acked
lost update brain/brain>core/core orphan the name of the file says so
bad update brain/brain>core/core failed the name of the file says so
late ask brain/brain>core/core expired its deadline passed
twice ask brain>core failed the keys have no end: expected another line ---
list ask brain/brain>core failed to: expected text, found a list
big ask brain>core failed larger than 256 KiB
crlf-1 task core/core>brain/brain queued
old task core/core>brain/brain acked
edge task core/core>brain/brain acked
long update brain/brain>core/core queued`)
	for _, at := range []string{dir, filepath.Join(dir, ".ai/tx"), msgs} {
		var lines []string
		for _, e := range read(t, open(t, at)) {
			lines = append(lines, strings.TrimSpace(shown(e)))
		}
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", at, got, want)
		}
	}
	entries := read(t, open(t, dir))
	if e := entries[0]; len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "priority") || !e.At.Equal(time.Date(2025, 11, 30, 22, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", e)
	}
}

func TestMessagesAreFound(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "msgs/1102083000-task-core--brain-abc.md"), text("core/core", "brain/brain", "task", ""))
	write(t, filepath.Join(dir, "msgs/1102091530-task-complete-brain--core-abc-done.md"), text("brain/brain", "core/core", "task-complete", ""))
	f := open(t, dir)
	entries := read(t, f)
	for name, want := range map[string]int{
		"abc": 2, "1102083000-task-core--brain-abc.md": 1, "msgs/1102091530-task-complete-brain--core-abc.md": 1, "ab": 0, "": 0,
	} {
		if got := folder.Find(entries, name); len(got) != want {
			t.Errorf("%q finds %d messages, want %d", name, len(got), want)
		}
	}
	if body, err := f.Body(entries[0]); err != nil || string(body) != "body of task\n" {
		t.Errorf("%q, %v", body, err)
	}
	// A message that was read before is not shown again under the name it has at its end.
	seen := map[string]bool{}
	for _, e := range entries {
		seen[e.Same()] = true
	}
	if err := os.Rename(filepath.Join(f.Dir, entries[0].File), filepath.Join(f.Dir, "1102083000-task-core--brain-abc-done.md")); err != nil {
		t.Fatal(err)
	}
	if others, err := f.ReadNew(now, seen); err != nil || len(others) != 0 {
		t.Errorf("%+v, %v", others, err)
	}
	if _, err := f.Body(entries[0]); err == nil {
		t.Error("a file that is gone has a body")
	}
}

// Of a session's messages its state knows more than their files.
func TestMessagesOfASession(t *testing.T) {
	dir := t.TempDir()
	const name = "0101000000-update-core--coder-1-m1.md"
	write(t, filepath.Join(dir, "msgs", name), text("core/core", "pipeline/coder-1", "update", ""))
	f := folder.OfSession(dir, &orchestrator.State{Messages: []orchestrator.Message{{File: "msgs/" + name, State: orchestrator.MessageFailed, Reason: "not acknowledged"}}})
	entries := read(t, f)
	if len(entries) != 1 || entries[0].State != orchestrator.MessageFailed || entries[0].Reason != "not acknowledged" {
		t.Errorf("%+v", entries)
	}
	s := &orchestrator.State{Phase: "working", Messages: []orchestrator.Message{{File: "msgs/" + name, State: orchestrator.MessageQueued}}}
	for want, change := range map[string]func(){
		"":                      func() {},
		"the session is paused": func() { s.Paused = true },
		"the session has ended (failed); it is delivered if the session continues": func() { s.Phase, s.Outcome = orchestrator.PhaseFailed, orchestrator.OutcomeFailed },
	} {
		before := *s
		change()
		if e := read(t, folder.OfSession(dir, s))[0]; e.State != orchestrator.MessageQueued || e.Reason != want {
			t.Errorf("a queued message is %s, %q, want %q", e.State, e.Reason, want)
		}
		*s = before
	}
	if entries := read(t, folder.OfSession(t.TempDir(), nil)); len(entries) != 0 {
		t.Errorf("a session without messages has %+v", entries)
	}
}

func TestNoMessages(t *testing.T) {
	var none *folder.NoMessagesError
	if _, err := folder.Open(t.TempDir()); !errors.As(err, &none) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := folder.Open(filepath.Join(t.TempDir(), "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	if _, err := folder.Open(file); err == nil {
		t.Error("a file is a directory of messages")
	}
}

// What a session took has the sender that the session knows. A file that was laid there, or changed
// since, has only a claimed one.
func TestProtocolT8WhatOnlyAFileSaysIsClaimed(t *testing.T) {
	dir := t.TempDir()
	sent := text("shop/page", "shop/api", "update", "msg-id: sent\n")
	sum := sha256.Sum256([]byte(sent))
	taken := func(file string, by orchestrator.Launch) orchestrator.Message {
		return orchestrator.Message{
			File: "msgs/" + file, SHA256: hex.EncodeToString(sum[:]), From: "shop/page", By: by, State: orchestrator.MessageAcked,
		}
	}
	s := &orchestrator.State{Messages: []orchestrator.Message{taken("sent.md", "1.build.page.1"), taken("edited.md", "1.build.page.1"), taken("hand.md", post.ByHand)}}
	write(t, filepath.Join(dir, "msgs/sent.md"), sent)
	write(t, filepath.Join(dir, "msgs/hand.md"), sent)
	write(t, filepath.Join(dir, "msgs/edited.md"), text("core/core", "shop/api", "update", "msg-id: edited\n"))
	write(t, filepath.Join(dir, "msgs/forged.md"), text("core/core", "shop/api", "update", "msg-id: forged\n"))
	line := func(f *folder.Folder) (lines []string) {
		for _, e := range read(t, f) {
			lines = append(lines, fmt.Sprintf("%s %s %s %t %d", e.File, e.Message.From, e.Message.Requester, e.Claimed, len(e.Warnings)))
		}
		return lines
	}
	want := []string{"edited.md shop/page shop/page true 1", "forged.md core/core core/core true 0", "hand.md shop/page shop/page true 0", "sent.md shop/page shop/page false 0"}
	if got := line(folder.OfSession(dir, s)); !slices.Equal(got, want) {
		t.Errorf("a session shows %q\nwant %q", got, want)
	}
	for _, e := range read(t, open(t, dir)) { // a directory says nothing of who wrote its files
		if !e.Claimed {
			t.Errorf("%+v", e)
		}
	}
}
