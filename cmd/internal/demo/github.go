package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// briefing is what the fake GitHub's process is told on its standard input.
type briefing struct {
	Maintainer string `json:"maintainer"` // tokens
	Account    string `json:"account"`
	Hook       string `json:"hook"` // where deliveries go
	Secret     string `json:"secret"`
}

// Serve is the fake GitHub's process: it reads a briefing from in, writes its address to out and
// serves until ctx ends or in is closed.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s, err := loadScenario()
	if err != nil {
		return err
	}
	reader := bufio.NewReader(in)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the briefing: %w", err)
	}
	var b briefing
	if err := json.Unmarshal(line, &b); err != nil {
		return fmt.Errorf("read the briefing: %w", err)
	}
	hub, err := fakehub.New(fakehub.Options{
		Users: []fakehub.UserSpec{
			{Login: maintainer, Name: "Mia", Token: b.Maintainer, Roles: map[string]fakehub.Role{s.name(): fakehub.Admin}},
			{Login: account, Name: "Robo", Token: b.Account, Roles: map[string]fakehub.Role{s.name(): fakehub.Write}},
		},
		Repos: []fakehub.RepoSpec{{
			Owner: s.Owner, Name: s.Repository,
			Commits: []fakehub.CommitSpec{{Message: "Add invoice", Author: "Mia <mia@example.com>", Files: s.Files}},
		}},
	})
	if err != nil {
		return err
	}
	hub.SendHooks(fakehub.HookSpec{URL: b.Hook, Secret: b.Secret})
	if _, err := fmt.Fprintln(out, hub.URL()); err != nil {
		return errors.Join(fmt.Errorf("report the address: %w", err), hub.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // the parent's end closes the pipe
		_, _ = io.Copy(io.Discard, reader)
		stop()
	}()
	<-ctx.Done()
	return hub.Close()
}

// github is the fake GitHub's process, and the maintainer's way to it.
type github struct {
	*api
	process *exec.Cmd
	hangUp  io.Closer // its end
}

func startGitHub(st *stage, b briefing) (*github, error) {
	cmd := exec.Command(st.Self, "demo", "--serve")
	cmd.Stderr = st.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it outlives an interrupt until the bot has ended
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the fake GitHub: %w", err)
	}
	g := &github{api: &api{token: b.Maintainer}, process: cmd, hangUp: in}
	err = json.NewEncoder(in).Encode(b)
	if err == nil {
		g.base, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the fake GitHub: %w", err), g.close())
	}
	g.base = strings.TrimSpace(g.base)
	return g, nil
}

func (g *github) close() error { return errors.Join(g.hangUp.Close(), g.process.Wait()) }
