package shield

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

const (
	mfdCloseOnExec  = 0x1  // MFD_CLOEXEC of <linux/memfd.h>
	mfdAllowSealing = 0x2  // MFD_ALLOW_SEALING
	mfdExec         = 0x10 // MFD_EXEC, since Linux 6.3
	fAddSeals       = 1033 // F_ADD_SEALS of <linux/fcntl.h>
	allSeals        = 0xf  // F_SEAL_SEAL, _SHRINK, _GROW and _WRITE
)

// memfdCreate are the numbers of memfd_create(2), which package syscall has for some only.
var memfdCreate = map[string]uintptr{"amd64": 319, "arm64": 279, "riscv64": 279, "loong64": 279, "386": 356, "arm": 385, "ppc64le": 360, "s390x": 350}

const (
	mayExecute = 0o111

	// The rights of <linux/capability.h> that open unreadable files and closed processes.
	capDACOverride   = 1
	capDACReadSearch = 2
	capSysPtrace     = 19
)

// Unreadable returns a copy of a program in memory that can be run, as /proc/self/fd/N in a
// process that inherits it, but is neither read nor changed any more: it has no name, and its
// mode lets no user read it. Linux closes a process to others of its user, as Close does, from
// its first instruction on, if its user may not read its program.
//
// It fails with errors.ErrUnsupported where that does not hold: this process may read every
// file or trace every process, as root and with it its agents may; the machine keeps core files
// of such processes (fs.suid_dumpable 1); or the program is a script, which is read to be run.
func Unreadable(program string) (*os.File, error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("copy program: %w", err)
	}
	if !bytes.HasPrefix(text, []byte("\x7fELF")) || !closesUnreadable() {
		return nil, fmt.Errorf("close %s to others: %w", program, errors.ErrUnsupported)
	}
	f, err := memoryFile()
	if err != nil {
		return nil, fmt.Errorf("copy program: %w", err)
	}
	if err := fill(f, text); err != nil {
		return nil, errors.Join(fmt.Errorf("copy program: %w", err), f.Close())
	}
	return f, nil
}

func fill(f *os.File, text []byte) error {
	if _, err := f.Write(text); err != nil {
		return err
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), fAddSeals, allSeals); errno != 0 {
		return errno
	}
	return Lock(f)
}

// Lock makes a copy that Unreadable returned unreadable once more. Whoever has its descriptor,
// and that is every program that was started with it, could have changed its mode.
func Lock(f *os.File) error {
	if err := f.Chmod(mayExecute); err != nil {
		return fmt.Errorf("lock program: %w", err)
	}
	return nil
}

func memoryFile() (*os.File, error) {
	number, ok := memfdCreate[runtime.GOARCH]
	if !ok {
		return nil, errors.ErrUnsupported
	}
	name := []byte("program\x00")
	var errno syscall.Errno
	for _, flags := range []uintptr{mfdCloseOnExec | mfdAllowSealing | mfdExec, mfdCloseOnExec | mfdAllowSealing} {
		var fd uintptr
		if fd, _, errno = syscall.Syscall(number, uintptr(unsafe.Pointer(&name[0])), flags, 0); errno == 0 {
			return os.NewFile(fd, "program"), nil
		}
		if errno != syscall.EINVAL { // a kernel that does not know the last flag
			break
		}
	}
	return nil, errno
}

// closesUnreadable reports whether a process whose program this one may not read is closed to
// this one, and so to what this one starts.
func closesUnreadable() bool {
	dumpable, err := os.ReadFile("/proc/sys/fs/suid_dumpable")
	if err != nil || strings.TrimSpace(string(dumpable)) == "1" {
		return false
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(status), "\nCapEff:")
	line, _, _ := strings.Cut(rest, "\n")
	rights, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return err == nil && rights&(1<<capDACOverride|1<<capDACReadSearch|1<<capSysPtrace) == 0
}

// Closed reports whether the memory of a process is refused to this one.
func Closed(pid int) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/mem")
	if err == nil {
		_ = f.Close()
	}
	return errors.Is(err, os.ErrPermission)
}
