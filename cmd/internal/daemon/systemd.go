package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
)

// unit is a unit of the person's own systemd. KillMode=process lets the agents live when the bot is
// stopped or restarted, RuntimeDirectoryPreserve keeps the sockets of their tmux servers, in a directory
// that is closed to others, and there is no PrivateTmp, which would hide those. See systemd.kill(5) and
// systemd.exec(5).
const unit = `[Unit]
Description=agentmux bot
Documentation=https://github.com/agentmux/agentmux/blob/main/docs/operations.md
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=%s
WorkingDirectory=%%h
%s%sRestart=on-failure
RestartSec=10
# Agents outlive the bot: the next start adopts them.
KillMode=process
RuntimeDirectory=agentmux
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes

[Install]
WantedBy=default.target
`

// unitToken hands the token over. systemd reads the file; it must be there when the unit starts.
const unitToken = `# The token is in a file that only this user can read; see docs/operations.md.
LoadCredential=github-token:%s
Environment=AGENTMUX_GITHUB_TOKEN_FILE=%%d/github-token
`

// printUnit prints the unit that runs the bot with the same flags.
func printUnit(ctx context.Context, f *site.Finder, o *Options) error {
	c, err := f.MachineConfig()
	if err != nil {
		return err
	}
	argv, err := unitArgv(ctx, f, o, c)
	if err != nil {
		return err
	}
	token := ""
	if !account.ActsAsApp(c) {
		token = fmt.Sprintf(unitToken, unitText(tokenFile()))
	}
	_, err = fmt.Fprintf(f.Out, unit, strings.Join(argv, " "), token, unitEnvironment())
	return err
}

// tokenFile is where the unit looks for the token.
func tokenFile() string {
	if os.Getenv("XDG_CONFIG_HOME") == "" {
		return filepath.Join(site.Home(), ".config", "agentmux", "token")
	}
	return filepath.Join(site.ConfigHome(), "agentmux", "token")
}

// unitArgv are the words of ExecStart. The repository of the clone that the person is in is named: the
// unit does not run there.
func unitArgv(ctx context.Context, f *site.Finder, o *Options, c *config.Config) ([]string, error) {
	own, err := site.Self()
	if err != nil {
		return nil, err
	}
	argv := []string{own, "bot"}
	if f.ConfigFile != "" {
		path, err := filepath.Abs(f.ConfigFile)
		if err != nil {
			return nil, err
		}
		argv = append(argv, "--config", path)
	}
	p := &planning{wired: &wired{finder: f, flags: o}, config: c, known: config.Partial{}.Knows}
	repos := o.Repos
	if len(o.Repos)+len(o.Orgs)+len(c.Bot.Repos)+len(c.Bot.Orgs) == 0 {
		p.host()
		repo, err := p.cloned(ctx)
		if err != nil {
			p.noRepository(err)
		}
		repos = []string{repo.String()}
	}
	if o.Once || o.DryRun {
		p.problem("--systemd prints the unit of a bot that stays: leave out --once and --dry-run")
	}
	if p.flags(); len(p.problems) > 0 {
		return nil, exit.UsageText(strings.Join(p.problems, "\n"))
	}
	for _, repo := range repos {
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
		argv[i] = unitWord(strings.ReplaceAll(word, "$", "$$"))
	}
	return argv, nil
}

// unitEnvironment are lines for what the manager of units need not have: PATH, and directories of the
// person's own choice.
func unitEnvironment() string {
	var lines strings.Builder
	for _, name := range []string{"PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		if value := os.Getenv(name); value != "" {
			fmt.Fprintf(&lines, "Environment=%s\n", unitWord(name+"="+value))
		}
	}
	return lines.String()
}

// unitWord quotes a word; see "Quoting" in systemd.syntax(7).
func unitWord(word string) string {
	if word = unitText(word); strings.ContainsAny(word, " \t\n'\"\\;") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(word) + `"`
	}
	return word
}

// unitText doubles what begins a specifier.
func unitText(text string) string { return strings.ReplaceAll(text, "%", "%%") }
