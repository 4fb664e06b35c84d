package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/bot/config"
)

// What could be read beside a problem is known, and what the problem may be about is not.
func TestWhatIsKnownOfABrokenFile(t *testing.T) {
	for name, c := range map[string]struct {
		text           string
		known, unknown []string
	}{
		"a value":                  {"version: 2\nbot: {poll_interval: 4s, repos: [a/b]}\n", []string{"bot.repos", "github", "version"}, []string{"bot", "bot.poll_interval"}},
		"an entry of a list":       {"version: 2\nbot: {allowed_users: [\"@mia\"]}\n", []string{"bot.repos"}, []string{"bot.allowed_users"}},
		"a section":                {"version: 2\nbot: 5\n", []string{"github.host"}, []string{"bot.repos"}},
		"an unknown key":           {"version: 2\nbot: {repo: [a/b]}\n", []string{"github.host"}, []string{"bot.repos", "bot.orgs"}},
		"a removed key":            {"version: 2\ndefaults: {tier: 1}\n", []string{"bot.repos"}, []string{"defaults.provider"}},
		"a provider's key":         {"version: 2\nproviders: {mine: {comand: [x]}}\n", []string{"defaults.provider"}, []string{"providers"}},
		"an unknown section":       {"version: 2\nbots: {repos: [a/b]}\n", nil, []string{"bot.repos", "github", "log"}},
		"another version":          {"version: 3\n", nil, []string{"bot.repos", "github"}},
		"what cannot be parsed":    {"version: 2\nbot: [\n", nil, []string{"bot.repos", "github"}},
		"a file without a problem": {"version: 2\nbot: {repos: [a/b]}\n", []string{"bot", "bot.repos", "github.app.key_file"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			p, problems := config.Salvage(config.Sources{UserFile: file})
			if (problems.Err() == nil) != (c.unknown == nil) {
				t.Fatalf("problems %v", problems)
			}
			if c.known != nil && !p.Knows(c.known...) {
				t.Errorf("of %v one is not known beside %v", c.known, problems)
			}
			for _, key := range c.unknown {
				if p.Knows(key) || p.Knows("log.level", key) {
					t.Errorf("%s is known beside %v", key, problems)
				}
			}
			if p.Config == nil || p.GitHub.Host != "github.com" {
				t.Error("the built-in values are not there")
			}
		})
	}
}
