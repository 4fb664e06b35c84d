package shield_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/shield"
	"golang.org/x/sys/unix"
)

// standIns are further programs that the test binary can be, by its argument.
var standIns = map[string]func() int{"without-rights": withoutRights, "unreadable": copied, "wait": waiting}

// withoutRights runs the test binary as a user's who may not read every file, even where that is root.
func withoutRights() int {
	runtime.LockOSThread()
	for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) == nil; c++ {
		continue
	}
	own, err := os.Executable()
	if err == nil {
		err = syscall.Exec(own, []string{own, "unreadable"}, os.Environ())
	}
	fmt.Println(err)
	return 1
}

func waiting() int {
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// copied runs a copy of the test binary beside the binary itself.
func copied() int {
	own, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	f, err := shield.Unreadable(own)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if !closedWhileItRuns("/proc/self/fd/3", f) {
		fmt.Println("the copy is open")
	}
	if closedWhileItRuns(own, f) {
		fmt.Println("the program itself is closed")
	}
	at := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	if _, err := os.Open(at); !errors.Is(err, os.ErrPermission) {
		fmt.Println("reading the copy:", err)
	}
	if err := os.Chmod(at, 0o700); err != nil {
		fmt.Println(err)
	}
	if w, err := os.OpenFile(at, os.O_RDWR, 0); err != nil {
		fmt.Println("the owner may change the mode:", err)
	} else {
		if _, err := w.WriteAt([]byte("x"), 0); err == nil || w.Truncate(0) == nil {
			fmt.Println("the copy was changed")
		}
		_ = w.Close() // what is open for writing is not run
	}
	if err := shield.Lock(f); err != nil || !closedWhileItRuns("/proc/self/fd/3", f) {
		fmt.Println("once more locked, it is open", err)
	}
	return 0
}

// closedWhileItRuns starts a program that has f.
func closedWhileItRuns(program string, f *os.File) bool {
	cmd := exec.Command(program, "wait")
	cmd.ExtraFiles = []*os.File{f}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Println(err)
		return false
	}
	closed := shield.Closed(cmd.Process.Pid)
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		fmt.Println(err)
	}
	return closed
}

func TestACopyOfAProgramRunsClosed(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), own, "without-rights").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := shield.Unreadable(script); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a script: %v", err)
	}
}
