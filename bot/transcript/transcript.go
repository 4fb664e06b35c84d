package transcript

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// maxTranscript is where the record of a launch is cut.
const maxTranscript = 20 << 20

const (
	// recorderPause is how long a recorder waits before it looks for a host again.
	recorderPause = 50 * time.Millisecond
	// orphanTime is how long a recorder whose server has ended, too, looks for a host.
	orphanTime = 5 * time.Second
)

// A recording is what a recorder says first: whose words follow, and where they begin in the
// transcript. Start is -1 before a host has said so.
type recording struct {
	Launch string `json:"launch"`
	Start  int64  `json:"start"`
}

// Send has what comes from in written to transcripts/<launch>.log of the session in
// dir, as text, until in ends. It is the work of the process behind a pane's pipe. That one
// knows no secret, as every agent of the user could read its memory: the host takes them out
// and writes. A host that is gone is followed by the next one, which hears everything again.
func Send(ctx context.Context, in io.Reader, dir, launch string) error {
	if launch != filepath.Base(launch) {
		return fmt.Errorf("transcript: bad launch %q", launch)
	}
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	said := &backlog{changed: make(chan struct{}, 1)}
	go func() {
		_, _ = io.Copy(&plainText{out: said}, in) // its end is all there is to know
		said.end()
	}()
	hello := recording{Launch: launch, Start: -1}
	parent, last := os.Getppid(), time.Now()
	for {
		err := said.tell(ctx, sess.ReadRuntime().Recorder, &hello)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errNoHost) || !said.ended() || os.Getppid() == parent && exists(dir) {
			last = time.Now()
		}
		if time.Since(last) > orphanTime {
			return fmt.Errorf("transcript: %w", err)
		}
		pause := time.NewTimer(recorderPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("transcript: %w", ctx.Err())
		case <-pause.C:
		}
	}
}

// errNoHost means that no host takes the words of a pane at the moment.
var errNoHost = errors.New("no host takes what the agent prints")

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// backlog keeps what an agent has printed, as far as a transcript holds it. One goroutine
// writes, one tells.
type backlog struct {
	mu      sync.Mutex
	text    []byte
	over    bool
	changed chan struct{}
}

// Write takes all of p, and forgets what no transcript has room for.
func (b *backlog) Write(p []byte) (int, error) {
	b.mu.Lock()
	// One byte more than there is room for: so the host sees that there was more.
	b.text = append(b.text, p[:min(len(p), maxTranscript+1-len(b.text))]...)
	b.mu.Unlock()
	b.wake()
	return len(p), nil
}

func (b *backlog) end() {
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	b.wake()
}

func (b *backlog) wake() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

func (b *backlog) ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

// from returns what there is behind the first n bytes.
func (b *backlog) from(n int) (text []byte, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text[n:], b.over
}

// tell gives a host everything from the start, and returns nil when that one has written it.
func (b *backlog) tell(ctx context.Context, socket string, hello *recording) error {
	if socket == "" {
		return errNoHost
	}
	conn, err := shield.Dial(socket, recorderLimit)
	if err != nil {
		return errors.Join(errNoHost, err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	if err := greet(conn, in, hello); err != nil {
		return err
	}
	answer := make(chan error, 1)
	go func() {
		_, err := in.ReadByte()
		answer <- err
	}()
	for told, closed := 0, false; ; {
		text, over := b.from(told)
		n, err := conn.Write(text)
		if err != nil {
			return err
		}
		told += n
		if over && !closed {
			closed = true
			if err := conn.CloseWrite(); err != nil {
				return err
			}
		}
		select {
		case <-b.changed:
		case err := <-answer:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// greet says whose words follow, and learns where they begin.
func greet(conn net.Conn, in *bufio.Reader, hello *recording) error {
	if err := conn.SetDeadline(time.Now().Add(recorderLimit)); err != nil {
		return err
	}
	if err := json.NewEncoder(conn).Encode(hello); err != nil {
		return err
	}
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, hello); err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}
