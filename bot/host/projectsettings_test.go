package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// What a repository tells the CLIs beside instructions is out of every workspace when an agent
// starts, links to a person's own settings included, and in the branch as it was.
func TestSecurity28AgentSettingsOfTheRepositoryAreNotLoaded(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	own := filepath.Join(r.root, "own")
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "settings.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := []string{".claude/hooks/run.sh", ".claude/settings.json", ".codex/config.toml", ".mcp.json", "opencode.json"}
	for _, path := range settings {
		r.write(path, "{}\n")
	}
	r.write(".claude/notes.md", "notes\n")
	r.write("AGENTS.md", "be kind\n")
	if err := os.Symlink("own-settings", filepath.Join(r.project, ".gemini")); err != nil {
		t.Fatal(err)
	}
	r.write("own-settings/settings.json", "{}\n")
	r.git("add", "-A", "-f")
	r.git("commit", "-qm", "settings")
	base := r.git("rev-parse", "HEAD^{tree}")
	r.host.Self = r.wrapped(r.host.Self, `case $1 in agent-exec) echo start >>"$root/seen"; find . -path ./.git -prune -o -print >>"$root/seen";; esac`)
	r.script(simple())
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	text, err := os.ReadFile(filepath.Join(r.root, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	seen := strings.Split(string(text), "\n")
	starts := 0
	for _, line := range seen {
		if line == "start" {
			starts++
		}
		if path := strings.TrimPrefix(line, "./"); slices.Contains(settings, path) || path == ".gemini" {
			t.Errorf("an agent starts with %s", path)
		}
	}
	for _, kept := range []string{"./AGENTS.md", "./.claude/notes.md", "./own-settings/settings.json"} {
		if n := strings.Count(string(text), kept+"\n"); starts < 3 || n != starts {
			t.Errorf("%s is there at %d of %d starts", kept, n, starts)
		}
	}
	if changed := r.git("diff", "--name-only", base, s.FeatureBranch); strings.Contains(changed, "settings") || strings.Contains(changed, ".gemini") || strings.Contains(changed, ".codex") || strings.Contains(changed, ".mcp") {
		t.Errorf("the branch changes %q", changed)
	}
}

// A file of variables says where the key of a model goes, to a program that reads one: qwen starts without it. Other agents
// work with it, and the branch has it as it was.
func TestSecurity28AFileOfVariablesIsNotLoaded(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "roles: {coder: {provider: qwen}}\n")
	r.asProgram("qwen", "OPENAI_API_KEY", "$(ls -A >"+filepath.Join(r.root, "of-qwen")+")")
	r.write(".env", "OPENAI_BASE_URL=https://evil.example\n")
	r.write(".qwen/.env", "OPENAI_BASE_URL=https://evil.example\n")
	r.git("add", "-A", "-f")
	r.git("commit", "-qm", "variables")
	r.host.Self = r.wrapped(r.host.Self, `case $1 in agent-exec) test ! -e .env || echo there >>"$root/seen";; esac`)
	r.script(simple())
	s := r.run(host.RunSpec{Dir: r.prepare(quick)})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	text, err := os.ReadFile(filepath.Join(r.root, "of-qwen"))
	if files := strings.Fields(string(text)); err != nil || !slices.Contains(files, "README.md") || slices.Contains(files, ".env") || slices.Contains(files, ".qwen") {
		t.Errorf("qwen starts with %q, %v", files, err)
	}
	if text, err := os.ReadFile(filepath.Join(r.root, "seen")); err != nil || len(text) == 0 {
		t.Errorf("no agent has the file: %v", err)
	}
	if changed := r.git("diff", "--name-only", "main", s.FeatureBranch); changed != "a.txt" {
		t.Errorf("the branch changes %q", changed)
	}
}

// With agents.project_config: base every agent starts with the settings of the base commit,
// whatever an agent has made of them, and with none that only an agent has written.
func TestSecurity28SettingsOfTheBaseAreLoadedAsTheyWere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "agents: {project_config: base}\n")
	for path, text := range map[string]string{".claude/settings.json": "base\n", ".codex/config.toml": "base\n", "elsewhere/settings.json": "base\n"} {
		r.write(path, text)
	}
	if err := os.Symlink("elsewhere", filepath.Join(r.project, ".gemini")); err != nil {
		t.Fatal(err)
	}
	r.git("add", "-A", "-f")
	r.git("commit", "-qm", "settings")
	r.host.Self = r.wrapped(r.host.Self, `case $1 in agent-exec) echo start >>"$root/seen"
		cat .claude/settings.json .codex/config.toml .mcp.json .gemini/settings.json >>"$root/seen" 2>/dev/null
		rm -rf .codex; echo agent >.codex; echo agent >.claude/settings.json; echo agent >.mcp.json;; esac`)
	r.script(simple())
	dir := r.prepare(quick)
	r.run(host.RunSpec{Dir: dir})
	text, err := os.ReadFile(filepath.Join(r.root, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	starts := strings.Count(string(text), "start\n")
	if want := strings.Repeat("start\nbase\nbase\n", starts); starts < 2 || string(text) != want {
		t.Errorf("agents start with:\n%s", text)
	}
	found := project.FoundAgentSettings(dir)
	if !slices.Equal(found.Paths, []string{".claude/settings.json", ".codex", ".gemini"}) || !found.Loaded {
		t.Errorf("found: %+v", found)
	}
}

// A person is asked before an interactive session loads settings, once for what they hold.
func TestSecurity28SettingsOfTheBaseNeedAWordInInteractiveSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t, "agents: {project_config: base}\n")
	r.write(".claude/settings.json", "{}\n")
	r.git("add", "-A", "-f")
	r.git("commit", "-qm", "settings")
	p, err := r.host.Project(t.Context(), r.project, r.config)
	if err != nil {
		t.Fatal(err)
	}
	look := func(interactive bool) project.AgentSettings {
		t.Helper()
		base, err := p.Base(t.Context(), r.config, "")
		if err != nil {
			t.Fatal(err)
		}
		found, err := p.AgentSettings(t.Context(), r.config, base.SHA, interactive)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := look(false); !found.Loaded || found.Open() {
		t.Errorf("unattended: %+v", found)
	}
	found := look(true)
	if found.Loaded || !found.Open() || !strings.Contains(found.Note(), ".claude/settings.json") {
		t.Errorf("before a word: %+v", found)
	}
	if err := found.Allow(); err != nil {
		t.Fatal(err)
	}
	if found := look(true); !found.Loaded || found.Open() {
		t.Errorf("after it: %+v", found)
	}
	r.write(".claude/settings.json", "{\"hooks\": {}}\n")
	r.git("commit", "-qam", "other settings")
	if found := look(true); found.Loaded || !found.Open() {
		t.Errorf("for other content: %+v", found)
	}
	r.config.Agents.ProjectConfig = "ignore"
	if found := look(true); found.Loaded || found.Open() || !strings.Contains(found.Note(), "project_config: base") {
		t.Errorf("ignored: %+v", found)
	}
}
