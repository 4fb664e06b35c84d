package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// maxTranscript is where the record of a launch is cut.
const maxTranscript = 20 << 20

const cutNotice = "\n[agentmux: the transcript is cut here]\n"

// record has everything a pane prints written down, secrets taken out. A pane without
// its transcript is no reason to stop.
func (r *runner) record(ctx context.Context, pane, launch string) {
	if !r.cfg.Session.Transcripts {
		return
	}
	err := r.panes.server.Pipe(ctx, pane, []string{r.Self, "transcript", r.sess.Dir, launch})
	if err != nil && !errors.Is(err, tmux.ErrNoPane) {
		r.Log.Warn("no transcript", "session", r.sess.Name(), "launch", launch, "err", err)
	}
}

// Transcript writes what comes from in to transcripts/<launch>.log of the session in dir,
// redacted, until in ends. It is the work of the process behind a pane's pipe.
func Transcript(in io.Reader, dir, launch string) error {
	if launch != filepath.Base(launch) {
		return fmt.Errorf("transcript: bad launch %q", launch)
	}
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	file := sess.Path(session.TranscriptsDir, launch+".log")
	f, err := session.OpenLog(file)
	if err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	out := redact.New().Writer(&capped{f: f, left: maxTranscript - info.Size()})
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

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
