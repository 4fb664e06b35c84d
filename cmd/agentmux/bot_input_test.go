package main

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// ownConfig is the person's own configuration in a rig.
func (r *rig) ownConfig() string {
	return filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
}

// What keeps a bot from beginning is told at once, a line each, with what to change. It ends with
// exit code 2, writes nothing on the server and takes no lock.
func TestBotSaysAllThatKeepsItFromBeginning(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{unlabel: true, config: botConfig, github: fakehub.Options{Repos: []fakehub.RepoSpec{{Owner: "acme", Name: "gears", Private: true}}}})
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	plain, outside, token := r.read(r.ownConfig()), t.TempDir(), r.github.Token(rigBot)
	secret := filepath.Join(r.dir, "secret")
	withSecret := func(text string, mode os.FileMode) func() {
		return func() {
			r.write(r.ownConfig(), strings.Replace(plain, "bot: {", "bot: {webhook_secret_file: "+secret+", ", 1))
			r.write(secret, text)
			if err := os.Chmod(secret, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	noTmux, hooks := r.pathWithout("tmux"), []string{"--webhook", "127.0.0.1:0"}
	for _, c := range []struct {
		name  string
		set   func()
		args  []string
		lines []string // each of them a line of the error begins with, or has
		more  bool     // others may follow
	}{
		{name: "an unknown flag", args: []string{"--ropo", "acme/widgets"}, lines: []string{"unknown flag: --ropo"}, more: true},
		{name: "a word too many", args: []string{"acme/widgets"}, lines: []string{"acme/widgets"}, more: true},
		{name: "an unknown repository", args: []string{"--repo", "acme/nothing"}, lines: []string{
			"--repo: acme/nothing is not there, or robo (token from AGENTMUX_GITHUB_TOKEN) may not see it; it sees acme/widgets: correct the name, or give the account access",
		}},
		{name: "a hidden repository", args: []string{"--repo", "acme/gears"}, lines: []string{"--repo: acme/gears is not there, or robo"}},
		{name: "no name of a repository", args: []string{"--repo", "widgets"}, lines: []string{`--repo: "widgets" is not an owner/name`}},
		{name: "a repository of the configuration", set: func() {
			r.write(r.ownConfig(), strings.Replace(plain, "bot: {", "bot: {repos: [acme/widgets, acme/nothing], ", 1))
		}, lines: []string{"bot.repos: acme/nothing is not there"}},
		{name: "an unknown organisation", args: []string{"--org", "nobody"}, lines: []string{"--org: nobody is not an organisation, or robo"}},
		{name: "an organisation without a token", args: []string{"--org", "acme"}, set: func() { r.setEnv("AGENTMUX_GITHUB_TOKEN", "") }, lines: []string{"no GitHub token; set AGENTMUX_GITHUB_TOKEN"}},
		{name: "no name of an organisation", args: []string{"--org", "acme/widgets"}, lines: []string{`--org: expected an organisation's name, found "acme/widgets"`}},
		{name: "nothing to serve", args: []string{"--project", outside}, lines: []string{
			"no repository to serve: " + outside + " is not a git clone; go into one, or make one with git init; name one with --repo owner/name or --org, or in bot.repos",
		}},
		{name: "a short interval", args: []string{"--interval", "4s"}, lines: []string{"--interval: expected at least 5s, found 4s"}},
		{name: "no interval", args: []string{"--interval", "soon"}, lines: []string{`--interval: expected auto or a duration such as 30s, found "soon"`}},
		{name: "a short interval of the configuration", set: func() {
			r.write(r.ownConfig(), strings.Replace(plain, "poll_interval: 5s", "poll_interval: 4s", 1))
		}, lines: []string{"the configuration has problems:", "config.yaml:6: bot.poll_interval: expected auto or a duration of at least 5s"}, more: true},
		{name: "flags without a value", args: []string{"--webhook", "", "--interval=", "--max", ""}, lines: []string{
			`--webhook: expected a value, found ""`, `--interval: expected a value, found ""`, `--max: expected a value, found ""`,
		}},
		{name: "a mention in the place of a login", set: func() {
			r.write(r.ownConfig(), strings.Replace(plain, "bot: {", "bot: {allowed_users: [\"@mia\", \"\"], ", 1))
		}, lines: []string{`bot.allowed_users[0]: expected a login without @, found "@mia"`, `bot.allowed_users[1]: expected a login without @, found ""`}, more: true},
		{name: "no session at a time", args: []string{"--max", "0"}, lines: []string{`--max: expected auto or a number from 1, found "0"`}},
		{name: "two ways to end", args: []string{"--once", "--dry-run"}, lines: []string{"--dry-run and --once exclude each other"}},
		{name: "webhooks without a secret", args: hooks, lines: []string{"--webhook: no secret signs the deliveries: write the line that openssl rand -hex 32 prints"}},
		{name: "a short secret", args: hooks, set: withSecret("short\n", 0o600), lines: []string{secret + ":1: the secret has 5 characters, at least 16 are needed"}},
		{name: "a secret for everybody", args: hooks, set: withSecret("0123456789abcdef\n", 0o644), lines: []string{"bot.webhook_secret_file: " + secret + " has mode 0644, and others may not read it: chmod 600"}},
		{name: "a secret of another system", args: hooks, set: withSecret("0123456789abcdef\r\n", 0o600), lines: []string{secret + `:1: the line ends with a carriage return: sed -i 's/\r$//'`}},
		{name: "three secrets", args: hooks, set: withSecret(strings.Repeat("0123456789abcdef\n", 3), 0o600), lines: []string{"bot.webhook_secret_file: " + secret + " has 3 lines, at most 2 are secrets: remove line 3"}},
		{name: "all of that of a secret", args: hooks, set: withSecret("short\r\n0123456789abcdef\n0123456789abcdef\n", 0o604), lines: []string{"mode 0604", "3 lines", ":1: the line ends", ":1: the secret has 5"}},
		{name: "a taken address", set: func() {
			r.write(r.ownConfig(), strings.Replace(plain, `status_addr: ""`, "status_addr: "+taken.Addr().String(), 1))
		}, lines: []string{"bot.status_addr: " + taken.Addr().String() + " is in use: set another address in your configuration, or \"\" for none"}},
		{name: "a taken address of webhooks", args: []string{"--webhook", taken.Addr().String()}, set: withSecret("0123456789abcdef\n", 0o600), lines: []string{"--webhook: " + taken.Addr().String() + " is in use: give another address"}},
		{name: "no token", set: func() { r.setEnv("AGENTMUX_GITHUB_TOKEN", "") }, lines: []string{"no GitHub token; set AGENTMUX_GITHUB_TOKEN or GH_ENTERPRISE_TOKEN, or run gh auth login"}},
		{name: "a token that is none", set: func() { r.setEnv("AGENTMUX_GITHUB_TOKEN", "abc") }, lines: []string{"the token from AGENTMUX_GITHUB_TOKEN is too short to be one of GitHub"}},
		{name: "a refused token", args: []string{"--repo", "acme/widgets", "--repo", "acme/gears"}, set: func() { r.setEnv("AGENTMUX_GITHUB_TOKEN", "ghp_"+strings.Repeat("0", 36)) },
			lines: []string{"GitHub refused the token from AGENTMUX_GITHUB_TOKEN"}},
		{name: "no program for agents", set: func() { r.write(r.ownConfig(), strings.Replace(plain, "provider: script", "provider: copilot", 1)) }, lines: []string{"copilot: its program copilot is not in PATH; install it"}},
		{name: "no tmux", set: func() { r.setEnv("PATH", noTmux) }, lines: []string{"tmux is not installed: it is not in PATH; install tmux"}},
		{name: "everything", args: []string{"--repo", "widgets", "--org", "a b", "--interval", "1s", "--max", "-1", "--webhook", taken.Addr().String()}, set: func() {
			r.setEnv("AGENTMUX_GITHUB_TOKEN", "")
			r.setEnv("PATH", noTmux)
			r.write(r.ownConfig(), strings.NewReplacer("provider: script", "provider: copilot", `status_addr: ""`, "status_addr: "+taken.Addr().String(), "poll_interval: 5s", "poll_interval: 4s").Replace(plain))
		}, lines: []string{
			"the configuration has problems:", "bot.poll_interval: expected auto", "see agentmux config check",
			"--interval: ", "--max: ", "--webhook: no secret", "no GitHub token", `--repo: "widgets"`, `--org: expected`, "tmux is not installed", "copilot: its program",
			"bot.status_addr: ", "--webhook: " + taken.Addr().String(),
		}},
		{name: "what depends on a key that cannot be read", args: append([]string{"--repo", "acme/nothing"}, hooks...), set: func() {
			r.setEnv("PATH", noTmux)
			broken := strings.NewReplacer("provider: script", "provider: [copilot]", `status_addr: ""`, "status_addr: {}", "bot: {", "bot: {webhook_secret_file: [], ").Replace(plain)
			r.write(r.ownConfig(), withGitHub(broken, "host: [a]"))
		}, lines: []string{
			"the configuration has problems:", "defaults.provider: ", "github.host: ", "bot.status_addr: ", "bot.webhook_secret_file: ", "see agentmux config check", "tmux is not installed",
		}},
		{name: "a misspelled key", args: []string{"--project", outside}, set: func() {
			r.setEnv("AGENTMUX_GITHUB_TOKEN", "")
			r.write(r.ownConfig(), strings.Replace(plain, "bot: {", "bot: {repo: [acme/widgets], ", 1))
		}, lines: []string{"the configuration has problems:", "bot.repo: ", "see agentmux config check", "no GitHub token"}},
		{name: "a file that is no YAML", args: []string{"--repo", "widgets"}, set: func() {
			r.setEnv("AGENTMUX_GITHUB_TOKEN", "")
			r.setEnv("PATH", noTmux)
			r.write(r.ownConfig(), "version: 2\nbot: [\n")
		}, lines: []string{"the configuration has problems:", "config.yaml:", "see agentmux config check", `--repo: "widgets"`, "tmux is not installed"}},
	} {
		r.row(c.name, func(t *testing.T) {
			env := slices.Clone(r.env)
			defer func() { r.env = env; r.write(r.ownConfig(), plain) }()
			if c.set != nil {
				c.set()
			}
			res := r.expect(2, append([]string{"bot"}, c.args...)...)
			told := strings.Split(strings.TrimSpace(strings.TrimPrefix(res.err, "agentmux: ")), "\n")
			told = slices.DeleteFunc(told, func(l string) bool { return strings.HasPrefix(l, "time=") }) // the log
			for _, line := range c.lines {
				if !slices.ContainsFunc(told, func(l string) bool { return strings.Contains(l, line) }) {
					t.Errorf("no %q in\n%s", line, res.err)
				}
			}
			if !c.more && len(told) != len(c.lines) {
				t.Errorf("%d lines, want %d:\n%s", len(told), len(c.lines), res.err)
			}
			if strings.Contains(res.err+res.out, token) {
				t.Errorf("the token is shown:\n%s", res.err)
			}
		})
	}
	if log := r.github.Log(); len(log) != 0 {
		t.Errorf("written: %+v", log)
	}
	if r.managed(rigRepo) != "" {
		t.Error("a project was made")
	}
}

// The rehearsal prints what the page of commands shows, and writes nothing, here or on the server.
func TestBotsDryRunReadsAsDocumented(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{unlabel: true, config: botConfig})
	r.github.Repo(rigRepo).Label(1, "agentmux", rigOwner)
	before := len(r.github.Log())
	out := ""
	r.eventually("both labels would have come", func() bool {
		out = r.expect(0, "bot", "--dry-run").out
		return !strings.Contains(out, "another label may follow")
	}, nil)
	_, page, _ := strings.Cut(r.read(filepath.Join("..", "..", "docs", "commands.md")), "```\nocto/widgets#12: ")
	page, _, _ = strings.Cut(page, "```")
	host := regexp.MustCompile(`h_[0-9a-f]{16}`)
	shown := strings.NewReplacer("octo/widgets", rigRepo, "/12", "/1", "issue 12", "issue 1").Replace("octo/widgets#12: " + page)
	if got, want := host.ReplaceAllString(out, "HOST"), host.ReplaceAllString(strings.Replace(shown, "#12", "#1", 1), "HOST"); got != want {
		t.Errorf("%s\nthe page:\n%s", got, want)
	}
	if log := r.github.Log(); len(log) != before {
		t.Errorf("written: %+v", log[before:])
	}
	if r.managed(rigRepo) != "" {
		t.Error("a project was made")
	}
}

// A repository that is named twice, also by its former name, is served once: the bot ends.
func TestBotServesARepositoryOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{unlabel: true, config: botConfig})
	r.expect(0, "bot", "--once", "--repo", "acme/widgets", "--repo", "Acme/Widgets")
}

// Without the request label nobody could ask. It is made once; where it cannot be made, the log has the
// line for somebody who may, and the repository is served.
func TestGitHub78BotMakesTheRequestLabel(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{unlabel: true, config: strings.Replace(botConfig, "bot: {", "bot: {label: work, ", 1)})
	refused := fakehub.Fault{Route: "POST .../labels", Status: 403, Message: "Resource not accessible by personal access token"}
	r.github.Inject(refused)
	res := r.expect(0, "bot", "--once")
	for _, want := range []string{"the request label is not there and cannot be made", "gh label create work --color 5319e7 --repo acme/widgets", "agentmux doctor --repo acme/widgets"} {
		if !strings.Contains(res.err, want) {
			t.Errorf("no %q in\n%s", want, res.err)
		}
	}
	r.github.Heal()
	r.expect(0, "bot", "--once")
	if labels := r.github.Repo(rigRepo).Labels(); !slices.Equal(labels, []string{"work"}) {
		t.Errorf("labels %q", labels)
	}
	before := len(r.github.Log())
	r.expect(0, "bot", "--once")
	if log := r.github.Log(); slices.ContainsFunc(log[before:], func(e fakehub.Entry) bool {
		return strings.HasPrefix(e.Route, "POST") && strings.Contains(e.Route, "labels")
	}) {
		t.Errorf("made twice: %+v", log[before:])
	}
}

// What cannot be asked because the server is away does not keep the bot from beginning.
func TestBotBeginsWithoutItsServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{unlabel: true, config: botConfig})
	r.github.Inject(fakehub.Fault{Route: "GET ...", Status: 429, Header: map[string]string{"Retry-After": "3600"}})
	b := r.background("bot", "--repo", rigRepo, "--repo", "acme/nothing")
	r.eventually("it waits", func() bool { return strings.Contains(b.out.String(), "not served yet") }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
}

// unitOf parses a unit: the values of each key of a section, in their order.
func unitOf(t *testing.T, text string) map[string]map[string][]string {
	t.Helper()
	sections, section := map[string]map[string][]string{}, ""
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		key, value, assigned := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = strings.Trim(line, "[]")
			sections[section] = map[string][]string{}
		case !assigned || section == "" || strings.ContainsAny(key, " \t"):
			t.Fatalf("not a line of a unit: %q", line)
		default:
			sections[section][key] = append(sections[section][key], value)
		}
	}
	return sections
}

// wordsOf splits a value as systemd does: blanks part words, quotes hold them, and %% and $$ are
// one character.
func wordsOf(t *testing.T, value string, argv bool) (words []string) {
	t.Helper()
	word, in, quote := "", false, byte(0)
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == quote && quote != 0:
			quote = 0
		case c == '\\' && quote != 0:
			i++
			word += string(value[i])
		case quote == 0 && (c == '"' || c == '\''):
			quote, in = c, true
		case quote == 0 && c == ' ':
			if in {
				words = append(words, word)
			}
			word, in = "", false
		case (c == '%' || argv && c == '$') && i+1 < len(value) && value[i+1] == c:
			word, in = word+string(c), true
			i++
		case argv && c == '$' || argv && c == '%' || quote == 0 && c == ';':
			t.Fatalf("%q at %d of %s", c, i, value)
		default:
			word, in = word+string(c), true
		}
	}
	if quote != 0 {
		t.Fatalf("an open quote: %s", value)
	}
	if in {
		words = append(words, word)
	}
	return words
}

func TestBotsUnitKeepsAgentsAlive(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{unlabel: true, config: botConfig})
	odd := filepath.Join(r.dir, `a "b" 100%h $HOME;c.yaml`)
	r.write(odd, "version: 2\n")
	r.setEnv("PATH", os.Getenv("PATH")+":/opt/My Tools/100%")
	r.setEnv("XDG_STATE_HOME", filepath.Join(r.dir, "state"))
	text := r.expect(0, "bot", "--systemd", "--config", odd, "--webhook", "8080", "--interval", "30s", "--max", "4").out
	service := unitOf(t, text)["Service"]
	for key, want := range map[string]string{
		"KillMode": "process", "RuntimeDirectory": "agentmux", "RuntimeDirectoryPreserve": "yes", "RuntimeDirectoryMode": "0700", "Restart": "on-failure",
	} {
		if got := service[key]; len(got) != 1 || got[0] != want {
			t.Errorf("%s=%q, want %s", key, got, want)
		}
	}
	home := filepath.Join(r.dir, "home")
	if got := service["LoadCredential"]; len(got) != 1 || got[0] != "github-token:"+home+"/.config/agentmux/token" {
		t.Errorf("LoadCredential=%q", got)
	}
	for _, private := range service["PrivateTmp"] {
		if private != "no" {
			t.Errorf("PrivateTmp=%s", private)
		}
	}
	argv := wordsOf(t, service["ExecStart"][0], true)
	want := []string{"bot", "--config", odd, "--repo", rigRepo, "--webhook", "8080", "--interval", "30s", "--max", "4"}
	if !filepath.IsAbs(argv[0]) || !slices.Equal(argv[1:], want) {
		t.Errorf("%q\nwant %q", argv[1:], want)
	}
	var set []string
	for _, value := range service["Environment"] {
		set = append(set, wordsOf(t, value, false)...)
	}
	for _, want := range []string{"AGENTMUX_GITHUB_TOKEN_FILE=%d/github-token", "PATH=" + os.Getenv("PATH") + ":/opt/My Tools/100%", "XDG_STATE_HOME=" + r.dir + "/state"} {
		if !slices.Contains(set, want) {
			t.Errorf("no %s in %q", want, set)
		}
	}
	if got := unitOf(t, text)["Install"]["WantedBy"]; !slices.Equal(got, []string{"default.target"}) {
		t.Errorf("WantedBy=%q", got)
	}
	if verify, err := exec.LookPath("systemd-analyze"); err == nil {
		file := filepath.Join(t.TempDir(), "agentmux.service")
		r.write(file, text)
		var exit *exec.ExitError
		if out, err := exec.Command(verify, "--user", "verify", file).CombinedOutput(); errors.As(err, &exit) && strings.Contains(string(out), file) {
			t.Errorf("systemd-analyze: %s", out)
		}
	}
}

// An App needs no token. A unit without anything to serve is refused.
func TestBotsUnitOfAnApp(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{unlabel: true, config: botConfig + "github: {app: {client_id: Iv1, key_file: /key.pem}}\n"})
	text := r.expect(0, "bot", "--systemd", "--org", "acme").out
	if service := unitOf(t, text)["Service"]; service["LoadCredential"] != nil || strings.Contains(text, "TOKEN_FILE") || !strings.HasSuffix(service["ExecStart"][0], "bot --org acme") {
		t.Errorf("%s", text)
	}
	if res := r.expect(2, "bot", "--systemd", "--project", t.TempDir(), "--max", "0"); !strings.Contains(res.err, "no repository to serve") || !strings.Contains(res.err, "--max") || res.out != "" {
		t.Errorf("%s%s", res.out, res.err)
	}
}
