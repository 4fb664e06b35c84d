// Package hostlog is the log of a host. The log's file gets all of it, a terminal gets the form
// that was asked for. The file is only appended to.
package hostlog

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Format is how a host in the foreground reports what it does; the value of --log-format.
type Format string

// The formats.
const (
	Lines Format = "lines" // what a person reads; the log file gets key=value
	Text  Format = "text"  // the log itself, key=value
	JSON  Format = "json"  // the log itself, one JSON object a line
)

// String, Set and Type make it the value of a flag.
func (f *Format) String() string { return string(*f) }

// Set takes one of the formats.
func (f *Format) Set(text string) error {
	formats := []Format{Lines, Text, JSON}
	if !slices.Contains(formats, Format(text)) {
		return fmt.Errorf("unknown format %q", text)
	}
	*f = Format(text)
	return nil
}

// Type names what the flag takes.
func (f *Format) Type() string { return "format" }

// NewHandler returns a handler that writes the log to w. A terminal gets only what a person has to
// know, unless the log itself was asked for. The file of a session gets all of it.
func NewHandler(w io.Writer, o *slog.HandlerOptions, format Format, a *console.Console) slog.Handler {
	redacted := func(w io.Writer) io.Writer { return a.Redactor().Writer(w) }
	log, host := w.(*Log)
	switch f := format; {
	case f == JSON:
		return slog.NewJSONHandler(redacted(w), o)
	case f == Text || !host || log.Plain:
		return slog.NewTextHandler(redacted(w), o)
	}
	return slog.NewMultiHandler(slog.NewTextHandler(redacted(logFile{log}), o), &warner{say: a.Say})
}

// logFile is the file part of a Log.
type logFile struct{ *Log }

func (f logFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		_, _ = f.file.Write(p) // a failed write must not stop the host
	}
	return len(p), nil
}

// warner tells a person the warnings and errors of a log. Records of the session are told as
// lines of their own, see narrator.
type warner struct {
	say   func(format string, args ...any)
	attrs []slog.Attr
}

func (w *warner) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w *warner) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &warner{w.say, append(slices.Clip(w.attrs), attrs...)}
}

func (w *warner) WithGroup(string) slog.Handler { return w }

// toldAttrs are the attributes that a person knows already.
var toldAttrs = []string{"session", "seq", "phase"}

func (w *warner) Handle(_ context.Context, r slog.Record) error {
	var parts []string
	recorded := false
	add := func(a slog.Attr) bool {
		recorded = recorded || a.Key == "event"
		switch {
		case slices.Contains(toldAttrs, a.Key):
		case a.Key == "err":
			parts = append(parts, a.Value.String())
		default:
			parts = append(parts, a.Key+" "+a.Value.String())
		}
		return true
	}
	for _, a := range w.attrs {
		add(a)
	}
	r.Attrs(add)
	if !recorded {
		w.say("%s", console.OneLine("warning: "+r.Message+": "+strings.Join(parts, ", ")))
	}
	return nil
}

// Log is the log of a host in the foreground: the terminal sees it, and once the
// session exists its log file keeps it for agentmux logs.
type Log struct {
	Terminal io.Writer
	Plain    bool // terminal is a log file, too

	mu   sync.Mutex
	file *os.File
}

// Keep writes the rest of the log to a file, too. The file stays open for the life of
// the process.
func (l *Log) Keep(name string) error {
	file, err := session.OpenLog(name)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file = file
	return nil
}

// Write writes to the terminal and the file. A failed write to the file must not stop the host.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_, _ = l.file.Write(p)
	}
	return l.Terminal.Write(p)
}
