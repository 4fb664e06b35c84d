package transcript

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/orchestrator/session"
)

const (
	// recorderLimit bounds the greeting between a recorder and the host.
	recorderLimit = 10 * time.Second
	// lastWords is how long the end of a session waits for the last output of its agents.
	lastWords = 5 * time.Second
)

const cutNotice = "\n[agentmux: the transcript is cut here]\n"

var launchForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Recorders write what the panes of a session print. The processes behind the pipes of the
// panes only pass it on: the host alone knows what is secret.
type Recorders struct {
	sess     *session.Session
	note     func(socket string) error // records where the host listens
	redactor *redact.Redactor
	log      *slog.Logger
	listener *shield.Listener
	socket   string
	serving  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[string]chan struct{} // by launch: closed when its record is complete
	conns  map[net.Conn]string      // the launch whose output comes, "" until that is known
}

// NewRecorders returns the recorders of a session, which do not listen yet. note is called with
// the path of the socket.
func NewRecorders(sess *session.Session, note func(socket string) error, redactor *redact.Redactor, log *slog.Logger) *Recorders {
	return &Recorders{sess: sess, note: note, redactor: redactor, log: log, open: map[string]chan struct{}{}, conns: map[net.Conn]string{}}
}

// Listen makes the socket in dir and removes that of a host that was killed. The path is
// recorded before the socket is made, so that a later host finds the socket of a host that is
// killed in between.
func (rs *Recorders) Listen(dir string) (err error) {
	if err := shield.MakePrivate(dir); err != nil {
		return err
	}
	former := filepath.Join(dir, filepath.Base(rs.sess.ReadRuntime().Recorder))
	if err := shield.RemoveLeft(former); err != nil {
		return err
	}
	socket := shield.NewSocketPath(dir)
	rs.socket = ""
	if err := rs.note(socket); err != nil {
		return err
	}
	if rs.listener, err = shield.Listen(socket); err != nil {
		rs.listener = nil
		return err
	}
	rs.socket = socket
	listener := rs.listener
	rs.serving.Go(func() { rs.serve(listener) })
	return nil
}

// Relisten listens at a new path if the socket was removed with its directory, and returns the
// path.
func (rs *Recorders) Relisten(dir string) string {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.listener == nil || exists(rs.socket) {
		return rs.socket
	}
	_ = rs.listener.Close()
	if err := rs.Listen(dir); err != nil {
		rs.log.Warn("no transcripts", "err", err)
		return ""
	}
	return rs.socket
}

// Expect announces the output of a launch, for Finish to wait for.
func (rs *Recorders) Expect(launch string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.listener != nil && rs.open[launch] == nil {
		rs.open[launch] = make(chan struct{})
	}
}

// Done marks the output of a launch as complete.
func (rs *Recorders) Done(launch string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if c := rs.open[launch]; c != nil {
		close(c)
		delete(rs.open, launch)
	}
}

// Finish waits for the last output of launches whose panes have ended.
func (rs *Recorders) Finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	rs.mu.Lock()
	var waits []chan struct{}
	for _, c := range rs.open {
		waits = append(waits, c)
	}
	rs.mu.Unlock()
	for _, c := range waits {
		select {
		case <-c:
		case <-ctx.Done():
			rs.log.Warn("a transcript may lack its end")
			return
		}
	}
}

// Close ends the connections of the recorders, which wait for another host.
func (rs *Recorders) Close() error {
	rs.mu.Lock()
	rs.closed = true
	var err error
	if rs.listener != nil {
		err = rs.listener.Close()
	}
	for conn := range rs.conns {
		_ = conn.Close()
	}
	rs.mu.Unlock()
	rs.serving.Wait()
	return err
}

func (rs *Recorders) serve(listener *shield.Listener) {
	for {
		conn, _, err := listener.AcceptFrom(rs.trusted)
		if err != nil {
			return
		}
		if !rs.hold(conn) {
			return
		}
		rs.serving.Go(func() {
			launch, err := rs.take(conn)
			rs.mu.Lock()
			delete(rs.conns, conn)
			rs.mu.Unlock()
			_ = conn.Close()
			if err != nil && !errors.Is(err, net.ErrClosed) {
				rs.log.Warn("transcript not written", "launch", launch, "err", err)
			}
		})
	}
}

// hold takes a connection, and reports false after Close: one that was accepted just before would
// stay open, and Close wait for it, as long as its pane is there.
func (rs *Recorders) hold(conn net.Conn) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.closed {
		_ = conn.Close()
		return false
	}
	rs.conns[conn] = ""
	return true
}

// trusted refuses the processes of agents: a recorder is a child of the tmux server.
func (rs *Recorders) trusted(pid int) bool {
	for _, l := range rs.sess.ReadRuntime().Launches {
		if l.PID > 1 && shield.Descends(pid, l.PID) {
			return false
		}
	}
	return true
}

// take writes what one recorder sends.
func (rs *Recorders) take(conn *net.UnixConn) (launch string, err error) {
	if err := conn.SetDeadline(time.Now().Add(recorderLimit)); err != nil {
		return "", err
	}
	in := bufio.NewReader(conn)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	var hello recording
	if err := json.Unmarshal(line, &hello); err != nil {
		return "", err
	}
	if err := rs.claim(conn, hello.Launch); err != nil {
		return hello.Launch, err
	}
	f, err := rs.transcript(&hello)
	if err != nil {
		return hello.Launch, err
	}
	defer f.Close()
	if err := json.NewEncoder(conn).Encode(hello); err != nil {
		return hello.Launch, err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return hello.Launch, err
	}
	out, err := NewRecord(f, rs.redactor)
	if err != nil {
		return hello.Launch, err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return hello.Launch, err
	}
	rs.Done(hello.Launch)
	_, err = conn.Write([]byte{'\n'})
	return hello.Launch, err
}

// claim fails for a launch that another recorder sends already, and for one that is not of this
// session.
func (rs *Recorders) claim(conn net.Conn, launch string) error {
	if !launchForm.MatchString(launch) || !exists(rs.sess.Path(session.LaunchesDir, launch)) {
		return fmt.Errorf("transcript: bad launch %q", launch)
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for other, of := range rs.conns {
		if of == launch && other != conn {
			return fmt.Errorf("transcript: %s is being written already", launch)
		}
	}
	rs.conns[conn] = launch
	return nil
}

// transcript opens the file of a launch and cuts it to where the output of the recorder begins:
// what a former host wrote of it is sent again.
func (rs *Recorders) transcript(hello *recording) (*os.File, error) {
	f, err := session.OpenLog(rs.sess.Path(session.TranscriptsDir, filepath.Base(hello.Launch)+".log"))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && hello.Start < 0 {
		hello.Start = info.Size()
	}
	if err == nil && hello.Start < info.Size() {
		err = f.Truncate(hello.Start)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Record writes what a program prints: as text, redacted, and cut at a size.
type Record struct {
	plainText
	redacted io.Closer
}

// NewRecord continues the transcript f, up to the size where it is cut.
func NewRecord(f *os.File, r *redact.Redactor) (*Record, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	out := r.Writer(&capped{f: f, left: maxTranscript - info.Size()})
	return &Record{plainText: plainText{out: out}, redacted: out}, nil
}

// Close writes what the redactor held back and leaves the file open.
func (p *Record) Close() error { return p.redacted.Close() }

// capped writes to f as long as there is room, then a notice, then nothing.
type capped struct {
	f    *os.File
	left int64
	cut  bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.left <= 0 {
		if !c.cut {
			c.cut = true
			_, err := io.WriteString(c.f, cutNotice)
			return len(p), err
		}
		return len(p), nil
	}
	n := min(int64(len(p)), c.left)
	c.left -= n
	if _, err := c.f.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
