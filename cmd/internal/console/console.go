// Package console is where a command speaks with a person: the lines it says, the data it
// prints, tables, the pager, questions. Out and Err of a Console let nothing through that
// steers a terminal, and no secret that its redactor knows passes Say, Print or Shown. Raw is
// out without that, for what programs read.
package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/internal/redact"
)

// Streams are the streams of a run of the command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Terminal bool // in and out are terminals
}

// System returns the streams of this process.
func System() Streams {
	return Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Terminal: paint.Terminal(os.Stdout) && paint.Terminal(os.Stdin)}
}

// A Console is where a command speaks with a person.
type Console struct {
	Streams
	Raw      io.Writer               // out as it is, for what programs read and what draws the screen itself
	Redactor func() *redact.Redactor // knows every secret this process ever held
}

// New puts a printer in front of both outputs. redactor is asked at the first text.
func New(std Streams, redactor func() *redact.Redactor) *Console {
	c := &Console{Streams: std, Raw: std.Out, Redactor: redactor}
	c.Out, c.Err = newPrinter(std.Out), newPrinter(std.Err)
	return c
}

// Say prints a line for the person; data goes to out. Errors of servers and of git are
// among what it is given.
func (c *Console) Say(format string, args ...any) {
	fmt.Fprintln(c.Err, c.Redactor().Redact(fmt.Sprintf(format, args...)))
}

// Print writes a line of data.
func (c *Console) Print(format string, args ...any) {
	fmt.Fprintln(c.Out, c.Redactor().Redact(fmt.Sprintf(format, args...)))
}

// Patience is how long a person waits for GitHub without a word.
const Patience = 2 * time.Second

// Waiting says what is waited for if it takes long; the caller calls stop when it is there.
func (c *Console) Waiting(what string) (stop func() bool) {
	return time.AfterFunc(Patience, func() { c.Say("waiting for %s ...", what) }).Stop
}

// Confirm asks a person; without a terminal --force is needed.
func (c *Console) Confirm(ctx context.Context, question string) error {
	if !c.Terminal {
		return exit.UsageText("there is no terminal to ask at; add --force")
	}
	yes, err := c.Ask(ctx, question)
	if err == nil && !yes {
		err = errors.New("nothing was removed")
	}
	return err
}

// Ask takes an answer from the terminal; anything but yes is a no. An interrupt ends the
// wait; the reader cannot be called back and goes with the process.
func (c *Console) Ask(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(c.Err, question+" [y/N] ")
	var line string
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		line, err = bufio.NewReader(c.In).ReadString('\n')
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(c.Err)
		return false, ctx.Err()
	case <-read:
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
