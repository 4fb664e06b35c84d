package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/site"
)

// unit is a unit of the person's own systemd. KillMode=process lets the agents live when the bot is
// stopped or restarted, RuntimeDirectoryPreserve keeps the sockets of their tmux servers, and there
// is no PrivateTmp, which would hide those. See systemd.kill(5) and systemd.exec(5).
const unit = `[Unit]
Description=agentmux bot
Documentation=https://github.com/agentmux/agentmux/blob/main/docs/operations.md
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=%[1]s
WorkingDirectory=%%h
# The token is in a file that only this user can read; see docs/operations.md.
LoadCredential=github-token:%%h/.config/agentmux/token
Environment=AGENTMUX_GITHUB_TOKEN_FILE=%%d/github-token
Environment=PATH=%[2]s
Restart=on-failure
RestartSec=10
# Agents outlive the bot: the next start adopts them.
KillMode=process
RuntimeDirectory=agentmux
RuntimeDirectoryPreserve=yes
PrivateTmp=no

[Install]
WantedBy=default.target
`

// printUnit prints the unit that runs the bot with the same flags.
func printUnit(f *site.Finder, o *Options) error {
	own, err := site.Self()
	if err != nil {
		return err
	}
	argv := []string{own, "bot"}
	if f.ConfigFile != "" {
		path, err := filepath.Abs(f.ConfigFile)
		if err != nil {
			return err
		}
		argv = append(argv, "--config", path)
	}
	for _, repo := range o.Repos {
		argv = append(argv, "--repo", repo)
	}
	for _, org := range o.Orgs {
		argv = append(argv, "--org", org)
	}
	for _, flag := range [][2]string{{"--webhook", o.Webhook}, {"--interval", o.Interval}, {"--max", o.Max}} {
		if flag[1] != "" {
			argv = append(argv, flag[0], flag[1])
		}
	}
	for i, word := range argv {
		argv[i] = unitWord(word)
	}
	_, err = fmt.Fprintf(f.Out, unit, strings.Join(argv, " "), unitText(os.Getenv("PATH")))
	return err
}

// unitWord quotes a word of ExecStart; see "Command lines" in systemd.service(5).
func unitWord(word string) string {
	if word = unitText(word); strings.ContainsAny(word, " \t'\"\\;$") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `$$`).Replace(word) + `"`
	}
	return word
}

// unitText doubles what begins a specifier.
func unitText(text string) string { return strings.ReplaceAll(text, "%", "%%") }
