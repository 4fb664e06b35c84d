// Package demo shows a whole run on real code without a model, a token or a network: a small
// program with a bug, a fake GitHub in a process of its own, the bot with one slot, scripted
// agents in real tmux, two issues that get a label, a comment that steers an agent at work, a
// review that asks for changes, and at the end the pull request.
//
// It acts as people would: it starts agentmux bot as an operator does, and is the maintainer of the
// repository, who talks to GitHub over HTTP and types git in a clone. What it prints is what it
// did and what GitHub shows. Everything lives in one temporary directory, which is removed at the
// end unless it is to be kept.
package demo

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Options say how the demonstration runs.
type Options struct {
	Self string // path of agentmux
	Out  io.Writer
	Fast bool // scripted agents make no pauses
	Keep bool // leave the directory behind
}

// stage is everything a running demonstration has.
type stage struct {
	Options
	scenario scenario
	dir      string
	began    time.Time
	log      *os.File // of the bot and the fake GitHub
	env      []string
	page     *page
	github   *github
	bot      *bot
	view     view
}

// Run plays the demonstration. The error is one of a step; a run that does not end with a changed
// pull request is an error, too.
func Run(ctx context.Context, o Options) (err error) {
	s, err := loadScenario()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "agentmux-demo-")
	if err != nil {
		return err
	}
	st := &stage{Options: o, scenario: s, dir: dir, began: time.Now(), page: &page{out: o.Out}}
	defer func() { err = errors.Join(err, st.close(ctx)) }()
	for _, step := range []func(context.Context) error{
		st.prepare, st.label, st.queue, st.steer, st.open, st.review, st.show, st.farewell,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close ends the bot and what it left at work, then the fake GitHub, and removes the directory.
func (st *stage) close(ctx context.Context) error {
	var errs []error
	if st.bot != nil {
		errs = append(errs, st.bot.close(context.WithoutCancel(ctx), st))
	}
	if st.github != nil {
		errs = append(errs, st.github.close())
	}
	if st.log != nil {
		errs = append(errs, st.log.Close())
	}
	if !st.Keep {
		errs = append(errs, removeAll(st.dir))
	}
	return errors.Join(errs...)
}

// removeAll also removes read-only directories, as a module cache has them. It tries for a while:
// a program that is ending may write a file between the look and the removal.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	limit := time.NewTimer(5 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := os.RemoveAll(dir)
		if err == nil {
			return nil
		}
		select {
		case <-limit.C:
			return err
		case <-tick.C:
		}
	}
}

// command runs a program with the demonstration's environment.
func (st *stage) command(ctx context.Context, dir string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, st.env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// user types a command in the clone.
func (st *stage) user(ctx context.Context, argv ...string) error {
	st.page.print("$ " + strings.Join(argv, " "))
	cmd := st.command(ctx, st.clone(), argv...)
	cmd.Stdout, cmd.Stderr = st.page, st.page
	return cmd.Run()
}

func (st *stage) clone() string { return filepath.Join(st.dir, st.scenario.Repository) }
