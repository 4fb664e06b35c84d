package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/shield"
)

// startedFile is in the directory of a launch whose agent-exec has its environment.
const startedFile = "started"

const (
	// handoffLimit bounds one conversation over the socket.
	handoffLimit = 10 * time.Second
	// handoffPause is how long agent-exec waits before it asks again.
	handoffPause = 20 * time.Millisecond
)

// A Handoff gives the environment of a launch to its agent-exec: over a socket, once, and to
// that process alone. No file holds the environment, because every agent of this user could
// read it.
type Handoff struct {
	launch   Launch
	dir      string
	listener *shield.Listener
}

// Offer makes the socket of a launch that was just prepared.
func (l Launch) Offer(dir string) (*Handoff, error) {
	if l.env == nil {
		return nil, fmt.Errorf("hand over launch %s: it was not prepared by this process", l.Launch)
	}
	listener, err := shield.Listen(l.Socket)
	if err != nil {
		return nil, fmt.Errorf("hand over launch %s: %w", l.Launch, err)
	}
	return &Handoff{launch: l, dir: dir, listener: listener}, nil
}

// Close removes the socket.
func (h *Handoff) Close() error { return h.listener.Close() }

// Serve waits until the agent-exec with the number pid has the environment, or has ended.
func (h *Handoff) Serve(ctx context.Context, pid int) error {
	return h.serve(ctx, func(peer int) bool { return peer == pid }, func() bool {
		_, err := process.StartTime(pid)
		return !errors.Is(err, process.ErrNotFound)
	})
}

func (h *Handoff) serve(ctx context.Context, known func(pid int) bool, alive func() bool) error {
	for alive() && !Started(h.dir) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("hand over launch %s: agent-exec does not ask: %w", h.launch.Launch, err)
		}
		// Short, to check in between that the process still runs.
		if err := h.listener.SetDeadline(time.Now().Add(10 * handoffPause)); err != nil {
			return fmt.Errorf("hand over launch %s: %w", h.launch.Launch, err)
		}
		conn, _, err := h.listener.AcceptFrom(known)
		var waited net.Error
		if errors.As(err, &waited) && waited.Timeout() {
			continue
		}
		if err != nil {
			return fmt.Errorf("hand over launch %s: %w", h.launch.Launch, err)
		}
		if h.give(conn) == nil {
			return nil
		}
	}
	return nil
}

// give sends the environment and waits until the other side confirms it.
func (h *Handoff) give(conn *net.UnixConn) error {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(handoffLimit)); err != nil {
		return err
	}
	if err := json.NewEncoder(conn).Encode(h.launch.env); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

// Started reports whether the agent-exec of the launch in dir has its environment: from then
// on it needs no host.
func Started(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, startedFile))
	return err == nil
}

// Receive is agent-exec's side of the hand-off: it returns the launch in dir with its
// environment. Without a host it waits for the next one as long as its pane exists; signals end
// it, as they end any program.
func Receive(dir string) (Launch, []string, error) {
	tick := time.NewTicker(handoffPause)
	defer tick.Stop()
	for {
		l, err := ReadLaunch(dir)
		if err != nil {
			return Launch{}, nil, err
		}
		if l.Socket == "" && len(l.former) > 0 { // of an older version
			env, err := takeEnvironment(l.former[0])
			return l, env, err
		}
		env, err := l.ask()
		if errors.Is(err, shield.ErrStranger) {
			return Launch{}, nil, err
		}
		if err == nil {
			// The host may have prepared it once more between the two.
			if l, err = ReadLaunch(dir); err != nil {
				return Launch{}, nil, err
			}
			return l, env, durable.View(filepath.Join(dir, startedFile), nil)
		}
		<-tick.C
	}
}

// ask reads the environment from the socket of the launch. It closes this process to others
// before it reads the first byte.
func (l Launch) ask() ([]string, error) {
	conn, err := shield.Dial(l.Socket, handoffLimit)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(handoffLimit)); err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	if _, err := in.Peek(1); err != nil {
		return nil, err
	}
	if err := shield.Close(); err != nil {
		return nil, err
	}
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	env, err := assignments(line)
	if err != nil {
		return nil, err
	}
	_, err = conn.Write([]byte{'\n'})
	return env, err
}

// assignments returns the variables of an encoded environment, in order.
func assignments(data []byte) ([]string, error) {
	vars := map[string]string{}
	if err := json.Unmarshal(data, &vars); err != nil {
		return nil, errors.New("the environment of the launch is not readable")
	}
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env, nil
}

// takeEnvironment reads the variables that a host of an older version left in a file, and
// removes it.
func takeEnvironment(path string) ([]string, error) {
	data, err := durable.ReadRegular(filepath.Dir(path), filepath.Base(path), 1<<20)
	if err != nil {
		return nil, fmt.Errorf("read the environment of the launch: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return nil, fmt.Errorf("remove the environment of the launch: %w", err)
	}
	return assignments(data)
}

// Discard removes the socket of a launch that will not be started or has ended, and the files
// of a host of an older version. A second call changes nothing.
func (l Launch) Discard() error {
	var errs []error
	for _, file := range l.former {
		errs = append(errs, durable.Remove(file))
	}
	errs = append(errs, shield.RemoveLeft(l.Socket))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("discard launch %s: %w", l.Launch, err)
	}
	return nil
}

// formerFiles returns the files in which an older version kept the secrets of a launch.
func formerFiles(runtime, mark string) []string {
	name := filepath.Join(runtime, mark[:min(16, len(mark))])
	return []string{name + ".env", name + ".lent"}
}
