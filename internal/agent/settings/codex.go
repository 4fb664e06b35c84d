package settings

import (
	"fmt"
	"strings"
)

// codexMCP passes TOML values. A JSON string or list of strings is a TOML value, too.
func codexMCP(s Launch) addition {
	args := []string{
		"-c", "mcp_servers.agentmux.command=" + quoted(s.Self),
		"-c", "mcp_servers.agentmux.args=" + quoted(s.mcpArgs()),
		"-c", "mcp_servers.agentmux.env_vars=" + quoted(s.PassOn), // codex passes on few others
		"-c", "mcp_servers.agentmux.startup_timeout_sec=60",
		"-c", "mcp_servers.agentmux.tool_timeout_sec=14400",
		"-c", "check_for_update_on_startup=false",
		"-c", "projects=" + s.codexTrust(),
	}
	return addition{args: append(args, s.codexService()...)}
}

// codexTrust returns a table, because codex splits the key of an argument at each dot, even in
// quotes. The root of a git repository has to be named itself.
func (s Launch) codexTrust() string {
	var entries []string
	for _, dir := range s.trusted() {
		entry := quoted(dir) + `={trust_level="trusted"}`
		if len(entries) == 0 || entries[len(entries)-1] != entry {
			entries = append(entries, entry)
		}
	}
	return "{" + strings.Join(entries, ",") + "}"
}

// codexService names the variable that holds the key, because codex reads no such variable in
// its terminal by default. Without a key codex uses its own login.
func (s Launch) codexService() []string {
	key := ""
	for _, name := range s.Credentials {
		if value, ok := s.lookup(name); ok && value != "" && key == "" {
			key = name
		}
	}
	if key == "" {
		return nil
	}
	base := "https://api.openai.com/v1"
	if url, ok := s.lookup("OPENAI_BASE_URL"); ok && url != "" {
		base = url
	}
	service := fmt.Sprintf(`{name="OpenAI",base_url=%s,env_key=%s,wire_api="responses"}`, quoted(base), quoted(key))
	return []string{"-c", "model_providers.agentmux=" + service, "-c", `model_provider="agentmux"`}
}

func codexHooks(s Launch) addition {
	var a addition
	for _, e := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest", "Stop"} {
		hook := fmt.Sprintf(`hooks.%s=[{hooks=[{type="command",command=%s,timeout=60}]}]`, e, quoted(s.hookCommand(e)))
		a.args = append(a.args, "-c", hook)
	}
	return a
}
