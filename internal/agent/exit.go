package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
)

// Exit is exit.json: how the program of a launch ended. agent-exec writes it when no process of
// the launch is left.
type Exit struct {
	Version   int       `json:"version"`
	Code      *int      `json:"code"`             // nil when a signal ended the program
	Signal    string    `json:"signal,omitempty"` // "TERM", "KILL"
	Error     string    `json:"error,omitempty"`  // why it could not be started
	Stopped   bool      `json:"stopped"`          // it was told to end
	Strays    int       `json:"strays"`           // processes it left behind, all ended
	StartedAt time.Time `json:"started_at"`       // the program ran, with its arguments
	EndedAt   time.Time `json:"ended_at"`
}

// NotStarted is the exit code for a program that could not be started, as in a shell.
const NotStarted = 127

// ReadExit returns the exit record of a launch and whether there is one.
func ReadExit(dir string) (Exit, bool, error) {
	data, err := durable.ReadRegular(dir, "exit.json", 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return Exit{}, false, nil
	}
	var e Exit
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	if err != nil {
		return Exit{}, false, fmt.Errorf("read exit record: %w", err)
	}
	return e, true, nil
}

// Write writes exit.json into the directory of a launch.
func (e Exit) Write(dir string) error {
	e.Version = 1
	data, err := encode(e)
	if err != nil {
		return fmt.Errorf("encode exit record: %w", err)
	}
	return durable.Replace(filepath.Join(dir, "exit.json"), data)
}

// Status returns the exit code for the record, as in a shell.
func (e Exit) Status() int {
	if e.Code != nil {
		return *e.Code
	}
	for n := syscall.Signal(1); n < 64; n++ {
		if SignalName(n) == e.Signal {
			return 128 + int(n)
		}
	}
	return 128
}

// SignalName returns the name of a signal as Exit has it: without SIG, or the number.
func SignalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "HUP", syscall.SIGINT: "INT", syscall.SIGQUIT: "QUIT", syscall.SIGILL: "ILL", syscall.SIGTRAP: "TRAP",
		syscall.SIGABRT: "ABRT", syscall.SIGBUS: "BUS", syscall.SIGFPE: "FPE", syscall.SIGKILL: "KILL", syscall.SIGUSR1: "USR1",
		syscall.SIGSEGV: "SEGV", syscall.SIGUSR2: "USR2", syscall.SIGPIPE: "PIPE", syscall.SIGALRM: "ALRM", syscall.SIGTERM: "TERM",
	}
	if name, ok := names[s]; ok {
		return name
	}
	return fmt.Sprint(int(s))
}
