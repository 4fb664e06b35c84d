package watch

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// sysPidfdOpen is pidfd_open(2), which has one number on all architectures (Linux 5.3).
const sysPidfdOpen = 434

// process is an open process: its descriptor becomes readable when it has ended.
type process struct{ file *os.File }

func openProcess(pid int) (process, error) {
	// PIDFD_NONBLOCK (Linux 5.10) has the value of O_NONBLOCK; with it the runtime's poller
	// takes the descriptor.
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), syscall.O_NONBLOCK, 0)
	if errno != 0 {
		return process{}, fmt.Errorf("open process %d: %w", pid, errno)
	}
	file := os.NewFile(fd, "pidfd")
	if err := file.SetReadDeadline(time.Time{}); err != nil { // the poller did not take it
		_ = file.Close()
		return process{}, fmt.Errorf("open process %d: %w", pid, err)
	}
	return process{file: file}, nil
}

// wait returns when the process has ended or was closed.
func (p process) wait() {
	conn, err := p.file.SyscallConn()
	if err != nil {
		return
	}
	// The first call comes before the poller waits, the second when it has seen the end. An
	// end between opening and the first call is asked for: the poller tells it only once.
	asked := false
	_ = conn.Read(func(fd uintptr) bool {
		done := asked || ended(fd)
		asked = true
		return done
	})
}

func (p process) Close() error { return p.file.Close() }

// pollIn is POLLIN of <poll.h>.
const pollIn = 1

// ended reports whether the descriptor of a process is readable now.
func ended(fd uintptr) bool {
	asked := struct {
		fd              int32
		events, revents int16
	}{fd: int32(fd), events: pollIn}
	var now syscall.Timespec
	n, _, _ := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&asked)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return n == 1 && asked.revents&pollIn != 0
}
