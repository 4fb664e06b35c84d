package mail_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/mail"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// Of the messages that come while a session is followed, those that an agent sent are from it, and only
// those that somebody laid there are claimed.
func TestProtocolT8AFollowedMessageHasTheSenderTheSessionKnows(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	_, definition, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: time.Now(), Name: "shop", Source: "shop", Request: "Say two.", Definition: definition,
		State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "abc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	msgs := s.Path(session.MessagesDir)
	if err := os.MkdirAll(msgs, 0o755); err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	finder := &site.Finder{Console: console.New(console.Streams{Out: in}, func() *redact.Redactor { return redact.New() }), Project: t.TempDir()}
	go func() {
		done <- mail.Follow(ctx, finder, mail.Options{Source: mail.Source{Session: s.Dir}, JSON: true})
	}()
	lines := bufio.NewScanner(out)
	next := func() (m mail.Message) {
		t.Helper()
		if !lines.Scan() {
			t.Fatal("nothing more is shown: ", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	text := []byte("---\nto: shop/api\nfrom: shop/page\ntype: update\n---\nx\n")
	lay := func(name string, at time.Time) {
		t.Helper()
		draft := filepath.Join(msgs, ".draft")
		err := errors.Join(os.WriteFile(draft, text, 0o600), os.Chtimes(draft, at, at), os.Rename(draft, filepath.Join(msgs, name)))
		if err != nil {
			t.Fatal(err)
		}
	}
	lay("forged.md", time.Now().Add(-time.Hour)) // the session had time to take it
	if m := next(); m.File != "forged.md" || !m.Claimed {
		t.Errorf("%+v", m)
	}
	state, err := s.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	lay("sent.md", time.Now()) // as msg_send does it: the host takes it a moment later
	state.Messages = append(state.Messages, orchestrator.Message{
		Seq: 1, File: "msgs/sent.md", SHA256: hex.EncodeToString(sum[:]), From: "shop/page", To: "shop/api", Type: "update", By: "1.build.page.1", State: orchestrator.MessageAcked,
	})
	if err := s.Commit(decide.Step{State: state, Changed: true}); err != nil {
		t.Fatal(err)
	}
	if m := next(); m.File != "sent.md" || m.Claimed || m.From != "shop/page" || m.State != orchestrator.MessageAcked {
		t.Errorf("%+v", m)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// No text of a message, nor the name of its file, controls a terminal or adds a line, and what is
// invisible hides no secret.
func TestWhatMessagesSayStaysInItsLine(t *testing.T) {
	dir := t.TempDir()
	secret := "ghp_" + strings.Repeat("a1B2c3", 6)
	hidden := secret[:10] + "\u200b" + secret[10:]
	for name, text := range map[string]string{
		"0101000000-ask-page\x1b[31m\n\u202e--api-x.md": "---\nfrom: \"shop/page\\e]0;t\\a\\n\"\n---\n",
		"sent.md": "---\nto: shop/api\nfrom: shop/page\ntype: update\nmsg-id: sent\nheadline: \"a\\e]0;t\\a\\nb\\r\\u202e\\u2028c " + hidden + "\"\n---\n\x1b[31m\x1b]0;t\x07\r\u202ex\n" + hidden + "\n",
	} {
		at := time.Now().Add(-time.Hour)
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	out, in := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	finder := &site.Finder{Console: console.New(console.Streams{Out: in}, func() *redact.Redactor { return redact.New() })}
	go func() {
		err := mail.Follow(ctx, finder, mail.Options{Source: mail.Source{Dir: dir}})
		in.Close()
		done <- err
	}()
	lines := bufio.NewScanner(out)
	for range 2 {
		if !lines.Scan() {
			t.Fatal("nothing more is shown")
		}
		harmless(t, lines.Text(), secret)
		if !strings.Contains(lines.Text(), " (claimed) -> ") {
			t.Errorf("%q", lines.Text())
		}
	}
	cancel()
	if lines.Scan() {
		t.Errorf("a third line: %q", lines.Text())
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	var whole strings.Builder
	finder.Console = console.New(console.Streams{Out: &whole}, func() *redact.Redactor { return redact.New() })
	if err := mail.Read(t.Context(), finder, mail.Options{Source: mail.Source{Dir: dir}}, "sent"); err != nil {
		t.Fatal(err)
	}
	harmless(t, strings.ReplaceAll(whole.String(), "\n", " "), secret)
}

func harmless(t *testing.T, text, secret string) {
	t.Helper()
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.Contains(text, secret) {
		t.Errorf("shown: %q", text)
	}
}
