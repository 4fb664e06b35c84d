package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// addition is what an adapter contributes to a launch.
type addition struct {
	args  []string          // behind the provider's own arguments
	env   map[string]string // variables
	files map[string]any    // below the configuration directory; encoded as JSON
}

// mcpAdapters write the configuration of the tool server in each program's own form.
func mcpAdapters() map[string]func(LaunchSpec) addition {
	return map[string]func(LaunchSpec) addition{
		"claude":   claudeMCP,
		"copilot":  claudeMCP,
		"codex":    codexMCP,
		"opencode": opencodeMCP,
		"gemini":   settingsMCP("gemini.json", "GEMINI_CLI_SYSTEM_SETTINGS_PATH"),
		"qwen":     settingsMCP("qwen.json", "QWEN_CODE_SYSTEM_SETTINGS_PATH"),
		"cursor":   cursorMCP,
	}
}

// hookAdapters write the hooks in each program's own form.
func hookAdapters() map[string]func(LaunchSpec) addition {
	return map[string]func(LaunchSpec) addition{
		"claude": claudeHooks,
		"codex":  codexHooks,
		"gemini": settingsHooks("gemini.json", []string{"SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "Notification"}),
		"qwen":   settingsHooks("qwen.json", claudeEvents()),
	}
}

func adapterNames() []string { return sortedKeys(mcpAdapters()) }

func hookNames() []string { return sortedKeys(hookAdapters()) }

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

// codexMCP passes TOML values. A JSON string or list of strings is one.
func codexMCP(s LaunchSpec) addition {
	return addition{args: []string{
		"-c", "mcp_servers.agentmux.command=" + quoted(s.Self),
		"-c", "mcp_servers.agentmux.args=" + quoted(s.mcpArgs()),
		"-c", "mcp_servers.agentmux.startup_timeout_sec=60",
		"-c", "mcp_servers.agentmux.tool_timeout_sec=14400",
		"-c", "check_for_update_on_startup=false",
		"-c", "projects." + quoted(s.trustDir()) + `.trust_level="trusted"`,
	}}
}

func codexHooks(s LaunchSpec) addition {
	var a addition
	for _, e := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest", "Stop"} {
		hook := fmt.Sprintf(`hooks.%s=[{hooks=[{type="command",command=%s,timeout=60}]}]`, e, quoted(s.hookCommand(e)))
		a.args = append(a.args, "-c", hook)
	}
	return a
}

func opencodeMCP(s LaunchSpec) addition {
	config := map[string]any{
		"$schema":    "https://opencode.ai/config.json",
		"autoupdate": false,
		"mcp": map[string]any{"agentmux": map[string]any{
			"type": "local", "command": append([]string{s.Self}, s.mcpArgs()...), "enabled": true,
		}},
	}
	if s.unattended() {
		config["permission"] = map[string]any{"edit": "allow", "bash": "allow", "webfetch": "allow", "question": "deny"}
	}
	return addition{env: map[string]string{"OPENCODE_CONFIG": s.configDir() + "/opencode.json"}, files: map[string]any{"opencode.json": config}}
}

// settingsMCP is the form of the programs that take a whole settings file by variable.
func settingsMCP(file, variable string) func(LaunchSpec) addition {
	return func(s LaunchSpec) addition {
		server := map[string]any{"command": s.Self, "args": s.mcpArgs(), "trust": true, "timeout": 14_400_000}
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
func (s LaunchSpec) additions() (mcp, hooks addition, files map[string]any) {
	files = map[string]any{}
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
	}
	return mcp, hooks, files
}

// joined merges the top level of two JSON objects.
func joined(a, b any) any {
	first, ok := a.(map[string]any)
	second, both := b.(map[string]any)
	if !ok || !both {
		return b
	}
	for k, v := range second {
		first[k] = v
	}
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

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
