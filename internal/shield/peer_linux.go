package shield

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// credentials are the process and the user on the other side of a connected Unix socket.
func credentials(fd int) (pid int, own bool, err error) {
	cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return 0, false, err
	}
	return int(cred.Pid), int(cred.Uid) == syscall.Geteuid(), nil
}

// Parent returns the parent of a process, 0 if that process does not exist.
func Parent(pid int) int {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything, so count from its end.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
