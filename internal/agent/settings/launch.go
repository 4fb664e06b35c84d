package settings

import (
	"cmp"
	"path/filepath"
	"strings"
)

// Launch is what the settings of one launch are made from.
type Launch struct {
	Self    string // the agentmux program, absolute
	Session string // the session directory
	Role    string
	Task    string // "" when the role has none
	Launch  string

	Dir     string // the configuration directory of the launch
	Home    string // the private home of the agent
	Private bool   // the program runs in that home; else nothing is written there

	Workdir    string
	TrustDir   string // trusted beside Workdir; "" means Workdir only
	Unattended bool   // no person answers dialogs
	Headless   bool   // the program ends with its turn

	AskTool     string   // the program's own way to ask a person
	Credentials []string // names of the variables that log the program in
	PassOn      []string // names of the variables that the tool server needs from the program
	Lookup      func(name string) (string, bool)
}

func (s Launch) lookup(name string) (string, bool) {
	if s.Lookup == nil {
		return "", false
	}
	return s.Lookup(name)
}

// mcpArgs returns the arguments of the tool server. They are the identity of the launch.
func (s Launch) mcpArgs() []string {
	args := []string{"mcp", "--session", s.Session, "--role", s.Role}
	if s.Task != "" {
		args = append(args, "--task", s.Task)
	}
	return append(args, "--launch", s.Launch)
}

// mcpServers names the tool server in the form that most programs share.
func (s Launch) mcpServers() object {
	return object{"agentmux": object{"command": s.Self, "args": s.mcpArgs()}}
}

// hookWords is the command for the events of this launch, without the event.
func (s Launch) hookWords() []string {
	return []string{s.Self, "hook", "--session", s.Session, "--role", s.Role, "--launch", s.Launch}
}

// hookCommand returns the shell command that a program runs for one event.
func (s Launch) hookCommand(event string) string {
	words := append(s.hookWords(), event)
	for i, w := range words {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// hookTable has one command for each event. A minute is 60 or 60,000, by program.
func (s Launch) hookTable(events []string, minute int) object {
	table := object{}
	for _, e := range events {
		table[e] = []any{object{"hooks": []any{
			object{"type": "command", "command": s.hookCommand(e), "timeout": minute},
		}}}
	}
	return table
}

// trusted returns the directories that the program is told to trust. The answer for a
// directory holds for those below it, but not for the root of a git repository or what is in
// one: a workspace that is a repository has to be named itself, by the path without symbolic
// links.
func (s Launch) trusted() []string {
	dirs := []string{cmp.Or(s.TrustDir, s.Workdir), s.Workdir}
	if resolved, err := filepath.EvalSymlinks(s.Workdir); err == nil {
		dirs = append(dirs, resolved)
	}
	return dirs
}
