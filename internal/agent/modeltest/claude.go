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

// ClaudeVersion is the version of claude that the tests run.
const ClaudeVersion = "2.1.329"

// Enable is the variable that turns the tests with real programs on. They install
// programs from the package registry, so a plain run of all tests leaves them out.
const Enable = "AGENTMUX_TEST_AGENTS"

// Claude returns the path of the pinned claude, installed below the user's cache
// directory by the first test that asks. Without Enable the test is skipped; a claude
// that cannot be installed fails it.
func Claude(t testing.TB) string {
	t.Helper()
	if os.Getenv(Enable) != "1" {
		t.Skip("runs the real claude: set " + Enable + "=1")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	program, err := install(filepath.Join(cache, "agentmux-test"), "claude-"+ClaudeVersion, "@anthropic-ai/claude-code@"+ClaudeVersion, "claude")
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// install makes cache/name hold an npm package and returns the program in it. The
// directory appears complete or not at all, so that tests may install side by side.
func install(cache, name, pkg, program string) (string, error) {
	final := filepath.Join(cache, name)
	path := filepath.Join(final, "node_modules", ".bin", program)
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
		if _, there := os.Stat(path); there != nil { // else somebody else was faster
			return "", errors.Join(fmt.Errorf("install %s: %w", pkg, err), there)
		}
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("install %s: it has no program %s: %w", pkg, program, err)
	}
	return path, nil
}
