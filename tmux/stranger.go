package tmux

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// ErrStranger means that another user may listen on the socket. Nothing was sent there.
var ErrStranger = errors.New("the tmux server may belong to another user")

// trust fails unless the listener on the socket is a process of this user, in a directory that
// no other user can write to. Without a listener it succeeds: the server is still to be started.
// A socket that was checked once is known by its file.
func (s *Server) trust() error {
	dir := filepath.Dir(s.socket)
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := checkPrivate(dir); err != nil {
		return errors.Join(ErrStranger, err)
	}
	file, err := os.Lstat(s.socket)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at tmux socket: %w", err)
	}
	s.mu.Lock()
	known := s.known != nil && os.SameFile(s.known, file) && s.known.ModTime().Equal(file.ModTime())
	s.mu.Unlock()
	if known {
		return nil
	}
	if err := s.askPeer(); err != nil {
		if errors.Is(err, ErrNoServer) {
			return nil
		}
		return err
	}
	s.mu.Lock()
	s.known = file
	s.mu.Unlock()
	return nil
}

// askPeer has the kernel say who listens.
func (s *Server) askPeer() error {
	conn, err := net.DialTimeout("unix", s.socket, s.timeout)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return ErrNoServer
	}
	if err != nil {
		return errors.Join(ErrNoAnswer, err)
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return errors.Join(ErrNoAnswer, err)
	}
	failed := raw.Control(func(fd uintptr) {
		if _, own, cause := peer(int(fd)); cause != nil || !own {
			err = errors.Join(ErrStranger, cause)
		}
	})
	return errors.Join(failed, err)
}
