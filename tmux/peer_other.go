//go:build unix && !linux

package tmux

import "syscall"

const (
	solLocal     = 0 // SOL_LOCAL of <sys/un.h>
	localPeerPID = 2 // LOCAL_PEERPID of <sys/un.h> on macOS
)

// peer is the process that listens on the other side of a connected Unix socket. Who can
// connect to the socket is its user: its directory is closed to others.
func peer(fd int) (pid int, own bool, err error) {
	pid, err = syscall.GetsockoptInt(fd, solLocal, localPeerPID)
	return pid, true, err
}
