package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/signal"
)

func TestBuiltInProviders(t *testing.T) {
	ps := providers(t)
	want := []string{"claude", "codex", "copilot", "cursor", "gemini", "opencode", "qwen", "script"}
	if !slices.Equal(ps.Names(), want) {
		t.Errorf("providers %q, want %q", ps.Names(), want)
	}
	for name, p := range ps {
		t.Run(name, func(t *testing.T) {
			if proven := name != "cursor"; p.Proven != proven {
				t.Errorf("proven is %v", p.Proven)
			}
			if name != "script" && (len(p.Ready) == 0 || len(p.Credentials) == 0 || p.Pause == 0) {
				t.Errorf("a part is missing: %+v", p)
			}
			if asks := name == "claude" || name == "script"; p.SkipsPermissions == asks {
				t.Errorf("skips permissions is %v", p.SkipsPermissions)
			}
			for _, key := range p.Credentials {
				if !slices.Contains(p.Env, key) {
					t.Errorf("credential %s would not be passed on", key)
				}
			}
		})
	}
}

func TestEveryProviderStartsInEveryMode(t *testing.T) {
	for name, p := range providers(t) {
		for _, transport := range []agent.Transport{agent.TUI, agent.Headless} {
			for _, resume := range []string{"", "session-1"} {
				if resume != "" && len(p.ResumeArgs) == 0 {
					continue
				}
				t.Run(name+" "+string(transport)+" "+resume, func(t *testing.T) {
					s := newSpec(t, name)
					s.Transport, s.Resume, s.AllowUnsafe, s.Model = transport, resume, true, "some-model"
					key := "key"
					if len(p.Credentials) > 0 {
						key = p.Credentials[0]
					}
					s.Env.Lookup = lookup(map[string]string{key: "very-secret-value"})
					l := prepare(t, s)
					all := strings.Join(l.Argv, "\x00")
					if strings.Count(all, s.Line) != 1 {
						t.Errorf("the line is not there exactly once: %q", l.Argv)
					}
					if strings.ContainsAny(all, "{}") && name != "codex" || strings.Contains(all, "very-secret-value") {
						t.Errorf("unfilled or secret: %q", l.Argv)
					}
					if p.ModelFlag != "" && !slices.Contains(l.Argv, "some-model") && !slices.Contains(l.Argv, p.ModelFlag+"some-model") {
						t.Errorf("no model: %q", l.Argv)
					}
					if resume != "" && !slices.Contains(l.Argv, resume) {
						t.Errorf("no session: %q", l.Argv)
					}
				})
			}
		}
	}
}

func TestToolServerCarriesTheIdentityOfTheLaunch(t *testing.T) {
	for name, p := range providers(t) {
		if p.MCP == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := newSpec(t, name)
			s.AllowUnsafe = true
			s.Env.Lookup = lookup(map[string]string{p.Credentials[0]: "k"})
			l := prepare(t, s)
			text := strings.Join(l.Argv, " ")
			if files, err := filepath.Glob(filepath.Join(s.Dir, "config", "*")); err == nil {
				for _, f := range files {
					if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
						if info.Mode().Perm() != 0o600 {
							t.Errorf("%s has mode %v", f, info.Mode())
						}
						text += readFile(t, f)
					}
				}
			}
			for _, f := range []string{".gemini/settings.json", ".copilot/hooks/agentmux.json"} { // read nowhere else
				if path := filepath.Join(s.Env.Home, f); exists(path) {
					text += readFile(t, path)
				}
			}
			if name == "cursor" {
				text += readFile(t, filepath.Join(s.Dir, "config", "plugin", "mcp.json"))
			}
			text = strings.Join(strings.Fields(text), "")
			if want := `"--session","` + s.Session + `","--role","coder","--task","2","--launch","v1-coder-1"`; !strings.Contains(text, want) {
				t.Errorf("no identity in %s", text)
			}
			if p.Hooks != "" && !strings.Contains(text, "'hook''--session'") && !strings.Contains(text, `"hook","--session"`) {
				t.Errorf("no hooks in %s", text)
			}
			if files, err := filepath.Glob(filepath.Join(s.Workdir, "*")); err != nil || len(files) > 0 {
				t.Errorf("written into the workspace: %q", files)
			}
		})
	}
}

func TestClaudeArguments(t *testing.T) {
	base := func(s agent.LaunchSpec) []string {
		return []string{filepath.Join(filepath.Dir(s.Workdir), "bin/claude")}
	}
	files := func(s agent.LaunchSpec) []string {
		config := filepath.Join(s.Dir, "config")
		return []string{"--settings", config + "/settings.json", "--mcp-config", config + "/mcp.json", "--strict-mcp-config"}
	}
	for name, c := range map[string]struct {
		change func(*agent.LaunchSpec)
		want   func(s agent.LaunchSpec, id string) []string
	}{
		"attended": {
			func(s *agent.LaunchSpec) { s.AllowUnsafe = false },
			func(s agent.LaunchSpec, id string) []string {
				return slices.Concat(base(s), []string{s.Line, "--session-id", id}, files(s), []string{"--permission-mode", "acceptEdits", "--allowedTools", "mcp__agentmux"})
			},
		},
		"headless, resumed": {
			func(s *agent.LaunchSpec) {
				s.Transport, s.Resume, s.Model, s.Effort, s.Args = agent.Headless, "abc", "opus", "high", []string{"--x"}
			},
			func(s agent.LaunchSpec, _ string) []string {
				return slices.Concat(base(s), []string{"-p", s.Line, "--output-format", "stream-json", "--verbose", "--x", "--model=opus", "--effort=high", "--resume", "abc"},
					files(s), s.Provider.UnattendedArgs)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpec(t, "claude")
			s.AllowUnsafe = true
			s.Env.Lookup = lookup(map[string]string{"ANTHROPIC_API_KEY": "k"})
			c.change(&s)
			l := prepare(t, s)
			if want := c.want(s, l.CLISession); !slices.Equal(l.Argv, want) {
				t.Errorf("arguments\n%q, want\n%q", l.Argv, want)
			}
		})
	}
}

func TestUnattendedRunsNeedAllowUnsafe(t *testing.T) {
	for name, change := range map[string]func(*agent.LaunchSpec){
		"unattended": func(s *agent.LaunchSpec) { s.Unattended = true },
		"headless":   func(s *agent.LaunchSpec) { s.Transport = agent.Headless },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpec(t, "gemini")
			s.Env.Lookup = lookup(map[string]string{"GEMINI_API_KEY": "k"})
			change(&s)
			if _, err := agent.Prepare(s); !errors.Is(err, agent.ErrUnsafe) {
				t.Errorf("error %v, want ErrUnsafe", err)
			}
			if exists(s.Dir) {
				t.Error("files were written")
			}
		})
	}
}

func TestOverridesReplaceListsAndMergeMaps(t *testing.T) {
	none := ""
	ps, problems := agent.Load(map[string]agent.Override{
		"claude": {Command: "/opt/claude", ModelFlag: &none, RoleArgs: map[string][]string{"coder": {"--x"}}, Env: []string{"MY_KEY"}},
		"own":    {Command: "own-agent", ToolName: "own.{tool}", InteractiveArgs: []string{"--go"}, PromptMode: "stdin"},
	})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	claude, builtIn := ps["claude"], providers(t)["claude"]
	if claude.Command != "/opt/claude" || claude.ModelFlag != "" || !slices.Equal(claude.Env, []string{"MY_KEY"}) || claude.MCP != builtIn.MCP {
		t.Errorf("claude: %+v", claude)
	}
	if builtIn.Command != "claude" || builtIn.RoleArgs["coder"] != nil {
		t.Error("an override changed the built-in provider")
	}
	if got := ps["own"].Shown("x") + claude.Shown("x") + ps["script"].Shown("x"); got != "own.xmcp__agentmux__xx" {
		t.Errorf("tools are shown as %s", got)
	}
	s := newSpec(t, "script")
	writeFile(t, filepath.Join(filepath.Dir(s.Workdir), "bin", "own-agent"), "", 0o700)
	s.Provider = ps["own"]
	l := prepare(t, s)
	if !slices.Equal(l.Argv[1:], []string{"--go"}) || l.Stdin != "line" || l.Line != s.Line {
		t.Errorf("own: %+v", l)
	}
}

func TestOverrideProblemsAreReportedTogether(t *testing.T) {
	wrong := "nonsense"
	_, problems := agent.Load(map[string]agent.Override{
		"own": {PromptMode: "flag", ToolName: "tool", MCP: &wrong, Hooks: &wrong, Env: []string{"OK", "GITHUB_TOKEN", "A B"}, Trust: []agent.Dialog{
			{Text: "x"}, {Text: " ", Key: "y"}, {Text: "x", Key: "Down Enter"}, {Text: "x", Key: "C-m"},
		}},
	})
	for _, path := range []string{"command", "prompt_flag", "tool_name", "mcp", "hooks", "env[1]", "env[2]", "trust[0]", "trust[1]", "trust[2].key"} {
		if !problems.Has("providers.own." + path) {
			t.Errorf("no problem at %s in %v", path, problems.Lines())
		}
	}
	if len(problems) != 10 {
		t.Errorf("problems: %v", problems.Lines())
	}
}

func TestProbeComparesHelpWithTheFlagsInUse(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "prog"), "#!/bin/sh\ncase $1 in --version) echo 'prog 1.2.3 (x)';; *) echo ' -m, --model <m>  --modest'; echo $SECRET;; esac\n", 0o700)
	t.Setenv("SECRET", "--leaked")
	p := agent.Provider{Name: "prog", Command: "prog", Versions: []string{"1.2.3"}, HelpArgs: []string{"--help"}, Flags: []string{"--model", "--mode", "--leaked"}}
	probe, err := p.Probe(t.Context(), dir+":/usr/bin:/bin")
	if err != nil {
		t.Fatal(err)
	}
	if probe.Version != "prog 1.2.3 (x)" || !probe.Known || !slices.Equal(probe.Missing, []string{"--mode", "--leaked"}) {
		t.Errorf("probe: %+v", probe)
	}
	if _, err := p.Probe(context.Background(), "/nonexistent"); err == nil {
		t.Error("a program that is not installed was probed")
	}
}

func TestScreenMarksTellWorkingFromIdle(t *testing.T) {
	p := providers(t)["claude"]
	for name, c := range map[string]struct {
		text string
		want signal.State
	}{
		"working":  {"⏵⏵ accept edits on (shift+tab to cycle) · esc to interrupt", signal.Working},
		"idle":     {"⏵⏵ accept edits on (shift+tab to cycle)", signal.Idle},
		"a dialog": {"Do you trust the files in this folder?", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := p.Screen(c.text); got != c.want {
				t.Errorf("%q is %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// Without the flag a server of codex outlives the launch.
func TestCodexStartsNoDaemonInATerminal(t *testing.T) {
	for transport, want := range map[agent.Transport]bool{agent.TUI: true, agent.Headless: false} {
		t.Run(string(transport), func(t *testing.T) {
			s := newSpec(t, "codex")
			s.AllowUnsafe, s.Transport = true, transport
			s.Env.Lookup = lookup(map[string]string{"OPENAI_API_KEY": "very-secret"})
			argv := prepare(t, s).Argv
			if got := slices.Contains(argv, "--no-daemon"); got != want {
				t.Errorf("--no-daemon: %v, want %v: %q", got, want, argv)
			}
			if all := strings.Join(argv, " "); !strings.Contains(all, "model_provider") || strings.Contains(all, "very-secret") {
				t.Errorf("arguments %q", argv)
			}
		})
	}
}
