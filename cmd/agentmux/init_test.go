package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/orchestrator/engine"
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
		std := console.Streams{In: strings.NewReader(answer), Out: &out, Err: &out, Terminal: true}
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

// An interrupt at the question ends init: nothing is answered for the person.
func TestInitIsInterruptedAtItsQuestion(t *testing.T) {
	home, bin, project := t.TempDir(), t.TempDir(), t.TempDir()
	program, err := exec.LookPath("true")
	if err == nil {
		err = os.Symlink(program, filepath.Join(bin, "codex"))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if out, err := exec.Command("git", "init", "--quiet", project).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	typed, hold := io.Pipe()
	defer hold.Close()
	shown, screen := io.Pipe()
	code := make(chan int, 1)
	go func() {
		defer screen.Close()
		code <- run(ctx, []string{"--project", project, "init"}, console.Streams{In: typed, Out: screen, Err: screen, Terminal: true})
	}()
	var text strings.Builder
	for buf := make([]byte, 4096); !strings.Contains(text.String(), "[y/N]"); {
		n, err := shown.Read(buf)
		if text.Write(buf[:n]); err != nil {
			t.Fatalf("%v\n%s", err, &text)
		}
	}
	cancel(engine.Signal{Name: "interrupt"})
	rest, _ := io.ReadAll(shown)
	if got := <-code; got != exit.Canceled || !strings.HasSuffix(string(rest), "\nagentmux: canceled\n") {
		t.Errorf("exit %d\n%s%s", got, &text, rest)
	}
	if _, err := os.Stat(filepath.Join(home, ".config")); err == nil {
		t.Error("an answer was written")
	}
}

// What init says of a clone whose origin is elsewhere or nowhere, and of a CLI that is to be
// installed; --force replaces a link instead of what it leads to.
func TestInitSaysWhatComesNext(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.write(filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml"), "version: 2\n")
	path := r.pathWithout("claude")
	r.setEnv("PATH", path)
	out := r.expect(0, "init").out
	for _, want := range []string{"agentmux is there in acme/widgets", "next     npm install -g @anthropic-ai/claude-code, or set another provider in .agentmux/config.yaml; then agentmux doctor\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "login ") {
		t.Errorf("it tells how to log in with what is not there:\n%s", out)
	}
	r.git(r.clone, "remote", "set-url", "origin", "https://github.example.com/acme/widgets.git")
	if out := r.expect(0, "init").out; !strings.Contains(out, "origin is on github.example.com, not on http://127.0.0.1") || !strings.Contains(out, "set github.host if") {
		t.Errorf("a foreign origin:\n%s", out)
	}
	r.git(r.clone, "remote", "remove", "origin")
	if out := r.expect(0, "init").out; strings.Contains(out, "label ") {
		t.Errorf("it tells of a label without a repository:\n%s", out)
	}
	file, mine := filepath.Join(r.clone, ".agentmux", "config.yaml"), filepath.Join(r.dir, "mine.yaml")
	r.write(mine, "version: 2\n")
	if err := errors.Join(os.Remove(file), os.Symlink(mine, file)); err != nil {
		t.Fatal(err)
	}
	if res := r.expect(2, "init"); !strings.Contains(res.out+res.err, "leads out of the project") {
		t.Errorf("a configuration that is a link to elsewhere:\n%s%s", res.out, res.err)
	}
	r.expect(0, "init", "--force")
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || r.read(mine) != "version: 2\n" {
		t.Errorf("%v %v, the link led to %q", info, err, r.read(mine))
	}
}

// An interrupted init does not say what comes next, or why there is no label.
func TestInitIsInterruptedAtTheServer(t *testing.T) {
	t.Parallel()
	asked, over := make(chan struct{}, 10), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-over
	}))
	defer server.Close()
	defer close(over)
	r := newRig(t, rigOptions{})
	r.setEnv("GITHUB_API_URL", server.URL+"/")
	r.setEnv("GITHUB_GRAPHQL_URL", server.URL+"/graphql")
	cmd := r.command("init")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exit.Canceled || strings.Contains(out.String(), "label ") || strings.Contains(out.String(), "next ") ||
		!strings.HasSuffix(errs.String(), "agentmux: canceled\n") {
		t.Errorf("exit %d\n%s%s", code, &out, &errs)
	}
}

// The workflow asks for the label of the configuration, and has a comment at each choice.
func TestInitActionsTakesTheConfiguredLabel(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{config: "bot: {label: robot-please}\n"})
	text := r.expect(0, "init", "--actions").out
	if !strings.Contains(text, "startsWith(github.event.label.name, 'robot-please')") || !strings.Contains(text, "the label robot-please") || strings.Contains(text, "label.name, 'agentmux'") {
		t.Errorf("printed\n%s", text)
	}
	lines := strings.Split(text, "\n")
	for _, choice := range []string{"if: >-", "runs-on: ", "permissions: ", "cancel-in-progress: ", "queue: ", "timeout-minutes: 750", "- uses: ", "schedule: "} {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), choice) })
		if i < 1 || !strings.Contains(lines[i], " # ") && !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "# ") {
			t.Errorf("%q has no comment\n%s", choice, text)
		}
	}
}

// The workflow is printed, written once, and compared with what is there.
func TestInitActionsPrintsTheWorkflow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := func(flags ...string) (int, string) {
		var out bytes.Buffer
		code := run(t.Context(), append([]string{"init", "--actions", "--project", dir}, flags...), console.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
		return code, out.String()
	}
	code, text := ran()
	if code != 0 || !strings.Contains(text, "startsWith(github.event.label.name, 'agentmux')") || !strings.Contains(text, "queue: max") {
		t.Errorf("exit %d\n%s", code, text)
	}
	if of := regexp.MustCompile(`timeout-minutes: (\d+)`).FindAllStringSubmatch(text, -1); len(of) != 3 || of[0][1] != of[1][1] {
		t.Errorf("the time of the job, of its step and of the sweep are %q", of)
	}
	if code, _ := ran("--check"); code != 2 {
		t.Errorf("nothing there: exit %d", code)
	}
	if code, said := ran("--write"); code != 2 || !strings.Contains(said, "is not a git clone") {
		t.Errorf("outside of a clone: exit %d\n%s", code, said)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Fatalf("%v, outside of a clone it wrote %v", err, left)
	}
	if out, err := exec.Command("git", "init", "--quiet", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if code, said := ran("--write"); code != 0 || !strings.Contains(said, "put the commit of agentmux that you have read") {
		t.Errorf("exit %d\n%s", code, said)
	}
	file := filepath.Join(dir, ".github", "workflows", "agentmux.yml")
	written, err := os.ReadFile(file)
	if err != nil || string(written) != text {
		t.Errorf("%v, written %q", err, written)
	}
	if code, said := ran("--check"); code != 0 {
		t.Errorf("same: exit %d\n%s", code, said)
	}
	changed := strings.Replace(text, "750", "60", 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := ran("--check"); code != 1 || !strings.Contains(said, "-     timeout-minutes: 60") || !strings.Contains(said, "+     timeout-minutes: 750") {
		t.Errorf("changed: exit %d\n%s", code, said)
	}
	if code, _ := ran("--write"); code != 2 {
		t.Errorf("a changed file: exit %d", code)
	}
	if now, _ := os.ReadFile(file); string(now) != changed {
		t.Error("a changed file was replaced")
	}
}
