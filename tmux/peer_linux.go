package tmux

import "syscall"

// peer is the process that listens on the other side of a connected Unix socket, and its
// user.
func peer(fd int) (pid int, own bool, err error) {
	cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return 0, false, err
	}
	return int(cred.Pid), int(cred.Uid) == syscall.Geteuid(), nil
}
