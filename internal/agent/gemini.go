package agent

// geminiSettings is the settings file below gemini's home.
const geminiSettings = ".gemini/settings.json"

// geminiMCP writes gemini's settings into the private home: a file named by the variable
// for system settings counts only where it and every directory above it are root's. In a
// person's home that variable is the one way to hand them over.
func geminiMCP(s LaunchSpec) addition {
	server := map[string]any{"command": s.Self, "args": s.mcpArgs(), "trust": true, "timeout": toolTimeout}
	settings := map[string]any{"mcpServers": map[string]any{"agentmux": server}}
	if !s.private() {
		return addition{
			env:   map[string]string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH": s.configDir() + "/gemini.json"},
			files: map[string]any{"gemini.json": settings},
		}
	}
	security := map[string]any{"folderTrust": map[string]any{"enabled": false}}
	if kind := s.geminiLogin(); kind != "" {
		security["auth"] = map[string]any{"selectedType": kind}
	}
	settings["security"] = security
	settings["general"] = map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false}
	settings["privacy"] = map[string]any{"usageStatisticsEnabled": false}
	if s.unattended() {
		settings["tools"] = map[string]any{"exclude": []string{s.Provider.AskTool}}
	}
	return addition{home: map[string]any{geminiSettings: settings}}
}

// geminiLogin is gemini's name for how the key in the environment logs it in.
func (s LaunchSpec) geminiLogin() string {
	for _, key := range [][2]string{{"GEMINI_API_KEY", "gemini-api-key"}, {"GOOGLE_API_KEY", "vertex-ai"}} {
		if value, ok := s.Env.lookup(key[0]); ok && value != "" {
			return key[1]
		}
	}
	return ""
}

func geminiHooks(s LaunchSpec) addition {
	hooks := map[string]any{"hooks": s.hookTable([]string{
		"SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "Notification",
	}, 60_000)}
	if s.private() {
		return addition{home: map[string]any{geminiSettings: hooks}}
	}
	return addition{files: map[string]any{"gemini.json": hooks}}
}
