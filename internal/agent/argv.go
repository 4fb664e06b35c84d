package agent

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Transport is how a program is run.
type Transport string

// The transports. Both run in a pane.
const (
	TUI      Transport = "tui"      // the program's own terminal interface
	Headless Transport = "headless" // one turn, its stream rendered
)

// argv builds the argument vector of a launch. tools and hooks are the arguments of its settings.
func (s LaunchSpec) argv(tools, hooks []string) ([]string, error) {
	p := s.Provider
	shape, mode := p.Interactive, p.InteractiveArgs
	if s.Transport == Headless {
		shape, mode = p.Headless, p.HeadlessArgs
	}
	args := append(slices.Clone(mode), p.RoleArgs[s.Role]...)
	if s.Args != nil {
		args = s.Args
	}
	permission := p.AttendedArgs
	if s.unattended() {
		permission = p.UnattendedArgs
	}
	lists := map[string][]string{
		"{prompt}": s.prompt(), "{args}": args, "{permission}": permission, "{model}": s.model(), "{session}": s.sessionArgs(),
		"{mcp}": append(s.expand(p.MCPArgs), tools...), "{hooks}": append(s.expand(p.HookArgs), hooks...), "{task}": s.taskArgs(),
	}
	program, err := lookPath(s.expandOne(p.Command), s.Env.Path)
	if err != nil {
		return nil, err
	}
	argv := []string{program}
	for _, item := range shape {
		if list, ok := lists[item]; ok {
			argv = append(argv, list...)
		} else {
			argv = append(argv, s.expandOne(item))
		}
	}
	return argv, nil
}

// unattended reports whether no person answers dialogs: a headless program cannot ask.
func (s LaunchSpec) unattended() bool { return s.Unattended || s.Transport == Headless }

// prompt returns the first line as arguments; none when it goes by standard input.
func (s LaunchSpec) prompt() []string {
	mode, flag := s.promptMode()
	switch {
	case s.Line == "" || mode == PromptStdin:
		return nil
	case mode == PromptFlag:
		return []string{flag, s.Line}
	}
	return []string{s.Line}
}

func (s LaunchSpec) promptMode() (PromptMode, string) {
	if s.Transport == Headless {
		return s.Provider.HeadlessPromptMode, s.Provider.HeadlessPromptFlag
	}
	return s.Provider.PromptMode, s.Provider.PromptFlag
}

// modelForm is the form of a model's name. A dash first would make it a flag.
var modelForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`) })

// ModelName reports whether a model can have the name.
func ModelName(name string) bool { return modelForm().MatchString(name) }

// model returns the model flag with what the model needs beside it, and the effort.
func (s LaunchSpec) model() []string {
	model, effort := cmp.Or(s.Model, s.Provider.DefaultModel), s.Provider.Effort[s.Effort]
	if model == "" {
		return effort
	}
	var args []string
	switch flag := s.Provider.ModelFlag; {
	case strings.HasSuffix(flag, "="):
		args = append(args, flag+model)
	case flag != "":
		args = append(args, flag, model)
	}
	return slices.Concat(args, s.Provider.ModelArgs[model], effort)
}

func (s LaunchSpec) sessionArgs() []string {
	switch {
	case s.Resume != "":
		return s.expand(s.Provider.ResumeArgs)
	case s.cliSession != "":
		return s.expand(s.Provider.SessionArgs)
	}
	return nil
}

func (s LaunchSpec) taskArgs() []string {
	if s.Task == "" || s.Provider.TaskFlag == "" {
		return nil
	}
	return []string{s.Provider.TaskFlag, s.Task}
}

func (s LaunchSpec) expand(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = s.expandOne(a)
	}
	return out
}

// expandOne replaces the names in braces of one item, once: a replacement is not expanded.
func (s LaunchSpec) expandOne(item string) string {
	id := s.cliSession
	if s.Resume != "" {
		id = s.Resume
	}
	return strings.NewReplacer(
		"{config}", s.configDir(), "{id}", id, "{workdir}", s.Workdir, "{self}", s.Self,
		"{session_dir}", s.Session, "{role}", s.Role, "{launch}", s.Launch,
	).Replace(item)
}

// lookPath finds a program in the agents' PATH, not in that of this process.
func lookPath(name, path string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return executable(name)
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := executable(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("program %s is not in the agents' PATH", name)
}

func executable(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("find program: %w", err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("program %s cannot be executed", path)
	}
	return path, nil
}
