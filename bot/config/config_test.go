package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentmux/agentmux/bot/config"
)

var builtInProviders = []string{"claude", "codex", "opencode"}

// layers loads a configuration from texts; an empty text leaves its layer out.
func layers(t *testing.T, user, project, flag string) (*config.Config, []string) {
	t.Helper()
	dir := t.TempDir()
	s := config.Sources{Home: "/home/me", Providers: builtInProviders}
	if user != "" {
		s.UserFile = write(t, dir, "user.yaml", user)
	}
	if flag != "" {
		s.FlagFile = write(t, dir, "flag.yaml", flag)
	}
	if project != "" {
		s.Project = fstest.MapFS{".agentmux/config.yaml": {Data: []byte(project)}}
	}
	c, problems := config.Load(s)
	lines := problems.Lines()
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], dir+"/", "")
	}
	return c, lines
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoadWithoutFilesGivesTheDefaults(t *testing.T) {
	c, problems := layers(t, "", "", "")
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	if c.Defaults.Workflow != "feature" || c.Defaults.Provider != "claude" || c.Defaults.MaxReviewIterations != 3 {
		t.Errorf("defaults: %+v", c.Defaults)
	}
	if c.Limits.Phase != 2*time.Hour || c.Limits.Parallel != 4 || c.Review.Timeout != 45*time.Minute {
		t.Errorf("limits: %+v", c.Limits)
	}
	if !c.Bot.PollInterval.Auto || c.Bot.MaxConcurrent.N != 2 || c.Output.MaxBytes != 20<<20 {
		t.Errorf("bot: %+v, output: %+v", c.Bot, c.Output)
	}
	if !slices.Equal(c.Sandbox.NetAllow, []string{"registries"}) || c.Sandbox.UnsafeFlags != nil || !c.GitHub.Push {
		t.Errorf("sandbox: %+v", c.Sandbox)
	}
}

// Each key of the types has a line in the built-in layer, so that Show lists it.
func TestEveryKeyHasABuiltInLine(t *testing.T) {
	c, _ := layers(t, "", "", "")
	shown := map[string]bool{}
	for _, v := range c.Show() {
		shown[v.Path] = true
	}
	for _, path := range keys(reflect.TypeOf(*c), "") {
		if !shown[path] {
			t.Errorf("%s is not in the built-in configuration", path)
		}
	}
}

func keys(t reflect.Type, prefix string) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("doc")
		if name == "" {
			continue
		}
		if f.Type.Kind() == reflect.Struct && !strings.HasPrefix(f.Type.Name(), "Auto") {
			out = append(out, keys(f.Type, prefix+name+".")...)
			continue
		}
		out = append(out, prefix+name)
	}
	return out
}

func TestLayersMergeMapsAndReplaceTheRest(t *testing.T) {
	c, problems := layers(t,
		"version: 2\nlimits: {phase: 1h, parallel: 2}\nsandbox: {net_allow: [a.test, b.test]}\ngithub: {mirror: on}\n",
		"version: 2\nlimits: {phase: 30m}\ngithub: {link_hosts: [x.test]}\n",
		"version: 2\nsandbox: {net_allow: [c.test]}\nlimits: {stall: 0}\nbot: {poll_interval: 30s, max_concurrent: auto}\nworkspace: {root: ~/ws}\noutput: {max_bytes: 5 MB}\n")
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	if c.Limits.Phase != 30*time.Minute || c.Limits.Parallel != 2 || c.Limits.Stall != 0 || c.Limits.Total != 12*time.Hour {
		t.Errorf("limits: %+v", c.Limits)
	}
	if !slices.Equal(c.Sandbox.NetAllow, []string{"c.test"}) || c.GitHub.Mirror != "on" {
		t.Errorf("net_allow %v, mirror %q", c.Sandbox.NetAllow, c.GitHub.Mirror)
	}
	if c.Bot.PollInterval.D != 30*time.Second || !c.Bot.MaxConcurrent.Auto || c.Output.MaxBytes != 5_000_000 {
		t.Errorf("bot %+v, output %+v", c.Bot, c.Output)
	}
	if c.Workspace.Root != "/home/me/ws" {
		t.Errorf("root %q", c.Workspace.Root)
	}
	if files := c.Source(); len(files) != 3 || files[1] != ".agentmux/config.yaml" {
		t.Errorf("source: %v", files)
	}
}

func TestAnEmptyValueMeansTheDefault(t *testing.T) {
	c, problems := layers(t, "version: 2\nmsg: {ack_timeout: 1h}\ndefaults: {model: m}\n", "version: 2\nmsg:\n  ack_timeout:\ndefaults:\n", "")
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	if c.Msg.AckTimeout != 10*time.Minute || c.Defaults.Model != "m" {
		t.Errorf("ack_timeout %v, model %q", c.Msg.AckTimeout, c.Defaults.Model)
	}
}

func TestProtocolE1Problems(t *testing.T) {
	tests := []struct {
		name, user, project, flag string
		want                      []string
	}{
		{"E1 unknown, removed and wrong keys in two layers",
			"version: 2\nlimts: {phase: 1h}\ndefaults:\n  tier: best\n  workflow: 3\n",
			"version: 2\nlimits:\n  parallel: 0\n  phase: soon\nreview: {rerun: some}\n", "", []string{
				".agentmux/config.yaml:3: limits.parallel: expected a whole number from 1, found 0",
				".agentmux/config.yaml:4: limits.phase: expected a duration such as 20m, found \"soon\"",
				".agentmux/config.yaml:5: review.rerun: expected failed, all or trust, found \"some\"",
				"user.yaml:2: limts: unknown key, did you mean \"limits\"?",
				"user.yaml:4: defaults.tier: removed: set defaults.model or roles.<role>.model",
				"user.yaml:5: defaults.workflow: expected text, found 3",
			}},
		{"E5 keys that only the host may set", "", "version: 2\nsandbox:\n  level: none\n  setup: [make]\nbot: {}\n" +
			"roles: {coder: {args: [--yolo], model: m}}\nproviders: {claude: {command: evil}}\ngithub: {auth: gh, push: false}\nlog: {level: info}\n", "", []string{
			".agentmux/config.yaml:3: sandbox.level: only a configuration file outside the repository may set this",
			".agentmux/config.yaml:5: bot: only a configuration file outside the repository may set this",
			".agentmux/config.yaml:6: roles.coder.args: only a configuration file outside the repository may set this",
			".agentmux/config.yaml:7: providers: only a configuration file outside the repository may set this",
			".agentmux/config.yaml:8: github.auth: only a configuration file outside the repository may set this",
			".agentmux/config.yaml:9: log: only a configuration file outside the repository may set this",
		}},
		{"a sandbox that is not a map", "", "version: 2\nsandbox: none\n", "", []string{
			".agentmux/config.yaml:2: sandbox: expected a map, found \"none\"",
		}},
		{"old version", "version: 1\nprofiles: {fast: {}}\nlaunchers: {}\nproviders: {x: {trust_key: y}}\nnonsense: 1\n", "", "", []string{
			"user.yaml:1: version: version 1 is no longer read: the keys that were removed are reported, the others kept their names; set it to 2 when they are gone",
			"user.yaml:2: profiles: removed: set roles.<role>.provider and roles.<role>.model",
			"user.yaml:3: launchers: removed: describe the command under providers.<name>",
			"user.yaml:4: providers.x.trust_key: removed: use providers.<name>.trust, a list of {text, key}",
		}},
		{"dialogs", "version: 2\nproviders:\n  claude: {dialogs: [{text: x, choices: [{label: a, keys: [Enter]}]}, {text: y, keys: 1}]}\n", "", "", []string{
			"user.yaml:3: providers.claude.dialogs[1].keys: unknown key",
			"user.yaml:3: providers.claude.dialogs[1].choices: required key missing",
		}},
		{"no version", "limits: {}\n", "", "", []string{"user.yaml:1: version: required key missing, add \"version: 2\""}},
		{"empty file", "# nothing\n", "", "", []string{"user.yaml:1: version: required key missing, add \"version: 2\""}},
		{"newer version", "version: 3\n", "", "", []string{"user.yaml:1: version: version 3 was made for a newer agentmux, this one reads 2"}},
		{"roles and providers", "version: 2\nroles:\n  codr: {}\n  coder: {provider: cluade}\nproviders:\n  mine: {prompt_mode: pipe}\n  claude:\n    mcp: none\n    env: [GH_TOKEN]\n", "", "", []string{
			"user.yaml:3: roles.codr: unknown role \"codr\", did you mean \"coder\"?",
			"user.yaml:4: roles.coder.provider: unknown provider \"cluade\", did you mean \"claude\"?",
			"user.yaml:6: providers.mine.command: required key missing: mine is not a built-in provider",
			"user.yaml:6: providers.mine.prompt_mode: expected arg, stdin or flag, found \"pipe\"",
			"user.yaml:8: providers.claude.mcp: \"none\" is not one of claude, codex, copilot, cursor, gemini, opencode, qwen",
			"user.yaml:9: providers.claude.env[0]: \"GH_TOKEN\" cannot be passed to an agent",
		}},
		{"fallbacks", "version: 2\nroles:\n  coder:\n    fallback: [cluade, codex, claude, codex]\n  planner: {provider: codex, fallback: [codex]}\n  reviewer: {fallback: codex}\nlimits: {provider_wait: soon}\n", "", "", []string{
			"user.yaml:4: roles.coder.fallback[0]: unknown provider \"cluade\", did you mean \"claude\"?",
			"user.yaml:4: roles.coder.fallback[2]: claude is the provider of the role: it cannot take over from itself",
			"user.yaml:4: roles.coder.fallback[3]: codex is named twice",
			"user.yaml:5: roles.planner.fallback[0]: codex is the provider of the role: it cannot take over from itself",
			"user.yaml:6: roles.reviewer.fallback: expected a list, found \"codex\"",
			"user.yaml:7: limits.provider_wait: expected a duration such as 20m, found \"soon\"",
		}},
		{"values", "version: 2\nsandbox: {level: container, env_allow: [GOFLAGS, MY_TOKEN, \"A=B\", path, DYLD_LIBRARY_PATH, OPENAI_API_KEY, GOCACHE, BASH_ENV, NPM_AUTH]}\nworkspace: {root: ws}\n" +
			"bot: {repos: [a/b, c], label: \"a:b\", sweep_interval: 0, poll_interval: 4s, max_concurrent: 0}\noutput: {max_bytes: 20 XB}\ngithub: {branch_prefix: \"../x\", host: \"https://x\"}\nagents: {file: ../team.yml}\n", "", "", []string{
			"user.yaml:2: sandbox.level: container is reserved and not there yet, expected auto, none, bwrap or runner",
			"user.yaml:2: sandbox.env_allow[1]: MY_TOKEN may hold a credential and is never passed on",
			"user.yaml:2: sandbox.env_allow[2]: \"A=B\" is not the name of a variable that can be passed to an agent",
			"user.yaml:2: sandbox.env_allow[3]: \"path\" is not the name of a variable that can be passed to an agent",
			"user.yaml:2: sandbox.env_allow[4]: \"DYLD_LIBRARY_PATH\" is not the name of a variable that can be passed to an agent",
			"user.yaml:2: sandbox.env_allow[5]: OPENAI_API_KEY is not among the names that every agent may get; providers.<name>.env passes it to the agents of one CLI",
			"user.yaml:2: sandbox.env_allow[7]: \"BASH_ENV\" is not the name of a variable that can be passed to an agent",
			"user.yaml:2: sandbox.env_allow[8]: \"NPM_AUTH\" is not the name of a variable that can be passed to an agent",
			"user.yaml:3: workspace.root: expected an absolute path or one that begins with ~/, found \"ws\"",
			"user.yaml:4: bot.max_concurrent: expected auto or a whole number from 1, found 0",
			"user.yaml:4: bot.label: expected a label's name without a colon, of at most 38 characters, found \"a:b\"",
			"user.yaml:4: bot.repos[1]: expected owner/name, found \"c\"",
			"user.yaml:4: bot.sweep_interval: expected a duration above 0",
			"user.yaml:4: bot.poll_interval: expected auto or a duration of at least 5s, found 4s",
			"user.yaml:5: output.max_bytes: expected a size such as 20 MiB, found \"20 XB\"",
			"user.yaml:6: github.branch_prefix: expected the start of a branch name, as agentmux/, found \"../x\"",
			"user.yaml:6: github.host: expected a host name without scheme, found \"https://x\"",
			"user.yaml:7: agents.file: expected a file of the project by its relative path, without .., found \"../team.yml\"",
		}},
		{"transports and efforts of roles", "version: 2\nproviders:\n  opencode: {effort: {most: [-x]}}\n  own: {command: own, effort: {low: [-l]}}\nroles:\n  coder: {transport: screen}\n" +
			"  planner: {effort: most}\n  designer: {provider: opencode, effort: high}\n  architect: {provider: own, effort: low}\n  reviewer: {provider: own, effort: high}\n" +
			"  reviewer_logic: {provider: codex, effort: medium}\n", "", "", []string{
			"user.yaml:3: providers.opencode.effort.most: expected one of low, medium, high",
			"user.yaml:6: roles.coder.transport: expected auto, tui or headless, found \"screen\"",
			"user.yaml:7: roles.planner.effort: expected low, medium or high, found \"most\"",
			"user.yaml:8: roles.designer.effort: opencode has no effort high; providers.opencode.effort may name the arguments for it",
			"user.yaml:10: roles.reviewer.effort: own has no effort high; providers.own.effort may name the arguments for it",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, got := layers(t, tt.user, tt.project, tt.flag)
			if !slices.Equal(got, tt.want) {
				t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			if c != nil {
				t.Error("a configuration was returned")
			}
		})
	}
}

// A text that cannot mean anything is refused with its place and the form that is expected, and
// one that can is taken: the program would pass over the first without a word.
func TestProtocolE1FormsOfTexts(t *testing.T) {
	const (
		host = "expected a host name without scheme and path"
		name = "expected registries or a host name without scheme, path and port"
		part = "expected a path that is absolute or begins with ~/, and is not all of / or of your home"
		dirs = "expected absolute directories with : between them"
		glob = "expected a path from the top of the repository, with *, ?, [a-z] and ** as signs"
		word = "expected the name of a program"
		addr = "expected host:port, or an empty text for none"
	)
	for _, tt := range []struct {
		key, want   string
		list        bool
		taken, left []string
	}{
		{"github.link_hosts", host, true, []string{"x.test", "x.test:8443", "localhost:3000", "wiki_1.x.test", "bücher.test"},
			[]string{"https://x.test", "https://x.test/", "x.test/", "//x.test", "x.test:", "x y", "", "*.x.test", "-x.test", "x.test."}},
		{"sandbox.net_allow", name, true, []string{"registries", "x.test", "a-b.x.test", "x.test:443"},
			[]string{"http://x.test", "a b", "", "x.test/", "x.test:80", "*.x.test", "registrys", ".x.test", "x.test."}},
		{"sandbox.ro_paths", part, true, []string{"/srv/data", "~/data"}, []string{"rel", "./rel", "", "~", "~/", "~/.", "/", "//", "/srv/..", "~other/x"}},
		{"sandbox.path", dirs, false, []string{"/usr/bin", "/usr/bin:/bin", ""}, []string{"bin", "/usr/bin:", "/usr/bin::/bin", "~/bin", "/bin:."}},
		{"output.allow", glob, true, []string{"bin/", "/bin/x", "**/*.bin", "a[b-d]?", "a b", "x*/**/y"},
			[]string{"[", "a/[b", "[a/b]", "a/[]/b", "x\\\\", "", "/", "./a", "../a", "a/../b", "a//b"}},
		{"github.protected_paths", glob, true, []string{"CODEOWNERS", ".github/**", "/infra/", "*.tf"}, []string{"[", "./infra", "infra/..", "", "infra//**"}},
		{"github.app.client_id", "expected the client id of a GitHub App", false, []string{"Iv1.x", "\"12345\""}, []string{"a b", "https://x.test/app"}},
		{"sandbox.setup", word, true, []string{"make"}, []string{"", " "}},
		{"agents.test_command", word, true, []string{"go"}, []string{"", " "}},
		{"bot.status_addr", addr, false, []string{"127.0.0.1:0", ":8080", "localhost:http", "[::1]:65535"}, []string{"x", "x:", "x:65536", "x:-1", "http://x:80"}},
	} {
		section, key, _ := strings.Cut(tt.key, ".")
		if rest, nested, ok := strings.Cut(key, "."); ok {
			section, key = section+": {"+rest, nested
		}
		load := func(value string) []string {
			if !strings.HasPrefix(value, `"`) {
				value = `"` + value + `"`
			}
			if tt.list {
				value = "[" + value + "]"
			}
			_, problems := layers(t, "version: 2\n"+section+": {"+key+": "+value+strings.Repeat("}", 1+strings.Count(section, "{"))+"\n", "", "")
			return problems
		}
		at := "user.yaml:2: " + tt.key
		if tt.list {
			at += "[0]"
		}
		for _, value := range tt.taken {
			t.Run(tt.key+" takes "+strings.ReplaceAll(value, "/", " slash "), func(t *testing.T) {
				if got := load(value); len(got) > 0 {
					t.Errorf("%q", got)
				}
			})
		}
		for _, value := range tt.left {
			t.Run(tt.key+" refuses "+strings.ReplaceAll(value, "/", " slash "), func(t *testing.T) {
				found := fmt.Sprintf("%q", strings.ReplaceAll(value, `\\`, `\`))
				if got := load(value); len(got) != 1 || got[0] != at+": "+tt.want+", found "+found {
					t.Errorf("%q", got)
				}
			})
		}
	}
}

// All that is wrong is told at once, each item of a list with its own line.
func TestProtocolE1FormsAreToldTogether(t *testing.T) {
	_, got := layers(t, "version: 2\nsandbox:\n  net_allow:\n    - registries\n    - http://x\n  ro_paths: [rel]\noutput: {allow: [\"[\"]}\n",
		"version: 2\ngithub: {link_hosts: [\"https://x/\"]}\n", "")
	for i, want := range []string{
		`.agentmux/config.yaml:2: github.link_hosts[0]: expected a host name`, `user.yaml:5: sandbox.net_allow[1]: expected registries or`,
		`user.yaml:6: sandbox.ro_paths[0]: expected a path`, `user.yaml:7: output.allow[0]: expected a path`,
	} {
		if len(got) != 4 || !strings.HasPrefix(got[i], want) {
			t.Errorf("%d: want %s in %q", i, want, got)
		}
	}
}

// A directory below the home is named with ~ and handed on with its path.
func TestReadOnlyPathsBelowTheHome(t *testing.T) {
	c, problems := layers(t, "version: 2\nsandbox: {ro_paths: [~/data, /srv]}\n", "", "")
	if c == nil || !slices.Equal(c.Sandbox.ROPaths, []string{"/home/me/data", "/srv"}) {
		t.Errorf("%v %+v", problems, c)
	}
}

// GitHub must take the longest of the labels that show the state of a session.
func TestALabelLeavesRoomForTheState(t *testing.T) {
	for name, c := range map[string]struct {
		label string
		fits  bool
	}{
		"the longest":        {strings.Repeat("a", 50-len(":needs-human")), true},
		"one above":          {strings.Repeat("a", 51-len(":needs-human")), false},
		"one letter":         {"a", true},
		"a space":            {"on it", true},
		"a space at the end": {"on it ", false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, problems := layers(t, "version: 2\nbot: {label: \""+c.label+"\"}\n", "", ""); (len(problems) == 0) != c.fits {
				t.Errorf("%q: %q", c.label, problems)
			}
		})
	}
}

func TestOnlyTheFlagFileMustExist(t *testing.T) {
	dir := t.TempDir()
	_, problems := config.Load(config.Sources{
		UserFile: dir + "/absent.yaml", Project: fstest.MapFS{}, FlagFile: dir + "/missing.yaml",
	})
	if want := dir + "/missing.yaml: cannot be read: no such file"; len(problems) != 1 || problems[0].String() != want {
		t.Errorf("problems %v, want %s", problems.Lines(), want)
	}
}

func TestTheProjectFileIsTheFirstThatExists(t *testing.T) {
	project := fstest.MapFS{
		".agentmux/config.yml":  {Data: []byte("version: 2\nlimits: {research: 3}\n")},
		".agentmux/config.json": {Data: []byte(`{"version": 2, "limits": {"research": 4}}`)},
	}
	for _, want := range []int{3, 4} {
		c, problems := config.Load(config.Sources{Project: project, ProjectPrefix: "4e1f9c2:"})
		if c == nil || c.Limits.Research != want {
			t.Fatalf("problems %v, config %+v", problems.Lines(), c)
		}
		if files := c.Source(); !strings.HasPrefix(files[0], "4e1f9c2:.agentmux/config.") {
			t.Errorf("source %v", files)
		}
		delete(project, ".agentmux/config.yml")
	}
}

func TestShowNamesTheLayerOfEachValue(t *testing.T) {
	c, problems := layers(t, "version: 2\nlimits: {phase: 1h}\nworkspace: {root: \"/a: b\"}\n", "version: 2\nlimits:\n  stall:\n  total: 3h\n", "")
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	got := map[string]string{}
	for _, v := range c.Show() {
		got[v.Path] = v.Text + " " + v.Layer
	}
	for path, want := range map[string]string{
		"limits.phase":      "1h user",
		"limits.stall":      "20m built-in",
		"limits.total":      "3h project",
		"workspace.root":    `"/a: b" user`,
		"sandbox.net_allow": "[registries] built-in",
		"mesh":              "{} built-in",
		"defaults.model":    "null built-in",
		"output.max_bytes":  "20 MiB built-in",
	} {
		t.Run(path, func(t *testing.T) {
			if got[path] != want {
				t.Errorf("%q, want %q", got[path], want)
			}
		})
	}
}

// Another file may make a fallback the provider of the role: it is passed over then. The model and arguments of a role are
// for its provider.
func TestAFallbackIsStartedAsItself(t *testing.T) {
	c, problems := layers(t, "version: 2\ndefaults: {model: opus}\nroles: {coder: {model: m, args: [-x], provider: opencode, fallback: [codex, claude]}}\n", "version: 2\nroles: {coder: {provider: codex}}\n", "")
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	for provider, want := range map[string]config.Choice{"codex": {Provider: "codex"}, "claude": {Provider: "claude", Model: "opus"}} {
		if got := c.Substitute("coder", provider); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// What is said of a role counts before what is said of all agents; whom others wait for has a terminal only if that is said.
func TestTheTransportOfARole(t *testing.T) {
	c, problems := layers(t, "version: 2\nagents: {transport: tui}\nroles:\n  coder: {transport: headless, provider: codex, fallback: [opencode]}\n"+
		"  planner: {transport: auto}\n  web-researcher: {transport: headless}\n", "", "")
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	for role, want := range map[string][2]string{ // and of one that others wait for
		"coder": {"headless", "headless"}, "planner": {"auto", "headless"}, "reviewer": {"tui", "headless"},
		"code-researcher": {"tui", "tui"}, "web-researcher": {"headless", "headless"},
	} {
		if got := [2]string{c.Transport(role, false), c.Transport(role, true)}; got != want {
			t.Errorf("%s: %v, want %v", role, got, want)
		}
	}
	for provider, want := range map[string]bool{"codex": true, "opencode": true, "claude": true, "qwen": false} { // claude of the researcher
		if c.RunsHeadless(provider) != want {
			t.Errorf("%s runs headless: %t", provider, !want)
		}
	}
}

func TestTheDefaultModelIsOnlyForTheDefaultProvider(t *testing.T) {
	c, problems := layers(t, "version: 2\ndefaults: {model: opus}\nroles:\n  coder: {provider: codex}\n  planner: {model: haiku, args: []}\n  reviewer: {provider: claude}\n", "", "")
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	for role, want := range map[string]config.Choice{
		"coder":     {Provider: "codex"},
		"planner":   {Provider: "claude", Model: "haiku", Args: []string{}},
		"reviewer":  {Provider: "claude", Model: "opus"},
		"architect": {Provider: "claude", Model: "opus"},
	} {
		t.Run(role, func(t *testing.T) {
			if got := c.Choose(role); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// Every key that decides about the machine is refused in a repository's file and accepted in a
// file of the person.
func TestProtocolE5KeysOfTheHost(t *testing.T) {
	for _, c := range []struct{ key, text string }{
		{"sandbox.level", "sandbox: {level: none}"}, {"sandbox.net", "sandbox: {net: open}"}, {"sandbox.net_allow", "sandbox: {net_allow: [x.test]}"},
		{"sandbox.unsafe_flags", "sandbox: {unsafe_flags: true}"}, {"sandbox.ro_paths", "sandbox: {ro_paths: [/srv]}"},
		{"sandbox.path", "sandbox: {path: /bin}"}, {"sandbox.home", "sandbox: {home: shared}"}, {"sandbox.env_allow", "sandbox: {env_allow: [GOFLAGS]}"},
		{"output", "output: {allow: [bin/]}"}, {"gate", "gate: {allow_forks: true}"}, {"bot", "bot: {allowed_users: [eve]}"},
		{"github.host", "github: {host: x.test}"}, {"agents.transport", "agents: {transport: headless}"},
		{"agents.linger", "agents: {linger: 1h}"}, {"roles.coder.transport", "roles: {coder: {transport: headless}}"},
		{"agents.project_config", "agents: {project_config: base}"},
		{"github.auth", "github: {auth: gh}"}, {"github.app", "github: {app: {client_id: x}}"}, {"providers", "providers: {claude: {command: /tmp/x}}"},
		{"roles.coder.args", "roles: {coder: {args: [--free]}}"}, {"workspace", "workspace: {root: /srv/w}"},
		{"session", "session: {transcripts: false}"}, {"log", "log: {level: debug}"},
	} {
		t.Run(c.key, func(t *testing.T) {
			text := "version: 2\n" + c.text + "\n"
			want := "4e1f9c2:.agentmux/config.yaml:2: " + c.key + ": only a configuration file outside the repository may set this"
			_, problems := config.Load(config.Sources{
				Project: fstest.MapFS{".agentmux/config.yaml": {Data: []byte(text)}}, ProjectPrefix: "4e1f9c2:",
			})
			if got := problems.Errors().Lines(); !slices.Equal(got, []string{want}) {
				t.Errorf("in a repository: %q", got)
			}
			if _, got := layers(t, text, "", ""); len(got) > 0 {
				t.Errorf("of a person: %q", got)
			}
		})
	}
	if c, got := layers(t, "", "version: 2\nsandbox: {setup: [make, deps]}\n", ""); c == nil {
		t.Errorf("sandbox.setup in a repository: %q", got)
	}
}

// The problem of each removed key names its replacement.
func TestProtocolE1RemovedKeys(t *testing.T) {
	for key, c := range map[string]struct{ text, instead string }{
		"defaults.session_name":        {"defaults: {session_name: x}", "--name"},
		"defaults.compression":         {"defaults: {compression: x}", "need none"},
		"defaults.tier":                {"defaults: {tier: x}", "defaults.model"},
		"defaults.profile":             {"defaults: {profile: x}", "roles.<role>.provider"},
		"launchers":                    {"launchers: {x: {}}", "providers.<name>"},
		"profiles":                     {"profiles: {x: {}}", "roles.<role>.model"},
		"providers.a.single_coder":     {"providers: {a: {command: a, single_coder: true}}", "limits.parallel"},
		"providers.a.sub_agent_tool":   {"providers: {a: {command: a, sub_agent_tool: x}}", "limits.parallel"},
		"providers.a.trust_snippet":    {"providers: {a: {command: a, trust_snippet: x}}", "providers.<name>.trust"},
		"providers.a.trust_key":        {"providers: {a: {command: a, trust_key: x}}", "providers.<name>.trust"},
		"providers.a.batch_command":    {"providers: {a: {command: a, batch_command: x}}", "headless_args"},
		"providers.a.batch_subcommand": {"providers: {a: {command: a, batch_subcommand: x}}", "headless_args"},
	} {
		t.Run(key, func(t *testing.T) {
			_, got := layers(t, "version: 2\n"+c.text+"\n", "", "")
			if len(got) != 1 || !strings.HasPrefix(got[0], "user.yaml:2: "+key+": removed") || !strings.Contains(got[0], c.instead) {
				t.Errorf("problems %q", got)
			}
		})
	}
}

// Names that git would refuse at the end of a session are refused at its start.
func TestNamesThatGitRefuses(t *testing.T) {
	for name, ok := range map[string]bool{
		"main": true, "release/1.2": true, "feature_x": true, "a-b": true, "@a": true,
		"-main": false, "a..b": false, "a b": false, "a~1": false, "a^": false, "a:b": false, "a?": false, "a*": false, "a[": false, "a\\\\b": false,
		"/a": false, "a/": false, "a//b": false, ".a": false, "a/.b": false, "a.": false, "a.lock": false, "a.lock/b": false, "a@{b": false, "@": false, "HEAD": false,
	} {
		t.Run(strings.ReplaceAll(name, "/", " slash "), func(t *testing.T) {
			_, got := layers(t, "version: 2\ngithub: {base_branch: \""+name+"\"}\n", "", "")
			if ok != (len(got) == 0) || !ok && !strings.HasPrefix(got[0], "user.yaml:2: github.base_branch: expected a branch's name, and git refuses ") {
				t.Errorf("%q: %q", name, got)
			}
		})
	}
	if _, got := layers(t, "version: 2\ngithub: {branch_prefix: x.lock/}\n", "", ""); len(got) != 1 || !strings.Contains(got[0], "github.branch_prefix: expected the start of a branch name, and git refuses") {
		t.Errorf("%q", got)
	}
}

// The default workflow has to be one that the project can start.
func TestTheDefaultWorkflowExists(t *testing.T) {
	project := fstest.MapFS{
		".agentmux/config.yaml":         {Data: []byte("version: 2\ndefaults: {workflow: quik}\n")},
		".agentmux/workflows/mine.yaml": {Data: []byte("")},
	}
	for name, want := range map[string]string{
		"feature": "", "quick": "", "mine": "", "quik": `.agentmux/config.yaml:2: defaults.workflow: unknown workflow "quik", did you mean "quick"?`,
	} {
		t.Run(name, func(t *testing.T) {
			project[".agentmux/config.yaml"].Data = []byte("version: 2\ndefaults: {workflow: " + name + "}\n")
			s := config.Sources{Project: project}
			if _, problems := config.Load(s); problems.Err() != nil {
				t.Fatal(problems)
			}
			if _, problems := config.Check(s); strings.Join(problems.Lines(), "\n") != want {
				t.Errorf("%q, want %q", problems.Lines(), want)
			}
		})
	}
	project[".agentmux/config.yaml"].Data = []byte("version: 2\ndefaults: {workflow: quik}\ngithub: {base_branch: a..b}\n")
	if _, problems := config.Check(config.Sources{Project: project}); len(problems.Lines()) != 2 {
		t.Errorf("two problems: %q", problems.Lines())
	}
}

// A model is passed on the command line of a CLI, so it must not be a flag.
func TestSecurity27AModelIsNoFlag(t *testing.T) {
	for _, model := range []string{"--yolo", "-m", "opus --yolo", "a;b", "$(id)", "é", " opus", "@x", "/x"} {
		for key, text := range map[string]string{
			"defaults.model": "defaults: {model: %q}\n", "roles.coder.model": "roles: {coder: {model: %q}}\n",
		} {
			if _, problems := layers(t, "", "version: 2\n"+fmt.Sprintf(text, model), ""); !strings.Contains(strings.Join(problems, " "), key+": ") {
				t.Errorf("%s: %q is accepted: %v", key, model, problems)
			}
		}
	}
	for _, model := range []string{"opus", "claude-opus-4-8[1m]", "anthropic/claude-sonnet-4.5", "gpt-5:high", "us.amazon@v1"} {
		_, problems := layers(t, "", "version: 2\ndefaults: {model: \""+model+"\"}\n", "")
		if bad := strings.Contains(model, "["); (len(problems) > 0) != bad {
			t.Errorf("%q: %v", model, problems)
		}
	}
}

// A table below mesh is checked when the configuration is read, whichever mesh it is of.
func TestTheTableOfAMesh(t *testing.T) {
	for text, want := range map[string]string{
		"mesh: {}": "",
		"mesh:":    "",
		"mesh: {mesh: tdd, routing: {red: {complete: {green: x}}}}": "",
		"mesh: {routing: {}}":                              "user.yaml:2: mesh.mesh: required key missing",
		"mesh: {mesh: tdd, routing: {}, roots: {}}":        "user.yaml:2: mesh.roots: unknown key",
		"mesh: {mesh: tdd, routing: {red: {Done: {}}}}":    "user.yaml:2: mesh.routing.red.Done: expected a status",
		"mesh: {mesh: tdd, routing: {red: {done: green}}}": "user.yaml:2: mesh.routing.red.done: expected a map",
		"mesh: [tdd]": "user.yaml:2: mesh: expected a map",
	} {
		_, problems := layers(t, "version: 2\n"+text+"\n", "", "")
		if got := strings.Join(problems, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
	c, problems := layers(t, "version: 2\nmesh: {mesh: tdd, routing: {red: {}}}\n", "version: 2\nmesh: {mesh: tdd, routing: {green: {}}}\n", "")
	if c == nil || len(problems) > 0 || len(c.Mesh.Field("routing").Fields) != 2 {
		t.Errorf("layers: %v", problems)
	}
}
