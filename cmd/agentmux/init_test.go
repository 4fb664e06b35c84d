package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A person is asked once whether CLIs may skip every question; the answer is kept in the
// person's own file, which keeps what is there.
func TestInitAsksOnce(t *testing.T) {
	home, bin, project := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"git", "codex"} {
		program, err := exec.LookPath(map[string]string{"git": "git", "codex": "true"}[name])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"HOME": home, "PATH": bin, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "GIT_CONFIG_NOSYSTEM": "1",
		"AGENTMUX_GITHUB_TOKEN": "", "GH_TOKEN": "", "GITHUB_TOKEN": "", "OPENAI_API_KEY": "", "CODEX_API_KEY": "",
	} {
		t.Setenv(name, value)
	}
	if out, err := exec.Command("git", "init", "--quiet", project).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(home, ".config", "agentmux", "config.yaml")
	typed := func(answer string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		std := stdio{in: strings.NewReader(answer), out: &out, err: &out, terminal: true}
		if code := run(t.Context(), append([]string{"--project", project, "init"}, args...), std); code != 0 {
			t.Fatalf("exit %d\n%s", code, &out)
		}
		return out.String()
	}
	read := func() string {
		data, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(data)
	}
	const question = "codex can work unattended only by skipping every permission question"
	if out := typed("y\n", "--defaults"); strings.Contains(out, question) || read() != "" {
		t.Errorf("--defaults asked:\n%s%s", out, read())
	}
	if out := typed("y\n"); !strings.Contains(out, question) || !strings.HasSuffix(read(), "version: 2\nsandbox: {unsafe_flags: true}\n") {
		t.Errorf("asked and answered yes:\n%s%s", out, read())
	}
	if out := typed("n\n"); strings.Contains(out, question) || !strings.Contains(read(), "true") {
		t.Errorf("asked again:\n%s%s", out, read())
	}
	for _, c := range []struct{ before, after string }{
		{"version: 2\nlog: {level: warn}", "version: 2\nlog: {level: warn}\nsandbox: {unsafe_flags: false}\n"},
		{"version: 2\nsandbox: {home: private}\n", "version: 2\nsandbox: {home: private}\n"},
		{"{\"version\": 2}\n", "{\"version\": 2}\n"},
	} {
		if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
			t.Fatal(err)
		}
		out := typed("\n")
		if read() != c.after || c.before == c.after && !strings.Contains(out, "set unsafe_flags: false under sandbox in "+file) {
			t.Errorf("%q became %q\n%s", c.before, read(), out)
		}
	}
}

// There is no workflow to print as long as there is no action for it to use.
func TestInitActionsFollowsTheAction(t *testing.T) {
	t.Parallel()
	_, err := os.Stat(filepath.Join("..", "..", "action.yml"))
	var out bytes.Buffer
	code := run(t.Context(), []string{"init", "--actions"}, stdio{in: strings.NewReader(""), out: &out, err: &out})
	if there := err == nil; there != (code == 0) || !there && !strings.Contains(out.String(), "no action for GitHub Actions yet") {
		t.Errorf("an action is there: %t; exit %d\n%s", there, code, &out)
	}
}
