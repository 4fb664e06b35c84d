package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts types commands as a person does, in each file of testdata/script: in a home
// without anything, with git and tmux and no CLI, beside a GitHub with the repository
// acme/widgets and its open issue 1. $GITHUB is its address, $TOKEN a token with write.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:   filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error { return setUpScript(t, env) },
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "clone": cloneWidgets, "playbook": playBook},
	})
}

func setUpScript(t *testing.T, env *testscript.Env) error {
	server, err := fakehub.New(fakehub.Options{
		Users: []fakehub.UserSpec{{Login: rigOwner}, {Login: rigBot}},
		Repos: []fakehub.RepoSpec{{Owner: "acme", Name: "widgets"}},
	})
	if err != nil {
		return err
	}
	repo := server.Repo(rigRepo)
	repo.SetRole(rigBot, fakehub.Write)
	repo.AddIssue(fakehub.IssueSpec{Title: "Say two", Body: "Soon.", Author: rigOwner})
	repo.CloseIssue(repo.AddIssue(fakehub.IssueSpec{Title: "Old", Author: rigOwner}), rigOwner)
	own, err := unraced()
	if err != nil {
		return err
	}
	panes, err := inPanes()
	if err != nil {
		return err
	}
	// Sockets need a short name, and git and tmux alone are in PATH.
	short, err := os.MkdirTemp("", "amx")
	if err != nil {
		return err
	}
	env.Defer(func() {
		server.Check(t)
		if err := errors.Join(server.Close(), os.RemoveAll(short)); err != nil {
			t.Error(err)
		}
	})
	bin, home := filepath.Join(short, "bin"), filepath.Join(env.WorkDir, "home")
	programs := map[string]string{"agentmux": own}
	for _, name := range []string{"git", "tmux", "true", "sh"} {
		if programs[name], err = exec.LookPath(name); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Mkdir(bin, 0o700), os.Mkdir(filepath.Join(short, "r"), 0o700), os.MkdirAll(home, 0o700)); err != nil {
		return err
	}
	for name, path := range programs {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	for name, value := range map[string]string{
		"PATH": bin, "BIN": bin, "HOME": home, "XDG_RUNTIME_DIR": filepath.Join(short, "r"), "TMPDIR": short, "LANG": "C.UTF-8",
		"AGENTMUX_TEST_BINARY": "1", panesEnv: panes, "GIT_CONFIG_NOSYSTEM": "1", "GITHUB": server.URL(), "TOKEN": server.Token(rigBot),
		"GITHUB_API_URL": server.API(), "GITHUB_GRAPHQL_URL": server.GraphQL(), "GITHUB_SERVER_URL": server.URL(),
		"AGENTMUX_GITHUB_TOKEN": server.Token(rigBot),
	} {
		env.Setenv(name, value)
	}
	return nil
}

// exits runs a program and checks its exit code: exits CODE PROGRAM ARG...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%v: exit %d, want %d", args[1:], got, want)
	}
}

// playBook lets the scripted agent play a file: playbook FILE CONFIG
func playBook(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: playbook FILE CONFIG")
	}
	f, err := os.OpenFile(args[1], os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = fmt.Fprintf(f, "providers:\n  script: {interactive_args: [%[1]q, --fast], headless_args: [%[1]q, --fast]}\n", args[0])
	ts.Check(errors.Join(err, f.Close()))
}

// cloneWidgets clones the repository into a directory and goes there: clone DIR
func cloneWidgets(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: clone DIR")
	}
	ts.Check(ts.Exec("git", "clone", "--quiet", ts.Getenv("GITHUB")+"/"+rigRepo+".git", args[0]))
	ts.Check(ts.Chdir(args[0]))
}
