// Package console is where a command speaks with a person: the lines it says, the data it
// prints, tables, the pager, questions. Out and Err of a Console drop what would control a
// terminal, and Say, Print and Shown remove secrets that the redactor knows. Raw is out without
// either, for what programs read.
package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/internal/redact"
)

// Streams are the standard streams of a command.
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

	typed *bufio.Reader // of In, once a question was asked: it may hold the answer to the next one
}

// New puts a printer in front of both outputs. redactor is asked at the first text.
func New(std Streams, redactor func() *redact.Redactor) *Console {
	c := &Console{Streams: std, Raw: std.Out, Redactor: redactor}
	c.Out, c.Err = newPrinter(std.Out), newPrinter(std.Err)
	return c
}

// Say prints a line for the person to err; data goes to out. The line may hold errors of servers
// and of git.
func (c *Console) Say(format string, args ...any) {
	fmt.Fprintln(c.Err, c.Redactor().Redact(fmt.Sprintf(format, args...)))
}

// Print writes a line of data.
func (c *Console) Print(format string, args ...any) {
	fmt.Fprintln(c.Out, c.Redactor().Redact(fmt.Sprintf(format, args...)))
}

// Outlive lets the process work on when the program that reads its output has ended, as head does: by itself it would die
// of the next line. Children are not affected, as they would be by an ignored signal.
func (c *Console) Outlive() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// CloseIn closes the standard input, once all of it was read, so that no child gets it. An empty
// input takes its place: a file that is opened later must not become the input.
func (c *Console) CloseIn() error {
	in, ok := c.In.(*os.File)
	if !ok {
		return nil
	}
	if err := in.Close(); err != nil {
		return fmt.Errorf("close the standard input: %w", err)
	}
	empty, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("close the standard input: %w", err)
	}
	c.In, c.typed = empty, nil
	return nil
}

// Patience is how long a person waits for GitHub before Waiting says so.
const Patience = 2 * time.Second

// Waiting says what the command waits for if it takes long; the caller calls stop after the wait.
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

// Ask reads an answer from the terminal; anything but yes is a no, and so is the end of the
// input.
func (c *Console) Ask(ctx context.Context, question string) (bool, error) {
	answer, err := c.Answer(ctx, question+" [y/N] ")
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer = strings.ToLower(answer)
	return answer == "y" || answer == "yes", nil
}

// Answer shows a question as it is and reads a line from the terminal, without the blanks
// around it. It fails with io.EOF if the input ended before there was anything. An interrupt
// ends the wait. The goroutine that reads cannot be stopped and ends with the process.
func (c *Console) Answer(ctx context.Context, question string) (string, error) {
	fmt.Fprint(c.Err, question)
	if c.typed == nil {
		c.typed = bufio.NewReader(c.In)
	}
	var line string
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		line, err = c.typed.ReadString('\n')
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(c.Err)
		return "", ctx.Err()
	case <-read:
	}
	switch {
	case errors.Is(err, io.EOF) && line == "":
		fmt.Fprintln(c.Err)
		return "", io.EOF
	case err != nil && !errors.Is(err, io.EOF):
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}
