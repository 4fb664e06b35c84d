package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

func TestTheSetupCommandRunsOnceInEachWorkspace(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	log := filepath.Join(r.root, "setup.log")
	r.config.Sandbox.Setup = []string{"sh", "-c", "pwd >> " + log + "; env | grep -c -e AGENTMUX -e RUNNER >> " + log + "; true"}
	environ := r.host.Environ
	r.host.Environ = func(name string) (string, bool) {
		if name == "RUNNER_TRACKING_ID" {
			return "github_1", true
		}
		return environ(name)
	}
	r.script(simple())
	dir := r.prepare(quick)
	mustEnd(t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeDone, "")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	seen := map[string]bool{}
	for i := 0; i+1 < len(lines); i += 2 {
		if seen[lines[i]] || lines[i+1] != "3" {
			t.Errorf("%s: again, or with other variables of ours than launch, mark and runner: %s", lines[i], lines[i+1])
		}
		seen[lines[i]] = true
	}
	if len(seen) < 3 {
		t.Errorf("workspaces: %v", lines)
	}
}

// A command of the repository needs a person's permission. Without it the session continues
// unprepared, with it the command runs in every workspace.
func TestProtocolE5TheSetupCommandOfAProjectNeedsToBeAllowed(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	ran := filepath.Join(r.root, "ran")
	r.write(".agentmux/config.yaml", "version: 2\nsandbox: {setup: [touch, "+ran+"]}\n")
	c, found := config.Load(config.Sources{UserFile: filepath.Join(r.root, "user.yaml"), Project: os.DirFS(r.project)})
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	r.config = c
	r.script(simple())
	stateHome := filepath.Join(r.root, "s")
	for _, allowed := range []bool{false, true} {
		request, open := project.OpenSetup(stateHome, r.project, c)
		if !open || !slices.Equal(request.Argv, []string{"touch", ran}) {
			t.Fatalf("nothing to allow: %+v", request)
		}
		if allowed {
			if err := request.Allow(); err != nil {
				t.Fatal(err)
			}
		}
		mustEnd(t, r.run(host.RunSpec{Dir: r.prepare(quick)}), orchestrator.OutcomeDone, "")
		if _, err := os.Stat(ran); (err == nil) != allowed {
			t.Errorf("allowed %v: %v", allowed, err)
		}
	}
	if _, open := project.OpenSetup(stateHome, r.project, c); open {
		t.Error("asked again")
	}
	if _, open := project.OpenSetup(stateHome, r.project+"2", c); !open {
		t.Error("what one project may run, another may, too")
	}
	other := *c
	other.Sandbox.Setup = []string{"touch", ran, "more"}
	if _, open := project.OpenSetup(stateHome, r.project, &other); !open {
		t.Error("another command needs no word")
	}
}

// A key that nothing could search texts for is refused, unless the service that it is for is of this machine; and so is a
// token with which the host itself acts.
func TestSecurity7KeysThatMustNotReachAgents(t *testing.T) {
	t.Parallel()
	r := newRig(t, "providers: {qwen: {command: /bin/true}}\nroles: {coder: {provider: qwen}}\n")
	token := "ghp_" + strings.Repeat("a1B2", 9)
	must(t, r.host.Redactor.AddToken(redact.NewSecret(token)))
	reads := "github_pat_" + strings.Repeat("r", 36)
	r.host.Reach = func(_ context.Context, token string) (string, error) {
		switch token {
		case reads:
			return "acme/vault", nil
		case "github_pat_" + strings.Repeat("n", 36):
			return "", nil
		}
		return "", errors.New("no network")
	}
	def, _, _ := workflows.Load("quick", nil)
	for name, c := range map[string]struct {
		env  map[string]string
		says string
	}{
		"a key":                        {map[string]string{"OPENAI_API_KEY": strings.Repeat("k", 16)}, ""},
		"a short key":                  {map[string]string{"OPENAI_API_KEY": strings.Repeat("k", 15)}, "OPENAI_API_KEY is shorter than 16 characters"},
		"a placeholder":                {map[string]string{"OPENAI_API_KEY": "ollama", "OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"}, ""},
		"a placeholder, by name":       {map[string]string{"OPENAI_API_KEY": "ollama", "OPENAI_BASE_URL": "http://localhost:11434/v1"}, ""},
		"a short key of another place": {map[string]string{"OPENAI_API_KEY": "ollama", "OPENAI_BASE_URL": "http://127.0.0.1.example.com/v1"}, "OPENAI_API_KEY is shorter"},
		"no key":                       {map[string]string{"OPENAI_API_KEY": strings.Repeat("k", 16), "DASHSCOPE_API_KEY": ""}, ""},
		"the token of the host":        {map[string]string{"OPENAI_API_KEY": token}, "OPENAI_API_KEY is the token with which agentmux acts"},
		"a token that reads nothing":   {map[string]string{"OPENAI_API_KEY": "github_pat_" + strings.Repeat("n", 36)}, ""},
		"a token that reads":           {map[string]string{"OPENAI_API_KEY": reads}, "OPENAI_API_KEY reads the private repository acme/vault"},
		"a token, who knows":           {map[string]string{"OPENAI_API_KEY": "ghp_" + strings.Repeat("a", 36)}, "GitHub could not be asked"},
		"one that is passed on":        {map[string]string{"OPENAI_API_KEY": strings.Repeat("k", 16), "OPENAI_MODEL": reads}, ""},
		"the token, under other names": {map[string]string{"OPENAI_API_KEY": strings.Repeat("k", 16), "OPENAI_MODEL": token}, "OPENAI_MODEL is the token with which agentmux acts"},
	} {
		r.host.Environ = func(variable string) (string, bool) {
			value, ok := c.env[variable]
			return value, ok
		}
		err := r.host.Preflight(t.Context(), r.config, def, false)
		if refused := (*host.PreflightError)(nil); (c.says == "") != (err == nil) || c.says != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%s: the value is told", name)
		}
	}
}

// What nothing would hold is refused, not ignored.
func TestASandboxThatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"level: bwrap", "net: proxy", "net: none"} {
		r := newRig(t, "")
		user := filepath.Join(r.root, "user.yaml")
		if err := os.WriteFile(user, []byte(strings.Replace(userConfig, "unsafe_flags: true", "unsafe_flags: true, "+text, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		c, problems := config.Load(config.Sources{UserFile: user})
		if c == nil {
			t.Fatal(problems.Lines())
		}
		def, _, _ := workflows.Load("quick", nil)
		var refused *host.PreflightError
		if err := r.host.Preflight(t.Context(), c, def, false); !errors.As(err, &refused) || !strings.Contains(err.Error(), "sandbox.") {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// A program is looked at before the start also if it comes late and not in every run: a reviewer that may be nominated, a researcher.
func TestPreflightLooksAtEveryRoleThatMayStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workflow, role string
		starts         bool
	}{
		{"feature", "reviewer_expert", true}, {"feature", "web-researcher", true}, {"feature", "code-researcher", true},
		{"quick", "web-researcher", true}, {"quick", "reviewer_expert", false}, // its reviewers are those that it names
	} {
		r := newRig(t, "providers: {missing: {command: /no/such/program}}\nroles: {"+c.role+": {provider: missing}}\n")
		def, _, _ := workflows.Load(c.workflow, nil)
		if err := r.host.Preflight(t.Context(), r.config, def, false); (err != nil) != c.starts || c.starts && !strings.Contains(err.Error(), "missing: its program") {
			t.Errorf("%s, %s: %v", c.workflow, c.role, err)
		}
	}
}

func TestAProgramThatActsFreelyNeedsAWord(t *testing.T) {
	t.Parallel()
	r := newRig(t, "providers: {gemini: {command: /bin/true}}\nroles: {coder: {provider: gemini}}\n")
	def, _, _ := workflows.Load("quick", nil)
	r.host.Environ = func(name string) (string, bool) {
		return map[string]string{"GEMINI_API_KEY": strings.Repeat("x", 16), "PATH": "/bin"}[name], true
	}
	if err := r.host.Preflight(t.Context(), r.config, def, false); err != nil {
		t.Errorf("with the word: %v", err)
	}
	r.config.Sandbox.UnsafeFlags = nil
	var refused *host.PreflightError
	if err := r.host.Preflight(t.Context(), r.config, def, false); !errors.As(err, &refused) || !strings.Contains(err.Error(), "unsafe_flags: true") {
		t.Errorf("without: %v", err)
	}
	if err := r.host.Preflight(t.Context(), r.config, def, true); err != nil {
		t.Errorf("with a person at hand: %v", err)
	}
	r.config.Agents.Transport = "headless"
	if err := r.host.Preflight(t.Context(), r.config, def, true); !errors.As(err, &refused) || !strings.Contains(err.Error(), "unsafe_flags: true") {
		t.Errorf("with a person at hand and no terminal: %v", err)
	}
}

// A program that lacks a flag which agents are started with is refused before the run, with the version
// seen and those that are needed; flags of levels of effort count where effort is set. One with another
// help, as a wrapper may have it, is taken as it is. Another file in its place is asked again.
func TestAProgramWithoutAFlagThatItsLaunchNeedsIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "qwen")
	r := newRig(t, "providers: {qwen: {command: "+file+"}}\nroles: {coder: {provider: qwen}}\n")
	const flags = "--prompt-interactive --output-format --yolo --model --resume"
	program := func(help string) {
		must(t, os.WriteFile(file, []byte("#!/bin/sh\ncase $1 in\n--version) echo 0.9.1 ;;\n*) echo '"+help+"' ;;\nesac\n"), 0o700))
	}
	def, _, _ := workflows.Load("quick", nil)
	r.host.Environ = func(name string) (string, bool) {
		return map[string]string{"OPENAI_API_KEY": strings.Repeat("k", 16), "PATH": "/usr/bin:/bin"}[name], true
	}
	for _, c := range []struct{ help, says string }{
		{flags + " --exclude-tools", ""},
		{flags, "(0.9.1) does not know --exclude-tools, which agents are started with; install version 0.15.10"},
		{"a wrapper: see its manual, it has help of its own", ""},
	} {
		program(c.help)
		err := r.host.Preflight(t.Context(), r.config, def, false)
		if refused := (*host.PreflightError)(nil); (c.says == "") != (err == nil) || c.says != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("help %q: %v, want %q", c.help, err, c.says)
		}
	}
	program(flags)
	wrapper := newRig(t, "providers: {qwen: {command: "+file+", flags: []}}\nroles: {coder: {provider: qwen}}\n")
	wrapper.host.Environ = r.host.Environ
	if err := wrapper.host.Preflight(t.Context(), wrapper.config, def, false); err != nil {
		t.Errorf("a wrapper whose help is not asked for flags: %v", err)
	}
}
