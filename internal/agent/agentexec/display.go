package agentexec

import (
	"fmt"
	"os"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/signal"
)

// display returns the program's standard output: the terminal, or a pipe whose stream is shown
// on it. done is closed at the end of the stream.
func (x *execution) display(l agent.Launch, dir string) (out *os.File, done <-chan struct{}, err error) {
	if l.Stream == "" {
		closed := make(chan struct{})
		close(closed)
		return os.Stdout, closed, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer r.Close()
		signal.Render(l.Stream, r, os.Stdout, func(s signal.Signal) {
			if err := signal.Append(dir, s); err != nil {
				fmt.Fprintln(os.Stderr, "agent-exec:", err)
			}
		})
	}()
	return w, ended, nil
}
