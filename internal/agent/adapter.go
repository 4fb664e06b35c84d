package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// addition is what an adapter contributes to a launch.
type addition struct {
	args  []string          // behind the provider's own arguments
	env   map[string]string // variables
	files map[string]any    // below the configuration directory; encoded as JSON
	home  map[string]any    // below the private home, the same
}

// toolTimeout is how many milliseconds a tool call may take: a question to a person may
// hold one for as long as the person needs.
const toolTimeout = 14_400_000

// mcpAdapters write the configuration of the tool server in each program's own form.
func mcpAdapters() map[string]func(LaunchSpec) addition {
	return map[string]func(LaunchSpec) addition{
		"claude":   claudeMCP,
		"copilot":  claudeMCP,
		"codex":    codexMCP,
		"opencode": opencodeMCP,
		"gemini":   geminiMCP,
		"qwen":     settingsMCP("qwen.json", "QWEN_CODE_SYSTEM_SETTINGS_PATH"),
		"cursor":   cursorMCP,
	}
}

// hookAdapters write the hooks in each program's own form.
func hookAdapters() map[string]func(LaunchSpec) addition {
	return map[string]func(LaunchSpec) addition{
		"claude":   claudeHooks,
		"codex":    codexHooks,
		"copilot":  copilotHooks,
		"gemini":   geminiHooks,
		"qwen":     settingsHooks("qwen.json", claudeEvents()),
		"opencode": opencodeHooks,
	}
}

func adapterNames() []string { return slices.Sorted(maps.Keys(mcpAdapters())) }

func hookNames() []string { return slices.Sorted(maps.Keys(hookAdapters())) }

// mcpArgs are the arguments of the tool server of this launch. They are its identity.
func (s LaunchSpec) mcpArgs() []string {
	args := []string{"mcp", "--session", s.Session, "--role", s.Role}
	if s.Task != "" {
		args = append(args, "--task", s.Task)
	}
	return append(args, "--launch", s.Launch)
}

// hookCommand is the shell command a program runs for one event.
func (s LaunchSpec) hookCommand(event string) string {
	words := []string{s.Self, "hook", "--session", s.Session, "--role", s.Role, "--launch", s.Launch, event}
	for i, w := range words {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

func (s LaunchSpec) mcpServers() map[string]any {
	return map[string]any{"agentmux": map[string]any{"command": s.Self, "args": s.mcpArgs()}}
}

func claudeMCP(s LaunchSpec) addition {
	return addition{files: map[string]any{"mcp.json": map[string]any{"mcpServers": s.mcpServers()}}}
}

// claudeEvents are the events worth a process each. No event says that a permission was
// given: the next tool event does.
func claudeEvents() []string {
	return []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
		"PermissionRequest", "PermissionDenied", "Notification", "Elicitation", "Stop", "StopFailure", "SessionEnd"}
}

// claudeHooks writes nothing but what is needed: a settings file with a key of the wrong
// form is ignored as a whole and without a word.
func claudeHooks(s LaunchSpec) addition {
	return addition{files: map[string]any{"settings.json": map[string]any{
		"hooks": s.hookTable(claudeEvents(), 60), "skipDangerousModePermissionPrompt": true,
	}}}
}

// hookTable has one command for each event. A minute is 60 or 60,000, by program.
func (s LaunchSpec) hookTable(events []string, minute int) map[string]any {
	table := map[string]any{}
	for _, e := range events {
		table[e] = []any{map[string]any{"hooks": []any{
			map[string]any{"type": "command", "command": s.hookCommand(e), "timeout": minute},
		}}}
	}
	return table
}

// settingsMCP is the form of the programs that take a whole settings file by variable.
func settingsMCP(file, variable string) func(LaunchSpec) addition {
	return func(s LaunchSpec) addition {
		server := map[string]any{"command": s.Self, "args": s.mcpArgs(), "trust": true, "timeout": toolTimeout}
		return addition{
			env:   map[string]string{variable: s.configDir() + "/" + file},
			files: map[string]any{file: map[string]any{"mcpServers": map[string]any{"agentmux": server}}},
		}
	}
}

func settingsHooks(file string, events []string) func(LaunchSpec) addition {
	return func(s LaunchSpec) addition {
		return addition{files: map[string]any{file: map[string]any{"hooks": s.hookTable(events, 60_000)}}}
	}
}

func cursorMCP(s LaunchSpec) addition {
	return addition{files: map[string]any{
		"plugin/.cursor-plugin/plugin.json": map[string]any{"name": "agentmux", "mcpServers": "./mcp.json"},
		"plugin/mcp.json":                   map[string]any{"mcpServers": s.mcpServers()},
	}}
}

// additions runs the provider's adapters. Two that write one file share it.
func (s LaunchSpec) additions() (mcp, hooks addition, files, home map[string]any) {
	files, home = map[string]any{}, map[string]any{}
	if make := mcpAdapters()[s.Provider.MCP]; make != nil {
		mcp = make(s)
	}
	if make := hookAdapters()[s.Provider.Hooks]; make != nil {
		hooks = make(s)
	}
	for _, a := range []addition{mcp, hooks} {
		for name, content := range a.files {
			files[name] = joined(files[name], content)
		}
		for name, content := range a.home {
			home[name] = joined(home[name], content)
		}
	}
	return mcp, hooks, files, home
}

// joined merges the top level of two JSON objects.
func joined(a, b any) any {
	first, ok := a.(map[string]any)
	second, both := b.(map[string]any)
	if !ok || !both {
		return b
	}
	maps.Copy(first, second)
	return first
}

// quoted is v as JSON: for strings and lists of strings also valid TOML.
func quoted(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(fmt.Sprint(v))
	}
	return string(data)
}
