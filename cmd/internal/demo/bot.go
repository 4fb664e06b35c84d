package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/tmux"
)

const (
	// stopTime is how long the bot may take to stop its sessions.
	stopTime = 10 * time.Second
	// endTime is how long it may take to end. With so many sessions in so short a time it would wait
	// for its own limit of pushes before it gives claims back, on a GitHub that ends as well.
	endTime = 2 * time.Second
)

// bot is the process of agentmux bot.
type bot struct {
	process *exec.Cmd
	ended   chan struct{} // closed: err is how
	err     error
}

// startBot starts the bot in a directory that is not a clone.
func startBot(st *stage, hooks, secret string) (*bot, error) {
	argv := []string{st.Self, "bot", "--repo", st.scenario.name(), "--max", "1", "--webhook", hooks}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = st.dir, append(st.env, "AGENTMUX_WEBHOOK_SECRET="+secret)
	cmd.Stdout, cmd.Stderr = st.log, st.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt stops its sessions first
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the bot: %w", err)
	}
	b := &bot{process: cmd, ended: make(chan struct{})}
	go func() {
		defer close(b.ended)
		b.err = cmd.Wait()
	}()
	return b, nil
}

// close ends the bot. It leaves agents at work by design: sessions that are under way, as after an
// interrupt, are stopped before, by closing their issues, and tmux servers that remain are ended.
func (b *bot) close(ctx context.Context, st *stage) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	st.stopSessions(ctx)
	_ = b.process.Process.Signal(syscall.SIGTERM) // it may have ended
	kill := time.AfterFunc(endTime, func() { _ = b.process.Process.Kill() })
	<-b.ended
	kill.Stop()
	return endServers(context.WithoutCancel(ctx), st.runtime())
}

// endServers ends the tmux servers below a runtime directory.
func endServers(ctx context.Context, runtime string) error {
	sockets, _ := filepath.Glob(filepath.Join(runtime, "agentmux", "*.sock")) // the pattern is right
	var errs []error
	for _, socket := range sockets {
		server, err := tmux.New(tmux.Options{Socket: socket})
		if err == nil {
			err = server.KillServer(ctx)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// freeAddress is one of the loopback on which nothing listens now.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// explain adds the end of the log to an error.
func (st *stage) explain(err error) error {
	data, _ := os.ReadFile(st.log.Name())
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return fmt.Errorf("%w\nthe end of the bot's log:\n%s", err, strings.Join(lines[max(0, len(lines)-15):], "\n"))
}
