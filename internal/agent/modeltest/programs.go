package modeltest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Enable is the variable that turns the tests with real programs on. They install
// programs from the package registry, so a plain run of all tests leaves them out.
const Enable = "AGENTMUX_TEST_AGENTS"

// Release is a program in the version that the tests run.
type Release struct {
	Package string // of the npm registry
	Program string // in its node_modules/.bin
	Version string
}

// Releases are the programs that the tests run, by the names of their providers.
func Releases() map[string]Release {
	return map[string]Release{
		"claude":   {"@anthropic-ai/claude-code", "claude", "2.1.330"},
		"codex":    {"@openai/codex", "codex", "0.169.0"},
		"copilot":  {"@github/copilot", "copilot", "1.0.102"},
		"gemini":   {"@google/gemini-cli", "gemini", "0.61.0"},
		"opencode": {"opencode-ai", "opencode", "1.18.33"},
		"qwen":     {"@qwen-code/qwen-code", "qwen", "0.15.10"},
	}
}

// Cache is where the programs are kept from one run of the tests to the next.
func Cache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "agentmux-test")
}

// Program returns the path of the pinned program of a provider, installed below the
// user's cache directory by the first test that asks. Without Enable the test is skipped;
// a program that cannot be installed fails it.
func Program(t testing.TB, provider string) string {
	t.Helper()
	if os.Getenv(Enable) != "1" {
		t.Skip("runs the real " + provider + ": set " + Enable + "=1")
	}
	release, ok := Releases()[provider]
	if !ok {
		t.Fatalf("no version of %s is pinned", provider)
	}
	program, err := release.install(Cache(), provider+"-"+release.Version)
	if err != nil {
		t.Fatalf("%s is needed and cannot be had from the package registry of npm: %v", provider, err)
	}
	return program
}

// install makes cache/name hold the package and returns the program in it. The directory
// appears complete or not at all, so that tests may install side by side.
func (r Release) install(cache, name string) (string, error) {
	pkg := r.Package + "@" + r.Version
	final := filepath.Join(cache, name)
	path := filepath.Join(final, "node_modules", ".bin", r.Program)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("install %s: %w", pkg, err)
	}
	tmp, err := os.MkdirTemp(cache, name+".tmp-")
	if err != nil {
		return "", fmt.Errorf("install %s: %w", pkg, err)
	}
	defer os.RemoveAll(tmp)
	out, err := exec.Command("npm", "install", "--no-audit", "--no-fund", "--prefix", tmp, pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("install %s: %w\n%s", pkg, err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(tmp, final); err != nil {
		if _, there := os.Stat(path); there != nil { // else another test was faster
			return "", errors.Join(fmt.Errorf("install %s: %w", pkg, err), there)
		}
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("install %s: it has no program %s: %w", pkg, r.Program, err)
	}
	return path, nil
}
