package settings

// geminiSettings is the settings file below gemini's home.
const geminiSettings = ".gemini/settings.json"

// geminiMCP writes gemini's settings into the private home. gemini reads the file named by its
// variable for system settings only if root owns the file and every directory above it. In a
// person's home that variable is the only way.
func geminiMCP(s Launch) addition {
	server := object{"command": s.Self, "args": s.mcpArgs(), "trust": true, "timeout": toolTimeout}
	settings := object{"mcpServers": object{"agentmux": server}}
	if !s.Private {
		return addition{
			env:   map[string]string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH": s.Dir + "/gemini.json"},
			files: map[string]object{"gemini.json": settings},
		}
	}
	security := object{"folderTrust": object{"enabled": false}}
	if kind := s.geminiLogin(); kind != "" {
		security["auth"] = object{"selectedType": kind}
	}
	settings["security"] = security
	settings["general"] = object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false}
	settings["advanced"] = object{"ignoreLocalEnv": true} // see Variables
	settings["privacy"] = object{"usageStatisticsEnabled": false}
	if s.Unattended {
		settings["tools"] = object{"exclude": []string{s.AskTool}}
	}
	return addition{home: map[string]object{geminiSettings: settings}}
}

// geminiLogin returns gemini's name for the kind of key in the environment.
func (s Launch) geminiLogin() string {
	for _, key := range [][2]string{{"GEMINI_API_KEY", "gemini-api-key"}, {"GOOGLE_API_KEY", "vertex-ai"}} {
		if value, ok := s.lookup(key[0]); ok && value != "" {
			return key[1]
		}
	}
	return ""
}

func geminiHooks(s Launch) addition {
	hooks := object{"hooks": s.hookTable([]string{
		"SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "Notification",
	}, 60_000)}
	if s.Private {
		return addition{home: map[string]object{geminiSettings: hooks}}
	}
	return addition{files: map[string]object{"gemini.json": hooks}}
}
