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

// maxTranscript is the size at which the transcript of a launch is cut.
const maxTranscript = 20 << 20

const (
	// recorderPause is how long a recorder waits before it tries the next host, doubled with each try up to
	// recorderRest: agents may work for hours without a host.
	recorderPause = 50 * time.Millisecond
	recorderRest  = 400 * time.Millisecond
	// orphanTime is how long a recorder tries to reach a host after its tmux server has ended.
	orphanTime = 5 * time.Second
)

// A recording is the greeting of a recorder: which launch it sends, and where its output begins
// in the transcript. Start is -1 until a host has answered.
type recording struct {
	Launch string `json:"launch"`
	Start  int64  `json:"start"`
}

// Send has a host write in to transcripts/<launch>.log of the session in dir, as text, until in
// ends. It runs in the process behind a pane's pipe. That process knows no secret, because every
// agent of the user could read its memory; the host removes the secrets. When a host ends, the
// next one gets everything again.
func Send(ctx context.Context, in io.Reader, dir, launch string) error {
	if launch != filepath.Base(launch) {
		return fmt.Errorf("transcript: bad launch %q", launch)
	}
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	printed := &backlog{changed: make(chan struct{}, 1)}
	go func() {
		_, _ = io.Copy(&plainText{out: printed}, in) // an error ends it as EOF does
		printed.end()
	}()
	hello := recording{Launch: launch, Start: -1}
	parent, reached, wait := os.Getppid(), time.Now(), recorderPause
	for {
		err := printed.send(ctx, sess.ReadRuntime().Recorder, &hello)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errNoHost) || !printed.ended() || os.Getppid() == parent && exists(dir) {
			reached = time.Now()
		}
		if !errors.Is(err, errNoHost) {
			wait = recorderPause
		}
		if time.Since(reached) > orphanTime {
			return fmt.Errorf("transcript: %w", err)
		}
		pause := time.NewTimer(wait)
		wait = min(2*wait, recorderRest)
		select {
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("transcript: %w", ctx.Err())
		case <-pause.C:
		}
	}
}

// errNoHost means that no host listens at the moment.
var errNoHost = errors.New("no host takes what the agent prints")

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// backlog keeps what an agent has printed, up to the size of a transcript. One goroutine writes
// to it, one sends it.
type backlog struct {
	mu      sync.Mutex
	text    []byte
	over    bool
	changed chan struct{}
}

// Write takes all of p and drops what does not fit into a transcript.
func (b *backlog) Write(p []byte) (int, error) {
	b.mu.Lock()
	// One byte more than fits, so that the host sees that there was more.
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

// from returns what was printed behind the first n bytes, and whether the output has ended.
func (b *backlog) from(n int) (text []byte, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text[n:], b.over
}

// send sends everything from the start to a host, and returns nil when the host has written it.
func (b *backlog) send(ctx context.Context, socket string, hello *recording) error {
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
	for sent, closed := 0, false; ; {
		text, over := b.from(sent)
		n, err := conn.Write(text)
		if err != nil {
			return err
		}
		sent += n
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

// greet sends the greeting and reads where the output begins.
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
