package job

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Log writes the log of a job. Whatever is written to it is text: the runner finds no command in it,
// because it stands between ::stop-commands:: with a random token and that token. Only the methods
// give commands; each of them is followed by a token of its own. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	out   io.Writer
	token string // that ends the text; "" after Close
	open  bool   // the last line has no end yet
	group bool
}

// NewLog returns a log that has begun its text.
func NewLog(out io.Writer) *Log {
	l := &Log{out: out}
	l.stop()
	return l
}

// Write writes text.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(p) > 0 {
		l.open = p[len(p)-1] != '\n'
	}
	return l.out.Write(p)
}

// Group begins a group, and ends the one before.
func (l *Log) Group(title string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	if l.group {
		lines = append(lines, "::endgroup::")
	}
	l.group = true
	l.give(append(lines, "::group::"+data(title))...)
}

// EndGroup ends the group, if there is one.
func (l *Log) EndGroup() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.group {
		l.group = false
		l.give("::endgroup::")
	}
}

// Level is how an annotation is shown.
type Level string

// Levels of annotations.
const (
	Notice  Level = "notice"
	Warning Level = "warning"
	Failure Level = "error"
)

// Annotate shows a text on the page of the run.
func (l *Log) Annotate(level Level, title, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.give(fmt.Sprintf("::%s title=%s::%s", level, property(title), data(text)))
}

// Close ends the text, so that the step's later commands are heard.
func (l *Log) Close() {
	l.EndGroup()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token != "" {
		l.lines("::" + l.token + "::")
		l.token = ""
	}
}

// give gives commands between two texts.
func (l *Log) give(commands ...string) {
	if l.token == "" {
		l.lines(commands...)
		return
	}
	l.lines(append([]string{"::" + l.token + "::"}, commands...)...)
	l.stop()
}

// stop begins a text. Its token is in no text that was written before.
func (l *Log) stop() {
	l.token = rand.Text()
	l.lines("::stop-commands::" + l.token)
}

// lines writes whole lines. Nothing can be done about a log that cannot be written.
func (l *Log) lines(lines ...string) {
	var b bytes.Buffer
	if l.open {
		b.WriteByte('\n')
		l.open = false
	}
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	_, _ = l.out.Write(b.Bytes())
}

// data and property write what a command says so that it stays in its place.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func property(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}
