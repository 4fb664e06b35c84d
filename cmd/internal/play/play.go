package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// Options tell a scripted agent who it is, as its arguments said.
type Options struct {
	File    string // playbook
	Session string // session directory
	Role    string
	Task    string
	Launch  string
	Prompt  string // the sentence that names the prompt file
	Fast    bool   // no pauses
	Self    string // path of agentmux, for its tools
	Out     io.Writer
}

// Who is what a playbook can tell agents apart by.
type Who struct {
	Role, Task, Phase, Prompt string
	Iteration, Attempt, Round int
}

// String names what a part may be for by its keys in a playbook.
func (w Who) String() string {
	var text []string
	for _, f := range []struct{ key, value string }{{"role", w.Role}, {"task", w.Task}, {"phase", w.Phase}, {"prompt", w.Prompt}} {
		if f.value != "" {
			text = append(text, f.key+" "+f.value)
		}
	}
	return fmt.Sprintf("%s, iteration %d, round %d, attempt %d", strings.Join(text, ", "), w.Iteration, w.Round, w.Attempt)
}

// ExitError is the exit code a playbook asked for.
type ExitError int

// Error names the code.
func (e ExitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// BookError says why a playbook cannot be played: it cannot be read, or has mistakes.
type BookError struct{ error }

// Unwrap returns what is wrong.
func (e BookError) Unwrap() error { return e.error }

// Run does what the playbook says for this agent. It returns an ExitError where a step asks for
// an exit code, a BookError where nothing can be played, and any other error when a step failed.
func Run(ctx context.Context, o Options) error {
	book, err := Load(o.File)
	if err != nil {
		return BookError{err}
	}
	file, prompt, err := readPrompt(o.Prompt)
	if err != nil {
		return err
	}
	who, err := identify(o)
	if err != nil {
		return err
	}
	who.Prompt = filepath.Base(file)
	part, ok := book.Part(who)
	if !ok {
		return fmt.Errorf("%s has no part for %s", o.File, who)
	}
	fmt.Fprintf(o.Out, "scripted %s %s, phase %s, iteration %d\n", who.Role, who.Task, who.Phase, who.Iteration)
	p := &player{options: o, who: who, prompt: prompt}
	defer p.close()
	for i, step := range part.Steps {
		if err := p.do(ctx, step); err != nil {
			if errors.As(err, new(ExitError)) {
				return err
			}
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// readPrompt reads the file a launch sentence names: the text from its first
// slash on.
func readPrompt(sentence string) (file, text string, err error) {
	i := strings.Index(sentence, "/")
	if i < 0 {
		return "", "", fmt.Errorf("the launch sentence %q names no prompt file", sentence)
	}
	file = strings.TrimSpace(sentence[i:])
	data, err := os.ReadFile(file)
	if err != nil {
		return "", "", fmt.Errorf("read prompt: %w", err)
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return "", "", fmt.Errorf("prompt %s is blank", file)
	}
	return file, string(data), nil
}

// identify reads phase and iteration from the session's state.
func identify(o Options) (Who, error) {
	who := Who{Role: o.Role, Task: o.Task}
	data, err := os.ReadFile(filepath.Join(o.Session, "state.json"))
	if err != nil {
		return who, fmt.Errorf("read state: %w", err)
	}
	node, problems := document.Parse("state.json", data)
	if err := problems.Err(); err != nil {
		return who, err
	}
	who.Phase = text(node, "phase")
	who.Iteration, _ = strconv.Atoi(text(node, "review_iteration"))
	who.Round, _ = strconv.Atoi(text(node, "change_round"))
	if i := strings.LastIndex(o.Launch, "."); i >= 0 {
		who.Attempt, _ = strconv.Atoi(o.Launch[i+1:])
	}
	return who, nil
}

func text(n *document.Node, key string) string {
	if f := n.Field(key); f != nil {
		return f.Text
	}
	return ""
}
