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
	// recorderLimit bounds the first words between a recorder and the host.
	recorderLimit = 10 * time.Second
	// lastWords is how long the end of a session waits for what its agents printed last.
	lastWords = 5 * time.Second
)

const cutNotice = "\n[agentmux: the transcript is cut here]\n"

var launchForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Recorders write down what the panes of a session print. The processes behind the pipes of
// the panes only hand the words on: what is secret is known to the host alone.
type Recorders struct {
	sess     *session.Session
	note     func(socket string) error // writes down where the host listens
	redactor *redact.Redactor
	log      *slog.Logger
	listener *shield.Listener
	socket   string
	serving  sync.WaitGroup

	mu    sync.Mutex
	open  map[string]chan struct{} // by launch: closed when its record is complete
	conns map[net.Conn]string      // the launch whose words come, "" before that is known
}

// NewRecorders takes what the panes of a session print, once it listens. note is told where
// that is.
func NewRecorders(sess *session.Session, note func(socket string) error, redactor *redact.Redactor, log *slog.Logger) *Recorders {
	return &Recorders{sess: sess, note: note, redactor: redactor, log: log, open: map[string]chan struct{}{}, conns: map[net.Conn]string{}}
}

// Listen makes the socket in dir, and removes that of a host that was killed. The path is
// noted before the socket is made: a host that is killed between leaves nothing unknown.
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

// Relisten listens at a new path once the socket is gone with its directory, and returns where.
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

// Expect says that the words of a launch will come.
func (rs *Recorders) Expect(launch string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.listener != nil && rs.open[launch] == nil {
		rs.open[launch] = make(chan struct{})
	}
}

// Done says that no more words of a launch will come.
func (rs *Recorders) Done(launch string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if c := rs.open[launch]; c != nil {
		close(c)
		delete(rs.open, launch)
	}
}

// Finish waits for the last words of launches whose panes are gone.
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

// Close lets go of the recorders, who look for another host.
func (rs *Recorders) Close() error {
	rs.mu.Lock()
	if rs.listener == nil {
		rs.mu.Unlock()
		return nil
	}
	err := rs.listener.Close()
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
		rs.mu.Lock()
		rs.conns[conn] = ""
		rs.mu.Unlock()
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

// trusted refuses the processes of agents: a recorder is a child of the tmux server.
func (rs *Recorders) trusted(pid int) bool {
	for _, l := range rs.sess.ReadRuntime().Launches {
		if l.PID > 1 && shield.Descends(pid, l.PID) {
			return false
		}
	}
	return true
}

// take writes down what one recorder says.
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

// claim refuses the words of a launch that are being written already, and of none of this
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

// transcript opens the file of a launch where its words begin: what a former host wrote of
// them comes again.
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

// Record writes down what a program prints: as text, redacted, and cut.
type Record struct {
	plainText
	redacted io.Closer
}

// NewRecord continues the transcript f, up to the size where one is cut.
func NewRecord(f *os.File, r *redact.Redactor) (*Record, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	out := r.Writer(&capped{f: f, left: maxTranscript - info.Size()})
	return &Record{plainText: plainText{out: out}, redacted: out}, nil
}

// Close writes what was held back and leaves the file open.
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
