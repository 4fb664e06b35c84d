package settings

import (
	"maps"
	"slices"
)

// addition is what one adapter contributes to a launch.
type addition struct {
	args  []string          // behind the provider's own arguments
	env   map[string]string // variables
	files map[string]object // below the configuration directory
	texts map[string]string // there too, written as they are
	home  map[string]object // below the private home
}

// toolTimeout is how many milliseconds a tool call may take: a question to a person may
// hold one for as long as the person needs.
const toolTimeout = 14_400_000

// toolForms write the configuration of the tool server in each program's own form.
func toolForms() map[string]func(Launch) addition {
	return map[string]func(Launch) addition{
		"claude":   claudeMCP,
		"copilot":  claudeMCP,
		"codex":    codexMCP,
		"opencode": opencodeMCP,
		"gemini":   geminiMCP,
		"qwen":     settingsMCP("qwen.json", "QWEN_CODE_SYSTEM_SETTINGS_PATH"),
		"cursor":   cursorMCP,
	}
}

// hookForms write the hooks in each program's own form.
func hookForms() map[string]func(Launch) addition {
	return map[string]func(Launch) addition{
		"claude":   claudeHooks,
		"codex":    codexHooks,
		"copilot":  copilotHooks,
		"gemini":   geminiHooks,
		"qwen":     settingsHooks("qwen.json", claudeEvents()),
		"opencode": opencodeHooks,
	}
}

// ToolForms returns the names of the forms of the tool server's configuration, in order.
func ToolForms() []string { return slices.Sorted(maps.Keys(toolForms())) }

// HookForms returns the names of the forms of hooks, in order.
func HookForms() []string { return slices.Sorted(maps.Keys(hookForms())) }

// settingsMCP is the form of the programs that take a whole settings file by variable.
func settingsMCP(file, variable string) func(Launch) addition {
	return func(s Launch) addition {
		server := object{"command": s.Self, "args": s.mcpArgs(), "trust": true, "timeout": toolTimeout}
		return addition{
			env:   map[string]string{variable: s.Dir + "/" + file},
			files: map[string]object{file: {"mcpServers": object{"agentmux": server}}},
		}
	}
}

func settingsHooks(file string, events []string) func(Launch) addition {
	return func(s Launch) addition {
		return addition{files: map[string]object{file: {"hooks": s.hookTable(events, 60_000)}}}
	}
}

func cursorMCP(s Launch) addition {
	return addition{files: map[string]object{
		"plugin/.cursor-plugin/plugin.json": {"name": "agentmux", "mcpServers": "./mcp.json"},
		"plugin/mcp.json":                   {"mcpServers": s.mcpServers()},
	}}
}
