package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// hostLog is the log of a host in the foreground: the terminal sees it, and once the
// session exists its log file keeps it for agentmux logs.
type hostLog struct {
	terminal io.Writer

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
