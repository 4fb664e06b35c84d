//go:build unix

package agentexec

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// setForeground puts a process group in the foreground of the terminal.
func setForeground(tty *os.File, group int) error {
	pgrp := int32(group)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&pgrp)))
	if errno != 0 {
		return errno
	}
	return nil
}

// closeOnExec marks the inherited descriptors above 2, so that the program does not get them.
func closeOnExec() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
