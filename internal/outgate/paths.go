package outgate

import (
	"context"
	"path"
	"strings"

	"github.com/agentmux/agentmux/internal/sanitize"
)

// blocked paths run something on checkout, when the directory is opened, in CI, or in
// an agent, or are refused by GitHub. What agents and editors read counts in any
// directory.
var blocked = patterns(
	".github/workflows/**", ".github/actions/**", ".github/hooks/**", ".gitmodules",
	"**/.husky/**", "**/.envrc", "**/.devcontainer/**",
	"**/.vscode/tasks.json", "**/.vscode/settings.json", "**/.vscode/launch.json",
	"**/.claude/settings*", "**/.claude/hooks/**", "**/.claude/commands/**", "**/.claude/agents/**", "**/.claude/skills/**",
	"**/.mcp.json", "**/.codex/**", "**/.gemini/**", "**/.cursor/**", "**/.opencode/**", "**/opencode.json", "**/.qwen/**",
)

// instructions are read by agents: always held.
var instructions = patterns("**/AGENTS.md", "**/CLAUDE*.md", "**/GEMINI.md", ".github/copilot-instructions.md")

// DefaultProtected are the held paths where nothing else is configured.
func DefaultProtected() []string { return []string{".github/**", ".agentmux/**", "**/CODEOWNERS"} }

// manifests and their kin are named on top of a pull request, by rule.
var manifests = []struct {
	rule string
	list []pattern
}{
	{"dependencies", patterns(
		"**/go.mod", "**/go.sum", "**/go.work", "**/go.work.sum", "**/package.json", "**/package-lock.json", "**/npm-shrinkwrap.json",
		"**/yarn.lock", "**/pnpm-lock.yaml", "**/pnpm-workspace.yaml", "**/bun.lock", "**/bun.lockb", "**/deno.json", "**/deno.lock", "**/.npmrc",
		"**/.yarnrc*", "**/Cargo.toml", "**/Cargo.lock", "**/pyproject.toml", "**/setup.py", "**/setup.cfg", "**/requirements*.txt",
		"**/Pipfile", "**/Pipfile.lock", "**/poetry.lock", "**/uv.lock", "**/environment.yml", "**/Gemfile", "**/Gemfile.lock", "**/*.gemspec",
		"**/composer.json", "**/composer.lock", "**/pom.xml", "**/build.gradle*", "**/settings.gradle*", "**/gradle.lockfile",
		"**/gradle/wrapper/**", "**/*.csproj", "**/packages.lock.json", "**/nuget.config", "**/Package.swift", "**/Package.resolved",
		"**/Podfile", "**/Podfile.lock", "**/mix.exs", "**/mix.lock", "**/pubspec.yaml", "**/pubspec.lock", "**/flake.nix", "**/flake.lock",
		"**/conanfile.*", "**/vcpkg.json", "**/stack.yaml", "**/*.cabal", "**/build.sbt", "**/project.clj", "**/deps.edn",
	)},
	{"build", patterns("**/Dockerfile*", "**/*.Dockerfile", "**/Containerfile*", "**/docker-compose*", "**/compose.y*ml",
		"**/Makefile", "**/GNUmakefile", "**/*.mk", "**/CMakeLists.txt", "**/Justfile", "**/Taskfile.y*ml", "**/build.rs")},
	{"ci", patterns(".gitlab-ci.yml", ".circleci/**", "**/azure-pipelines*.y*ml", ".travis.yml", "**/Jenkinsfile*", "bitbucket-pipelines.yml",
		".drone.yml", ".buildkite/**", ".woodpecker/**", ".woodpecker.y*ml", "appveyor.yml", ".appveyor.yml", ".cirrus.yml",
		".teamcity/**", "**/.pre-commit-config.yaml", "**/action.yml", "**/action.yaml")},
	{"policy", patterns("**/SECURITY.md", "**/LICENSE*", "**/LICENCE*", "**/COPYING*")},
}

var tests = patterns("**/*_test.*", "**/test_*.py", "**/*.test.*", "**/*.spec.*", "**/*_spec.*", "**/*Test.java", "**/*Tests.java", "**/*Test.kt",
	"**/*Tests.cs", "**/*Test.php",
	"**/test/**", "**/tests/**", "**/__tests__/**", "**/testdata/**", "**/spec/**")

// paths judges where the change is: added, changed and deleted paths alike, so both
// names of a rename.
func (c *check) paths(context.Context) error {
	for _, ch := range c.changes {
		c.classify(ch.Path, ch.Path, "")
		for _, m := range manifests {
			if matchAny(m.list, ch.Path) {
				c.name(Note{m.rule, ch.Path, "changed"})
			}
		}
		if ch.NewMode == modeExecutable && ch.OldMode != modeExecutable {
			c.name(Note{"executable", ch.Path, "is executable now"})
		}
		if ch.Status == 'D' && matchAny(tests, ch.Path) {
			c.name(Note{"tests", ch.Path, "deleted"})
		}
	}
	return nil
}

// classify blocks or holds shown because of where it is or leads.
func (c *check) classify(p, shown, how string) {
	switch {
	case reachAny(blocked, p):
		if !matchAny(patterns(c.Allow...), p) {
			c.find(Finding{Rule: "path.blocked", Path: shown, Text: how + "a path that runs where it is checked out, opened or built"})
			return
		}
		c.hold(Note{"path.allowed", shown, how + "a path that runs where it is checked out, opened or built"})
	case matchAny(instructions, p):
		c.hold(Note{"path.instructions", shown, how + "instructions that agents read"})
	case reachAny(c.protected(), p):
		c.hold(Note{"path.protected", shown, how + "a protected path"})
	}
}

func (c *check) protected() []pattern {
	list := c.Protected
	if list == nil {
		list = DefaultProtected()
	}
	var out []pattern
	for _, p := range list {
		if !strings.Contains(strings.TrimSuffix(p, "/"), "/") {
			p = "**/" + p
		}
		out = append(out, patterns(p, strings.TrimSuffix(p, "/")+"/**")...)
	}
	return out
}

// pattern is a path pattern by component: "**" stands for any number of directories,
// "*" and "?" as in path.Match. A pattern without "/" means the top directory.
type pattern []string

func patterns(list ...string) []pattern {
	out := make([]pattern, 0, len(list))
	for _, p := range list {
		p = strings.TrimPrefix(p, "/")
		if strings.HasSuffix(p, "/") {
			p += "**"
		}
		out = append(out, strings.Split(sanitize.Fold(p), "/"))
	}
	return out
}

func matchAny(list []pattern, p string) bool {
	parts := strings.Split(sanitize.Fold(p), "/")
	for _, pat := range list {
		if pat.match(parts, false) {
			return true
		}
	}
	return false
}

// reachAny is matchAny that also takes a path which a pattern leads through: a symlink
// ".claude" is a way to ".claude/settings.json".
func reachAny(list []pattern, p string) bool {
	parts := strings.Split(sanitize.Fold(p), "/")
	for _, pat := range list {
		if pat.match(parts, true) {
			return true
		}
	}
	return false
}

// match compares the pattern with a folded path. With through, a path that ends before
// the pattern does is taken if its last name was compared with a name of the pattern.
func (pat pattern) match(parts []string, through bool) bool {
	if len(pat) == 0 {
		return len(parts) == 0
	}
	if pat[0] == "**" {
		if len(pat) == 1 {
			return true // below, and the directory itself
		}
		for i := range parts {
			if pat[1:].match(parts[i:], through) {
				return true
			}
		}
		return false
	}
	if len(parts) == 0 {
		return false
	}
	if ok, _ := path.Match(pat[0], parts[0]); !ok {
		return false
	}
	if len(parts) == 1 && len(pat) > 1 {
		return through || pat[1] == "**" && len(pat) == 2
	}
	return pat[1:].match(parts[1:], through)
}
