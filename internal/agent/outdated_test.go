package agent_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

// A missing flag of a level of effort counts where effort is set. A program is asked once, until another
// file is in its place.
func TestHelpsTellWhatAProgramLacks(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "prog")
	program := func(flags string) {
		writeFile(t, file, "#!/bin/sh\necho asked >> "+dir+"/log\ncase $1 in --version) echo 'prog 1.0';; *) echo '"+flags+"';; esac\n", 0o700)
	}
	p := agent.Provider{
		Name: "prog", Command: "prog", HelpArgs: []string{"--help"}, Flags: []string{"--model", "--json", "--effort"},
		Effort: map[string][]string{"low": {"--effort=low"}},
	}
	var h agent.Helps
	path := dir + ":/usr/bin:/bin"
	expect := func(effort bool, want string) {
		t.Helper()
		if got := strings.Join(h.Outdated(t.Context(), p, path, effort), "; "); got != want {
			t.Errorf("effort %v: %q, want %q", effort, got, want)
		}
	}
	says := func(flags string) string {
		return "prog: the installed " + file + " (prog 1.0) does not know " + flags + ", which agents are started with; install another version of it, or, for a wrapper that passes them on, set \"providers: {prog: {flags: []}}\" in your own configuration"
	}
	program("--model --json")
	expect(false, "")
	expect(true, says("--effort"))
	if n := strings.Count(readFile(t, dir+"/log"), "asked"); n != 2 {
		t.Errorf("it was run %d times", n)
	}
	program("--model")
	expect(false, says("--json"))
	expect(true, says("--json, --effort"))
	program("none of them, and quite long")
	expect(true, "")
	// One whose help cannot be read is taken as it is, and not asked at each start.
	writeFile(t, file, "#!/bin/sh\necho failed >> "+dir+"/log\nexit 1\n", 0o700)
	expect(true, "")
	n := strings.Count(readFile(t, dir+"/log"), "failed")
	expect(true, "")
	if again := strings.Count(readFile(t, dir+"/log"), "failed"); n == 0 || again != n {
		t.Errorf("it was run %d times, then %d times", n, again)
	}
}
