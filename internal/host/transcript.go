package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// maxTranscript is where the record of a launch is cut.
const maxTranscript = 20 << 20

const cutNotice = "\n[agentmux: the transcript is cut here]\n"

// record has everything a pane prints written down, secrets taken out. A pane without
// its transcript is no reason to stop.
func (r *runner) record(ctx context.Context, pane string, launch agent.Launch) {
	if !r.cfg.Session.Transcripts {
		return
	}
	err := r.lendSecrets(launch)
	if err == nil {
		err = r.panes.server.Pipe(ctx, pane, []string{r.Self, "transcript", r.sess.Dir, launch.Launch})
	}
	if err != nil {
		_, back := launch.Borrow() // nobody else will
		err = errors.Join(err, back)
	}
	if err != nil && !errors.Is(err, tmux.ErrNoPane) {
		r.Log.Warn("no transcript", "session", r.sess.Name(), "launch", launch.Launch, "err", err)
	}
}

// A lent value is one the process behind a pane's pipe looks for, by the name that stands
// in its place.
type lent struct{ Name, Value string }

// lendSecrets tells the process behind the pane's pipe what this one keeps secret.
func (r *runner) lendSecrets(launch agent.Launch) error {
	var values []lent
	for _, v := range r.redactor.Values() {
		values = append(values, lent{v.Name, v.Secret.Reveal()})
	}
	data, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("encode secrets: %w", err)
	}
	return launch.Lend(data)
}

// borrowed is a redactor that knows what the host lent for the launch in dir. The host
// always lends something, so where nothing is, the launch has ended or another reader took
// it: a text written without it could hold a secret.
func borrowed(dir string) (*redact.Redactor, error) {
	r := redact.New()
	launch, err := agent.ReadLaunch(dir)
	if err != nil {
		return nil, err
	}
	data, err := launch.Borrow()
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, errors.New("the secrets to take out are not known")
	}
	var values []lent
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, fmt.Errorf("read lent secrets: %w", err)
	}
	for _, v := range values {
		if err := r.Add(v.Name, v.Value); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Transcript writes what comes from in to transcripts/<launch>.log of the session in dir,
// as text and redacted, until in ends. It is the work of the process behind a pane's pipe.
func Transcript(in io.Reader, dir, launch string) error {
	if launch != filepath.Base(launch) {
		return fmt.Errorf("transcript: bad launch %q", launch)
	}
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	redactor, err := borrowed(sess.Path(session.LaunchesDir, launch))
	if err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	file := sess.Path(session.TranscriptsDir, launch+".log")
	f, err := session.OpenLog(file)
	if err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	defer f.Close()
	out, err := newRecord(f, redactor)
	if err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// printed writes down what a program prints: as text, redacted, and cut.
type printed struct {
	plainText
	redacted io.Closer
}

func newRecord(f *os.File, r *redact.Redactor) (*printed, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	out := r.Writer(&capped{f: f, left: maxTranscript - info.Size()})
	return &printed{plainText: plainText{out: out}, redacted: out}, nil
}

// Close writes what was held back and leaves the file open.
func (p *printed) Close() error { return p.redacted.Close() }

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
