// Package play is the scripted agent. It takes the place of a coding-agent CLI and does what
// a playbook says instead of asking a model.
//
// It runs as a normal process in a pane. It reads the prompt file it was given and finds
// the part of the playbook for its role, task, phase, iteration and attempt. The steps of
// that part write and edit files, run commands, wait, fail, crash, hang, and call the
// session's tools through a real MCP client or through the command line. It knows of a
// session only what its arguments and the files say, and stores nothing.
package play

import (
	"fmt"
	"os"
	"time"

	"github.com/agentmux/agentmux/internal/document"
)

// Playbook is what scripted agents do, part by part. The first part that fits
// an agent is used.
type Playbook struct {
	Version int    `doc:"version"`
	Parts   []Part `doc:"agents"`
}

// Part is the script of the agents it fits. An empty field fits every agent.
type Part struct {
	Role      string `doc:"role"`
	Task      string `doc:"task"`
	Phase     string `doc:"phase"`
	Iteration *int   `doc:"iteration"` // fix rounds begun
	Attempt   *int   `doc:"attempt"`   // of the launch
	Round     *int   `doc:"round"`     // change rounds
	Prompt    string `doc:"prompt"`    // name of the prompt file
	Steps     []Step `doc:"steps"`
}

// Step is one thing to do; exactly one of its actions is given.
type Step struct {
	Say    string    `doc:"say"`    // printed
	Expect string    `doc:"expect"` // the prompt must hold this text
	Write  *Write    `doc:"write"`
	Edit   *Edit     `doc:"edit"`
	Remove string    `doc:"remove"` // a file or directory
	Run    *Command  `doc:"run"`
	Wait   string    `doc:"wait"` // a duration
	Hear   string    `doc:"hear"` // waits for a message that holds this text, and reads it
	Submit *ToolCall `doc:"submit"`
	Exit   *int      `doc:"exit"`  // ends with this code
	Crash  bool      `doc:"crash"` // ends by SIGKILL
	Hang   bool      `doc:"hang"`  // does nothing until it is stopped
}

// Write makes a file, from Text or as a copy of the file From.
type Write struct {
	File string `doc:"file"`
	Text string `doc:"text"`
	From string `doc:"from"`
	Exec bool   `doc:"exec"`
}

// Edit replaces the one occurrence of Old in a file.
type Edit struct {
	File string `doc:"file"`
	Old  string `doc:"old"`
	New  string `doc:"new"`
}

// Command runs in the workspace; Fails says that it must not succeed.
type Command struct {
	Argv  []string `doc:"argv"`
	Fails bool     `doc:"fails"`
}

// ToolCall calls a tool of the session. Via is "mcp" (default) or "cli";
// Refused says that the call must be refused.
type ToolCall struct {
	Tool    string         `doc:"tool"`
	With    *document.Node `doc:"with"` // the tool's parameters
	Via     string         `doc:"via"`
	Args    []string       `doc:"args"` // cli: the words after `agentmux`
	Refused bool           `doc:"refused"`
}

// Load reads a playbook and reports all its problems.
func Load(file string) (*Playbook, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read playbook: %w", err)
	}
	return Parse(file, data)
}

// Parse reads a playbook from data; problems name it name.
func Parse(name string, data []byte) (*Playbook, error) {
	node, problems := document.Parse(name, data)
	var book Playbook
	if node != nil {
		problems = append(problems, document.Decode(node, &book, document.Options{})...)
	}
	for i, part := range book.Parts {
		for j, step := range part.Steps {
			if text := step.check(); text != "" {
				problems = append(problems, node.Problem(fmt.Sprintf("agents[%d].steps[%d]", i, j), "%s", text))
			}
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return &book, nil
}

func (s Step) check() string {
	given := 0
	for _, is := range []bool{
		s.Say != "", s.Expect != "", s.Write != nil, s.Edit != nil, s.Remove != "", s.Run != nil, s.Wait != "",
		s.Hear != "", s.Submit != nil, s.Exit != nil, s.Crash, s.Hang,
	} {
		if is {
			given++
		}
	}
	if given != 1 {
		return fmt.Sprintf("expected exactly one action, found %d", given)
	}
	if s.Wait != "" {
		if _, err := time.ParseDuration(s.Wait); err != nil {
			return "wait: expected a duration such as 2s"
		}
	}
	if s.Run != nil && len(s.Run.Argv) == 0 {
		return "run: argv is empty"
	}
	if c := s.Submit; c != nil && c.Tool == "" && len(c.Args) == 0 {
		return "submit: tool is missing"
	}
	return ""
}

// Part returns the first part that fits an agent.
func (b *Playbook) Part(who Who) (Part, bool) {
	for _, part := range b.Parts {
		if part.fits(who) {
			return part, true
		}
	}
	return Part{}, false
}

func (p Part) fits(who Who) bool {
	return fitsText(p.Role, who.Role) && fitsText(p.Task, who.Task) && fitsText(p.Phase, who.Phase) && fitsText(p.Prompt, who.Prompt) &&
		fitsNumber(p.Iteration, who.Iteration) && fitsNumber(p.Attempt, who.Attempt) && fitsNumber(p.Round, who.Round)
}

func fitsText(want, have string) bool { return want == "" || want == have }

func fitsNumber(want *int, have int) bool { return want == nil || *want == have }
