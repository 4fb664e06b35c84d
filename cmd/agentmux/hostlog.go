package main

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

// logFormat is how a host in the foreground tells what it does; the value of --log-format.
type logFormat string

// The formats.
const (
	logLines logFormat = "lines" // what a person reads; the log file gets key=value
	logText  logFormat = "text"  // the log itself, key=value
	logJSON  logFormat = "json"  // the log itself, one JSON object a line
)

// String, Set and Type make it the value of a flag.
func (f *logFormat) String() string { return string(*f) }

// Set takes one of the formats.
func (f *logFormat) Set(text string) error {
	formats := []logFormat{logLines, logText, logJSON}
	if !slices.Contains(formats, logFormat(text)) {
		return fmt.Errorf("unknown format %q", text)
	}
	*f = logFormat(text)
	return nil
}

// Type names what the flag takes.
func (f *logFormat) Type() string { return "format" }

// format is the one asked for. A level is about the log, so it asks for that.
func (a *app) format() logFormat {
	switch {
	case a.logFormat != "":
		return a.logFormat
	case a.logLevel != "":
		return logText
	}
	return logLines
}

// logHandler writes the log to w: to a terminal only what a person has to know, unless the
// log itself was asked for. The file of a session gets all of it.
func (a *app) logHandler(w io.Writer, o *slog.HandlerOptions) slog.Handler {
	redacted := func(w io.Writer) io.Writer { return a.Redactor().Writer(w) }
	log, host := w.(*hostLog)
	switch f := a.format(); {
	case f == logJSON:
		return slog.NewJSONHandler(redacted(w), o)
	case f == logText || !host || log.plain:
		return slog.NewTextHandler(redacted(w), o)
	}
	return slog.NewMultiHandler(slog.NewTextHandler(redacted(logFile{log}), o), &warner{say: a.Say})
}

// logFile is the file part of a hostLog.
type logFile struct{ *hostLog }

func (f logFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		_, _ = f.file.Write(p) // a file that cannot be written is no reason to stop
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

// told are the attributes of which a person knows already.
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

// hostLog is the log of a host in the foreground: the terminal sees it, and once the
// session exists its log file keeps it for agentmux logs.
type hostLog struct {
	terminal io.Writer
	plain    bool // terminal is a log file, too

	mu   sync.Mutex
	file *os.File
}

// keep writes the rest of the log to a file, too. The file stays open for the life of
// the process.
func (l *hostLog) keep(name string) error {
	file, err := session.OpenLog(name)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file = file
	return nil
}

// Write tells the terminal; a file that cannot be written is no reason to stop.
func (l *hostLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_, _ = l.file.Write(p)
	}
	return l.terminal.Write(p)
}
