package agent

import (
	_ "embed"
	"path/filepath"
	"strings"
)

//go:embed opencode.js
var opencodePlugin string

// opencodeMCP writes opencode's configuration. In an unattended run all is allowed but
// asking a person: a question that may not be answered would stay open.
func opencodeMCP(s LaunchSpec) addition {
	outside := any("allow")
	if !s.unattended() {
		outside = map[string]any{s.Session + "/**": "allow"}
	}
	permission := map[string]any{"external_directory": outside}
	if s.unattended() {
		for _, what := range []string{"*", "edit", "bash", "webfetch", "doom_loop"} {
			permission[what] = "allow"
		}
		permission[s.Provider.AskTool] = "deny"
	}
	config := map[string]any{
		"$schema":    "https://opencode.ai/config.json",
		"autoupdate": false,
		"share":      "disabled",
		"permission": permission,
		// A typed line that is shown as "[Pasted 1 line]" would not be found on the screen.
		"experimental": map[string]any{"disable_paste_summary": true},
		"mcp": map[string]any{"agentmux": map[string]any{
			"type": "local", "command": append([]string{s.Self}, s.mcpArgs()...), "enabled": true, "timeout": toolTimeout,
		}},
	}
	return addition{
		env:   map[string]string{"OPENCODE_CONFIG": s.configDir() + "/opencode.json"},
		files: map[string]any{"opencode.json": config},
		home:  opencodeInstalled(),
	}
}

// opencodeInstalled says that the package for writing plugins is there: opencode fetches
// it into each new home, nearly 100 MB, before its first turn. Ours needs none of it.
func opencodeInstalled() map[string]any {
	packages := map[string]any{"dependencies": map[string]any{"@opencode-ai/plugin": "*"}}
	return map[string]any{
		".config/opencode/package.json":                    packages,
		".config/opencode/package-lock.json":               map[string]any{"lockfileVersion": 3, "packages": map[string]any{"": packages}},
		".config/opencode/node_modules/.package-lock.json": map[string]any{"lockfileVersion": 3, "packages": map[string]any{}},
	}
}

// opencodeHooks is a plugin: opencode has no hooks. It reports what the hooks of other
// programs do, and at the end of a turn in the terminal sends the next instruction.
func opencodeHooks(s LaunchSpec) addition {
	words := []string{s.Self, "hook", "--session", s.Session, "--role", s.Role, "--launch", s.Launch}
	turns := "true"
	if s.Transport == Headless {
		turns = "false" // its process ends with the turn
	}
	text := strings.NewReplacer("HOOK_WORDS", quoted(words), "HOOK_TURNS", turns).Replace(opencodePlugin)
	plugin := filepath.Join(s.configDir(), "agentmux.js")
	return addition{files: map[string]any{
		"opencode.json": map[string]any{"plugin": []string{"file://" + plugin}},
		"agentmux.js":   source(text),
	}}
}
