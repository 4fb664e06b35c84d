package rehearsal

import (
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// Preview is what a session would begin with. Paths are those that the session would have.
type Preview struct {
	State    *orchestrator.State
	Prompts  []Prompt // of the agents that would start first
	Launches []Launch // one per role that may start
	Title    string   // of the pull request
	Body     string   // as far as it is known before the work
	Writes   []Write  // of the whole session, if every agent does its part and every review passes
	Halt     string   // why Writes is not the whole list, or ""
}

// Prompt is a prompt as its agent would get it.
type Prompt struct{ Role, File, Text string }

// Launch is a launch without the values of its variables.
type Launch struct {
	Role, Provider string
	Argv, EnvNames []string
}

// Rename replaces a path of the preview by the real one.
func (p *Preview) Rename(from, to string) {
	for i := range p.Prompts {
		p.Prompts[i].Text = strings.ReplaceAll(p.Prompts[i].Text, from, to)
	}
	for _, l := range p.Launches {
		for i := range l.Argv {
			l.Argv[i] = strings.ReplaceAll(l.Argv[i], from, to)
		}
	}
}
