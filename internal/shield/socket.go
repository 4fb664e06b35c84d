package shield

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// ErrStranger means that the other side of a connection is another user's process.
var ErrStranger = errors.New("the other side of the socket is a process of another user")

// maxSocketPath is what every system takes as the path of a socket.
const maxSocketPath = 100

// NewSocketPath returns a path in dir that no other process can foresee.
func NewSocketPath(dir string) string {
	name := make([]byte, 6)
	rand.Read(name) // never fails since Go 1.24
	return filepath.Join(dir, hex.EncodeToString(name))
}

var socketForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{12}$`) })

// IsSocketPath reports whether path may be one that NewSocketPath returned.
func IsSocketPath(path string) bool { return socketForm().MatchString(filepath.Base(path)) }

// RemoveLeft removes the socket at path whose process was killed. It leaves what is not a
// socket of NewSocketPath and one at which a process listens. Calling it again changes nothing.
func RemoveLeft(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket || !IsSocketPath(path) {
		return nil
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a socket that was left: %w", err)
	}
	return nil
}

// A Listener takes connections of processes of its own user. Close removes its socket.
type Listener struct {
	*net.UnixListener
}

// Listen makes the socket. What lies at its path is replaced; the directory must be closed
// to others.
func Listen(path string) (*Listener, error) {
	if len(path) >= maxSocketPath {
		return nil, fmt.Errorf("socket %s: path has %d bytes, at most %d work", path, len(path), maxSocketPath-1)
	}
	if err := CheckPrivate(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return &Listener{l}, nil
}

// AcceptFrom returns the next connection whose process known takes, and that process. All
// others are closed.
func (l *Listener) AcceptFrom(known func(pid int) bool) (*net.UnixConn, int, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, 0, err
		}
		if pid, err := Peer(conn); err == nil && known(pid) {
			return conn, pid, nil
		}
		_ = conn.Close()
	}
}

// Dial connects to a socket of this user. It fails with ErrStranger if another user listens.
func Dial(path string, limit time.Duration) (*net.UnixConn, error) {
	c, err := net.DialTimeout("unix", path, limit)
	if err != nil {
		return nil, err
	}
	conn := c.(*net.UnixConn)
	if _, err := Peer(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Peer returns the process on the other side as it was when the connection was made. It
// fails with ErrStranger if that is another user's.
func Peer(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("ask for the other side: %w", err)
	}
	own := false
	var cause error
	if err := raw.Control(func(fd uintptr) { pid, own, cause = credentials(int(fd)) }); err != nil || cause != nil {
		return 0, fmt.Errorf("ask for the other side: %w", errors.Join(err, cause))
	}
	if !own || pid <= 0 {
		return 0, ErrStranger
	}
	return pid, nil
}

// Descends reports whether pid is root or was started below it. A process whose parents have
// ended is below the process that took it over.
func Descends(pid, root int) bool {
	for range 1000 { // more than any real depth; numbers may be given out again meanwhile
		if pid == root {
			return true
		}
		if pid <= 1 {
			return false
		}
		pid = Parent(pid)
	}
	return false
}

// MakePrivate makes a directory that is closed to others, and refuses what is there in its
// place: another user may have made it first.
func MakePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	return CheckPrivate(dir)
}

// CheckPrivate refuses a directory that another user owns, could look into or could put
// another one in the place of.
func CheckPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("check directory: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("directory %s: want a directory of our own with mode 0700", dir)
	}
	if at := exposed(dir); at != "" {
		return fmt.Errorf("directory %s: everybody can replace what is in %s, which lacks the sticky bit", dir, at)
	}
	return nil
}

// exposed returns a directory above dir whose entries every user can rename, if others get to it.
func exposed(dir string) string {
	found := ""
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil {
			switch mode := info.Mode(); {
			case mode.Perm()&0o001 == 0:
				found = ""
			case mode.Perm()&0o002 != 0 && mode&os.ModeSticky == 0:
				found = at
			}
		}
		if at == filepath.Dir(at) {
			return found
		}
	}
}
