package agent

// ProjectSettings are the paths below a project from which the programs read more than
// instructions: hooks, tool servers, permissions, variables, plugins, and commands and skills
// that bring permissions of their own. What a repository says there would run, or would keep
// a program from asking, because the trust in the directory is given beforehand.
func ProjectSettings() []string {
	return []string{
		".mcp.json",
		".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".claude/commands", ".claude/agents", ".claude/skills",
		".claude/plugins", ".claude-plugin",
		".codex", ".gemini", ".qwen", ".opencode", "opencode.json", "opencode.jsonc",
		".cursor/mcp.json", ".cursor/hooks.json", ".cursor/hooks", ".cursor/cli.json", ".cursor/environment.json", ".cursor/commands",
		".copilot", ".github/hooks", ".github/copilot", ".vscode/mcp.json",
	}
}
