// Package demo shows a whole run on real code without a model, a token or a
// network: a small program with a bug, an issue about it, a fake GitHub in a
// process of its own, scripted agents in real tmux, and at the end a branch and
// a pull request.
//
// It acts as a person would: it types git and agentmux commands as processes of
// their own and talks to the fake GitHub over HTTP. Everything lives in one
// temporary directory, which is removed at the end unless it is to be kept.
package demo

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/document"
)

//go:embed scenario.yaml
var scenarioYAML []byte

//go:embed playbook.yaml
var playbookYAML []byte

// Names of the people of the demonstration.
const (
	maintainer = "mia"    // opens the issue and puts the label on
	account    = "robo-1" // whose token agentmux uses
	label      = "agentmux"
)

// Options say how the demonstration runs.
type Options struct {
	Self string // path of agentmux
	Out  io.Writer
	Fast bool // scripted agents make no pauses
	Keep bool // leave the directory behind
}

type scenario struct {
	Owner      string            `doc:"owner"`
	Repository string            `doc:"repository"`
	Issue      issue             `doc:"issue"`
	Files      map[string]string `doc:"files"`
}

type issue struct {
	Title string `doc:"title" json:"title"`
	Body  string `doc:"body" json:"body"`
}

// newLabel and labels are bodies of requests: a label to create, and those to put on an issue.
type newLabel struct {
	Name  string `json:"name"`
	Color string `json:"color"`
}

type labels struct {
	Labels []string `json:"labels"`
}

func (s scenario) name() string { return s.Owner + "/" + s.Repository }

func loadScenario() (scenario, error) {
	var s scenario
	node, problems := document.Parse("scenario.yaml", scenarioYAML)
	problems = append(problems, document.Decode(node, &s, document.Options{})...)
	return s, problems.Err()
}

// tokens are what the fake GitHub's process is told on its standard input.
type tokens struct {
	Maintainer string `json:"maintainer"`
	Account    string `json:"account"`
}

// Serve is the fake GitHub's process: it reads the tokens from in, writes its
// address to out and serves until ctx ends or in is closed.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s, err := loadScenario()
	if err != nil {
		return err
	}
	reader := bufio.NewReader(in)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	var t tokens
	if err := json.Unmarshal(line, &t); err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // the parent's end closes the pipe
		_, _ = io.Copy(io.Discard, reader)
		stop()
	}()
	return fakehub.Serve(ctx, fakehub.Options{
		Users: []fakehub.UserSpec{
			{Login: maintainer, Name: "Mia", Token: t.Maintainer, Roles: map[string]fakehub.Role{s.name(): fakehub.Admin}},
			{Login: account, Name: "Robo", Token: t.Account, Roles: map[string]fakehub.Role{s.name(): fakehub.Write}},
		},
		Repos: []fakehub.RepoSpec{{
			Owner: s.Owner, Name: s.Repository,
			Commits: []fakehub.CommitSpec{{Message: "Add invoice", Author: "Mia <mia@example.com>", Files: s.Files}},
		}},
	}, out)
}

// stage is everything a running demonstration has.
type stage struct {
	Options
	scenario scenario
	dir      string
	env      []string
	tokens   tokens
	github   *api
	fake     *exec.Cmd
	hangUp   io.Closer
}

// Run plays the demonstration. The error is one of a step; a run that does not
// end with a pull request is an error, too.
func Run(ctx context.Context, o Options) (err error) {
	s, err := loadScenario()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "agentmux-demo-")
	if err != nil {
		return err
	}
	st := &stage{Options: o, scenario: s, dir: dir, tokens: tokens{Maintainer: newToken(), Account: newToken()}}
	defer func() { err = errors.Join(err, st.close()) }()
	for _, step := range []func(context.Context) error{
		st.startGitHub, st.prepare, st.openIssue, st.work, st.show,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close ends the fake GitHub and removes the directory.
func (st *stage) close() error {
	var errs []error
	if st.hangUp != nil {
		errs = append(errs, st.hangUp.Close())
		errs = append(errs, st.fake.Wait())
	}
	if st.Keep {
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, removeAll(st.dir))...)
}

// removeAll also removes read-only directories, as a module cache has them.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func (st *stage) startGitHub(ctx context.Context) error {
	st.fake = exec.Command(st.Self, "demo", "--serve")
	st.fake.Stderr = st.Out
	st.fake.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the demonstration passes an interrupt on
	in, err := st.fake.StdinPipe()
	if err != nil {
		return err
	}
	out, err := st.fake.StdoutPipe()
	if err != nil {
		return err
	}
	if err := st.fake.Start(); err != nil {
		return fmt.Errorf("start the fake GitHub: %w", err)
	}
	st.hangUp = in
	if err := json.NewEncoder(in).Encode(st.tokens); err != nil {
		return err
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("start the fake GitHub: %w", err)
	}
	st.github = &api{base: strings.TrimSpace(url), token: st.tokens.Maintainer}
	return ctx.Err()
}

// openIssue does what a maintainer would do in the browser.
func (st *stage) openIssue(ctx context.Context) error {
	st.heading("An issue is opened, and someone with write access puts the label on it")
	fmt.Fprintf(st.Out, "%s\n\n%s", st.scenario.Issue.Title, indent(st.scenario.Issue.Body))
	repo := "/repos/" + st.scenario.name()
	if err := st.github.post(ctx, repo+"/issues", st.scenario.Issue); err != nil {
		return err
	}
	if err := st.github.post(ctx, repo+"/labels", newLabel{Name: label, Color: "5319e7"}); err != nil {
		return err
	}
	return st.github.post(ctx, repo+"/issues/1/labels", labels{Labels: []string{label}})
}

// command runs a command in the clone with the demonstration's environment.
func (st *stage) command(ctx context.Context, dir string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, st.env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

func (st *stage) clone() string { return filepath.Join(st.dir, st.scenario.Repository) }
