package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent/settings"
)

func TestEveryFormNamesTheLaunch(t *testing.T) {
	for _, form := range settings.ToolForms() {
		t.Run(form, func(t *testing.T) {
			l := newLaunch(t)
			s, err := settings.For(l, form, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Write(); err != nil {
				t.Fatal(err)
			}
			text := strings.Join(s.ToolArgs, " ")
			for _, root := range []string{l.Dir, l.Home} {
				err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					if info, err := d.Info(); err != nil || info.Mode() != 0o600 {
						t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
					}
					data, err := os.ReadFile(path)
					text += string(data)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			text = strings.Join(strings.Fields(text), "")
			if want := `"--session","` + l.Session + `","--role","coder","--task","2","--launch","v1-coder-1"`; !strings.Contains(text, want) {
				t.Errorf("no identity in %s", text)
			}
		})
	}
}

func TestToolsAndHooksShareAFile(t *testing.T) {
	l := newLaunch(t)
	write(t, l, "qwen")
	var got struct {
		MCPServers map[string]any `json:"mcpServers"`
		Hooks      map[string]any
	}
	decode(t, filepath.Join(l.Dir, "qwen.json"), &got)
	if got.MCPServers["agentmux"] == nil || got.Hooks["Stop"] == nil {
		t.Errorf("settings %+v", got)
	}
}

func TestUnknownFormAddsNothing(t *testing.T) {
	l := newLaunch(t)
	if s := write(t, l, "unknown"); len(s.ToolArgs)+len(s.HookArgs)+len(s.Env) > 0 {
		t.Errorf("settings %+v", s)
	}
	if entries, err := os.ReadDir(l.Dir); err != nil || len(entries) > 0 {
		t.Errorf("files %v, %v", entries, err)
	}
}

// Of the programs that read variables from a project, gemini is told not to, and qwen cannot be.
func TestSecurity28VariablesOfTheProject(t *testing.T) {
	l := newLaunch(t)
	write(t, l, "gemini")
	var got struct {
		Advanced struct {
			IgnoreLocalEnv bool `json:"ignoreLocalEnv"`
		} `json:"advanced"`
	}
	decode(t, filepath.Join(l.Home, ".gemini", "settings.json"), &got)
	if !got.Advanced.IgnoreLocalEnv || len(settings.Variables("gemini")) > 0 {
		t.Errorf("gemini: %+v", got)
	}
	if files := settings.Variables("qwen"); len(files) != 1 || files[0] != ".env" {
		t.Errorf("qwen: %q", files)
	}
}

func TestSettingsDoNotFollowALinkInTheHome(t *testing.T) {
	l := newLaunch(t)
	away := t.TempDir()
	if err := os.Symlink(away, filepath.Join(l.Home, ".gemini")); err != nil {
		t.Fatal(err)
	}
	write(t, l, "gemini")
	if entries, err := os.ReadDir(away); err != nil || len(entries) > 0 {
		t.Errorf("written through a link: %v, %v", entries, err)
	}
	if !exists(filepath.Join(l.Home, ".gemini", "settings.json")) {
		t.Error("the home has no settings")
	}
}

func TestAPersonsHomeIsNotWrittenTo(t *testing.T) {
	for _, form := range settings.ToolForms() {
		t.Run(form, func(t *testing.T) {
			l := newLaunch(t)
			l.Private, l.Unattended = false, false
			write(t, l, form)
			if entries, err := os.ReadDir(l.Home); err != nil || len(entries) > 0 {
				t.Errorf("written: %v, %v", entries, err)
			}
		})
	}
}

func TestTheHookCommandIsQuotedForTheShell(t *testing.T) {
	l := newLaunch(t)
	l.Self = "/opt/it's here/agentmux"
	write(t, l, "claude")
	var got struct {
		Hooks map[string][]struct{ Hooks []struct{ Command string } }
	}
	decode(t, filepath.Join(l.Dir, "settings.json"), &got)
	stop := got.Hooks["Stop"]
	if len(stop) != 1 || !strings.HasPrefix(stop[0].Hooks[0].Command, `'/opt/it'\''s here/agentmux' 'hook' '--session' `) {
		t.Errorf("hooks for Stop: %+v", stop)
	}
}
