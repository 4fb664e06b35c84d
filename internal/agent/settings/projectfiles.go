package settings

// ProjectPaths returns the paths below a project from which the programs read more than
// instructions: hooks, tool servers, permissions, variables, plugins, and commands and skills
// with permissions of their own. Because the directory is trusted beforehand, what a repository
// has there would run, or would keep a program from asking.
func ProjectPaths() []string {
	return []string{
		".mcp.json",
		".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".claude/commands", ".claude/agents", ".claude/skills",
		".claude/plugins", ".claude-plugin",
		".codex", ".gemini", ".qwen", ".opencode", "opencode.json", "opencode.jsonc",
		".cursor/mcp.json", ".cursor/hooks.json", ".cursor/hooks", ".cursor/cli.json", ".cursor/environment.json", ".cursor/commands",
		".copilot", ".github/hooks", ".github/copilot", ".vscode/mcp.json",
	}
}

// VariablesFile is where some programs read variables that are not in their environment: where the key of its model goes, say.
const VariablesFile = ".env"

// Variables returns the files of a project, beside ProjectPaths, from which a program of a form reads variables that it cannot
// be kept from. gemini has a switch for that.
func Variables(form string) []string {
	if form == "qwen" {
		return []string{VariablesFile}
	}
	return nil
}
