package mail_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/mail"
	"github.com/agentmux/agentmux/workflows/message"
)

// A body comes from a file or from standard input as it is. One that is too large is not read to its end,
// and a FIFO that nothing is written to does not hold the command.
func TestBody(t *testing.T) {
	dir := t.TempDir()
	file, large, fifo := filepath.Join(dir, "body.md"), filepath.Join(dir, "large.md"), filepath.Join(dir, "fifo")
	for name, text := range map[string]string{file: "So it is,\n\n", large: strings.Repeat("x", 2*message.MaxFile)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{file: "So it is,\n\n", "-": "typed\n"} {
		if got, err := mail.Body(name, strings.NewReader("typed\n")); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{large, "-"} {
		if got, err := mail.Body(name, strings.NewReader(strings.Repeat("x", 2*message.MaxFile))); len(got) != message.MaxFile+1 || err != nil {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	for name, want := range map[string]string{fifo: "is not a file", dir: "is not a file", filepath.Join(dir, "none"): "no such file"} {
		if _, err := mail.Body(name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
