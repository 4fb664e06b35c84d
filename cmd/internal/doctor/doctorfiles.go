package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/cmd/internal/site"
)

// probeFiles names the files with keys that an agent can read: at the level none it runs as the person,
// and nothing hides them from it.
func probeFiles(c *config.Config) Probe {
	const name = "files"
	found := keyFiles(c)
	if len(found) == 0 {
		return passed(name, "no file with keys was found in the usual places")
	}
	return row(name, Warning, "agents can read\n- "+strings.Join(found, "\n- "),
		"run agentmux as another user of this machine that has none of them, and give that one a token for its repositories alone")
}

// keyFiles are those that are there, each with what it holds.
func keyFiles(c *config.Config) []string {
	var found []string
	add := func(path, what string) {
		if path == "" {
			return
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && readable(path) {
			found = append(found, path+" ("+what+")")
		}
	}
	if hosts := ghHosts(); holds(hosts, "oauth_token") {
		add(hosts, "gh's token")
	}
	if c.GitHub.App.KeyFile != "" {
		add(c.GitHub.App.KeyFile, "the App's key")
	}
	add(os.Getenv("AGENTMUX_GITHUB_TOKEN_FILE"), "the GitHub token")
	add(filepath.Join(site.ConfigHome(), "agentmux", "token"), "the GitHub token")
	add(c.Bot.WebhookSecretFile, "the secret of webhooks")
	add(filepath.Join(site.Home(), ".git-credentials"), "passwords of git")
	add(filepath.Join(site.Home(), ".netrc"), "passwords")
	keys, _ := filepath.Glob(filepath.Join(site.Home(), ".ssh", "id_*")) // the pattern is right
	for _, key := range keys {
		if filepath.Ext(key) != ".pub" {
			add(key, "an ssh key")
		}
	}
	if work := os.Getenv("RUNNER_WORKSPACE"); work != "" { // <runner>/_work/<repository>
		runner := filepath.Dir(filepath.Dir(work))
		add(filepath.Join(runner, ".credentials"), "the registration of the runner")
		add(filepath.Join(runner, ".credentials_rsaparams"), "the registration of the runner")
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// ghHosts is gh's own file; see gh help environment.
func ghHosts() string {
	if dir := os.Getenv("GH_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, "hosts.yml")
	}
	return filepath.Join(site.ConfigHome(), "gh", "hosts.yml")
}

// holds reports whether a file has a word: with the keyring of the system, gh's file has no token.
func holds(path, word string) bool {
	data, err := os.ReadFile(path)
	return err == nil && bytes.Contains(data, []byte(word))
}

func readable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	f.Close()
	return true
}
