package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

// unattended returns a launch of a provider with a key, without a person who answers dialogs.
func unattended(t *testing.T, name, key string) agent.LaunchSpec {
	s := newSpec(t, name)
	s.Unattended, s.AllowUnsafe, s.TrustDir = true, true, filepath.Dir(s.Workdir)
	s.Env.Lookup = lookup(map[string]string{key: "very-secret"})
	return s
}

func decode(t *testing.T, path string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(readFile(t, path)), v); err != nil {
		t.Fatal(err)
	}
}

func TestGeminiFindsItsSettingsInItsHome(t *testing.T) {
	var got struct {
		Servers map[string]struct {
			Trust   bool
			Timeout int
		} `json:"mcpServers"`
		Hooks    map[string]any
		Security struct {
			Auth        struct{ SelectedType string }
			FolderTrust struct{ Enabled *bool }
		}
		Tools struct{ Exclude []string }
	}
	s := unattended(t, "gemini", "GEMINI_API_KEY")
	l := prepare(t, s)
	decode(t, filepath.Join(s.Env.Home, ".gemini", "settings.json"), &got)
	if server := got.Servers["agentmux"]; !server.Trust || server.Timeout < 3_600_000 || got.Hooks["AfterAgent"] == nil {
		t.Errorf("settings %+v", got)
	}
	if got.Security.Auth.SelectedType != "gemini-api-key" || got.Security.FolderTrust.Enabled == nil || *got.Security.FolderTrust.Enabled {
		t.Errorf("security %+v", got.Security)
	}
	if !slices.Equal(got.Tools.Exclude, []string{"ask_user"}) {
		t.Errorf("excluded: %q", got.Tools.Exclude)
	}
	// Files of the system count for gemini only where root owns them.
	if slices.Contains(l.EnvNames, "GEMINI_CLI_SYSTEM_SETTINGS_PATH") {
		t.Errorf("variables %q", l.EnvNames)
	}
	if i := slices.Index(l.Argv, "--include-directories"); i < 0 || l.Argv[i+1] != s.Session {
		t.Errorf("the session is out of reach: %q", l.Argv)
	}
}

func TestPersonsHomeIsNotWrittenTo(t *testing.T) {
	for _, name := range []string{"gemini", "copilot"} {
		t.Run(name, func(t *testing.T) {
			s := newSpec(t, name)
			s.Transport, s.Env.RealHome, s.Env.Lookup = agent.TUI, t.TempDir(), lookup(nil)
			prepare(t, s)
			if entries, err := os.ReadDir(s.Env.RealHome); err != nil || len(entries) > 0 {
				t.Errorf("written: %v, %v", entries, err)
			}
		})
	}
}

func TestCopilotTrustsTheWorkspaceAndKeepsItsState(t *testing.T) {
	s := unattended(t, "copilot", "COPILOT_PROVIDER_API_KEY")
	file := filepath.Join(s.Env.Home, ".copilot", "config.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, "// Written by the program.\n{\"trustedFolders\": [\"/elsewhere\"], \"firstLaunchAt\": \"2026\"}\n", 0o600)
	l := prepare(t, s)
	var got struct {
		TrustedFolders []string
		FirstLaunchAt  string
	}
	decode(t, file, &got)
	for _, dir := range []string{"/elsewhere", s.TrustDir, s.Workdir} {
		if !slices.Contains(got.TrustedFolders, dir) {
			t.Errorf("%s is not trusted: %+v", dir, got)
		}
	}
	if got.FirstLaunchAt != "2026" {
		t.Errorf("lost: %+v", got)
	}
	for _, flag := range []string{"--no-ask-user", "--add-dir"} {
		if !slices.Contains(l.Argv, flag) {
			t.Errorf("no %s: %q", flag, l.Argv)
		}
	}
	if !slices.Contains(l.EnvNames, "COPILOT_HOME") {
		t.Errorf("variables %q", l.EnvNames)
	}
	var hooks struct {
		Hooks map[string][]struct{ Bash string }
	}
	decode(t, filepath.Join(s.Env.Home, ".copilot", "hooks", "agentmux.json"), &hooks)
	if stop := hooks.Hooks["Stop"]; len(stop) != 1 || !strings.Contains(stop[0].Bash, "'hook' '--session'") {
		t.Errorf("hooks %+v", hooks)
	}
}

func TestUnattendedOpencodeAsksNoPersonAndReportsByAPlugin(t *testing.T) {
	for transport, turns := range map[agent.Transport]string{agent.TUI: "const turns = true", agent.Headless: "const turns = false"} {
		s := unattended(t, "opencode", "ANTHROPIC_API_KEY")
		s.Transport = transport
		l := prepare(t, s)
		var got struct {
			Permission   map[string]any
			Plugin       []string
			Experimental map[string]bool
		}
		decode(t, filepath.Join(s.Dir, "config", "opencode.json"), &got)
		for what, want := range map[string]string{"*": "allow", "external_directory": "allow", "doom_loop": "allow", "question": "deny"} {
			if got.Permission[what] != want {
				t.Errorf("%s: %v, want %s", what, got.Permission[what], want)
			}
		}
		if !got.Experimental["disable_paste_summary"] || len(got.Plugin) != 1 {
			t.Fatalf("configuration %+v", got)
		}
		plugin := readFile(t, strings.TrimPrefix(got.Plugin[0], "file://"))
		if !strings.Contains(plugin, turns) || !strings.Contains(plugin, `"--launch","`+l.Launch+`"`) {
			t.Errorf("plugin:\n%s", plugin)
		}
	}
}

func TestUnattendedProgramsHaveNoToolThatAsksAPerson(t *testing.T) {
	for name, p := range providers(t) {
		if p.AskTool == "" || name == "script" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := unattended(t, name, p.Credentials[0])
			l := prepare(t, s)
			text := strings.Join(l.Argv, " ")
			for _, f := range []string{filepath.Join(s.Env.Home, ".gemini", "settings.json"), filepath.Join(s.Dir, "config", "opencode.json")} {
				if exists(f) {
					text += readFile(t, f)
				}
			}
			if !strings.Contains(text, p.AskTool) && !strings.Contains(text, "--no-ask-user") {
				t.Errorf("the program keeps %s", p.AskTool)
			}
		})
	}
}
