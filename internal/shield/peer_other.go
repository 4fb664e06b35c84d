//go:build unix && !linux

package shield

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

const (
	solLocal     = 0 // SOL_LOCAL of <sys/un.h>
	localPeerPID = 2 // LOCAL_PEERPID of <sys/un.h> on macOS
)

// credentials are the process on the other side of a connected Unix socket. Who can connect
// to the socket is its user: its directory is closed to others.
func credentials(fd int) (pid int, own bool, err error) {
	pid, err = syscall.GetsockoptInt(fd, solLocal, localPeerPID)
	return pid, true, err
}

// Parent returns the parent of a process, 0 if that process does not exist.
func Parent(pid int) int {
	out, err := exec.Command("/bin/ps", "-o", "ppid=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0
	}
	parent, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	return parent
}
