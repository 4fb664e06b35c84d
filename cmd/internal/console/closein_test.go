package console_test

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/internal/redact"
)

// After CloseIn no process has the reading side of the pipe, and the input is empty.
func TestCloseInClosesThePipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := console.New(console.Streams{In: r, Out: io.Discard, Err: io.Discard}, redact.New)
	if err := c.CloseIn(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("x"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("somebody still reads: %v", err)
	}
	if text, err := io.ReadAll(c.In); err != nil || len(text) > 0 {
		t.Errorf("the input holds %q, %v", text, err)
	}
}
