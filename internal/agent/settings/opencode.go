package settings

import (
	_ "embed"
	"path/filepath"
	"strings"
)

//go:embed opencode.js
var opencodePlugin string

// opencodeMCP writes opencode's configuration. An unattended run allows everything but questions
// to a person, which would stay open.
func opencodeMCP(s Launch) addition {
	outside := any("allow")
	if !s.Unattended {
		outside = object{s.Session + "/**": "allow"}
	}
	permission := object{"external_directory": outside}
	if s.Unattended {
		for _, what := range []string{"*", "edit", "bash", "webfetch", "doom_loop"} {
			permission[what] = "allow"
		}
		permission[s.AskTool] = "deny"
	}
	config := object{
		"$schema":    "https://opencode.ai/config.json",
		"autoupdate": false,
		"share":      "disabled",
		"permission": permission,
		// A typed line that is shown as "[Pasted 1 line]" would not be found on the screen.
		"experimental": object{"disable_paste_summary": true},
		"mcp": object{"agentmux": object{
			"type": "local", "command": append([]string{s.Self}, s.mcpArgs()...), "enabled": true, "timeout": toolTimeout,
		}},
	}
	return addition{
		env:   map[string]string{"OPENCODE_CONFIG": s.Dir + "/opencode.json"},
		files: map[string]object{"opencode.json": config},
		home:  opencodeInstalled(),
	}
}

// opencodeInstalled marks the package for writing plugins as installed. opencode would fetch it,
// nearly 100 MB, into each new home before its first turn, and the plugin here does not use it.
func opencodeInstalled() map[string]object {
	packages := object{"dependencies": object{"@opencode-ai/plugin": "*"}}
	return map[string]object{
		".config/opencode/package.json":                    packages,
		".config/opencode/package-lock.json":               {"lockfileVersion": 3, "packages": object{"": packages}},
		".config/opencode/node_modules/.package-lock.json": {"lockfileVersion": 3, "packages": object{}},
	}
}

// opencodeHooks writes a plugin, because opencode has no hooks. It reports the events that the
// hooks of other programs report, and at the end of a turn in the terminal sends the next
// instruction.
func opencodeHooks(s Launch) addition {
	turns := "true"
	if s.Headless {
		turns = "false" // its process ends with the turn
	}
	text := strings.NewReplacer("HOOK_WORDS", quoted(s.hookWords()), "HOOK_TURNS", turns).Replace(opencodePlugin)
	plugin := filepath.Join(s.Dir, "agentmux.js")
	return addition{
		files: map[string]object{"opencode.json": {"plugin": []string{"file://" + plugin}}},
		texts: map[string]string{"agentmux.js": text},
	}
}
