package shield_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/internal/testexit"
)

// TestMain lets the test binary be a program that was started with a sealed environment.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "sealed" {
		testexit.Exit(tell())
	}
	if len(os.Args) == 2 && os.Args[1] == "restart" {
		if os.Getenv("AGENTMUX_SEALED") == "" {
			own, err := os.Executable()
			if err == nil {
				err = shield.Restart(own, os.Args)
			}
			fmt.Println("not started again:", err)
			testexit.Exit(1)
		}
		testexit.Exit(tell())
	}
	if len(os.Args) == 2 && standIns[os.Args[1]] != nil {
		testexit.Exit(standIns[os.Args[1]]())
	}
	os.Exit(m.Run())
}

// tell prints what the kernel shows of this process's variables, and one it has itself.
func tell() int {
	shown, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		shown = []byte(strings.Join(os.Environ(), "\x00"))
	}
	was, err := shield.Unseal()
	fmt.Printf("%v %v %s\n%q\n", was, err, os.Getenv("THE_KEY"), shown)
	return 0
}

func TestAnEnvironmentIsSealed(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{"PATH=/usr/bin:/bin", "HOME=/h", "THE_KEY=very-secret", "AGENTMUX_GITHUB_TOKEN=another", "AGENTMUX_X=1", "EMPTY="}
	for name, prepare := range map[string]func(cmd *exec.Cmd) error{
		"sealed": func(cmd *exec.Cmd) error {
			done, err := shield.Seal(cmd, environ)
			if err == nil {
				t.Cleanup(done)
			}
			return err
		},
		"restart": func(cmd *exec.Cmd) error { cmd.Env = environ; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(own, name)
			if err := prepare(cmd); err != nil {
				t.Fatal(err)
			}
			out, err := cmd.Output()
			text := string(out)
			if err != nil || !strings.HasPrefix(text, "true <nil> very-secret\n") {
				t.Errorf("%q, %v", text, err)
			}
			if _, shown, _ := strings.Cut(text, "\n"); strings.Contains(shown, "secret") || strings.Contains(shown, "another") || !strings.Contains(shown, "HOME=/h") || !strings.Contains(shown, "AGENTMUX_X=1") {
				t.Errorf("shows %s", shown)
			}
		})
	}
	if clean := shield.Clean(environ); !slices.Equal(clean, []string{"PATH=/usr/bin:/bin", "HOME=/h", "AGENTMUX_X=1"}) {
		t.Errorf("clean: %q", clean)
	}
}

func TestAListenerTakesWhomItKnows(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := shield.NewSocketPath(dir)
	if path == shield.NewSocketPath(dir) || !shield.IsSocketPath(path) {
		t.Errorf("%s is foreseeable", path)
	}
	l, err := shield.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	first := true
	accepted := make(chan error, 1)
	go func() {
		conn, pid, err := l.AcceptFrom(func(int) bool { ok := !first; first = false; return ok })
		if err == nil && pid != os.Getpid() {
			err = fmt.Errorf("process %d", pid)
		}
		if err == nil {
			_, err = io.WriteString(conn, "hello")
			err = errors.Join(err, conn.Close())
		}
		accepted <- err
	}()
	for _, want := range []string{"", "hello"} {
		conn, err := shield.Dial(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		_ = conn.Close()
	}
	if err := errors.Join(<-accepted, l.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
}

// A directory that others can look into is not for sockets.
func TestSocketsLieInPrivateDirectories(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "amx") // others may have no way to where the tests keep their files
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	open := filepath.Join(dir, "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o755), os.Symlink(dir, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	swapped := filepath.Join(dir, "everybody", "ours") // which every user can rename
	if err := errors.Join(os.MkdirAll(swapped, 0o700), os.Chmod(filepath.Dir(swapped), 0o777), os.Chmod(dir, 0o711)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{open, filepath.Join(dir, "link"), filepath.Join(dir, "none"), swapped} {
		if l, err := shield.Listen(filepath.Join(bad, "s")); err == nil {
			_ = l.Close()
			t.Errorf("a socket in %s", bad)
		}
	}
	if err := os.Chmod(filepath.Dir(swapped), os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	l, err := shield.Listen(filepath.Join(swapped, "s"))
	if err != nil {
		t.Fatalf("below a directory such as /tmp: %v", err)
	}
	_ = l.Close()
}

func TestDescends(t *testing.T) {
	t.Parallel()
	if !shield.Descends(os.Getpid(), os.Getppid()) || !shield.Descends(os.Getpid(), os.Getpid()) || shield.Descends(os.Getppid(), os.Getpid()) {
		t.Error("parents and children are confused")
	}
	if shield.Parent(1<<30) != 0 {
		t.Error("a process that is not there has a parent")
	}
	if _, err := shield.Peer(&net.UnixConn{}); err == nil {
		t.Error("the other side is absent, and no error")
	}
}

// A socket whose process was killed goes; one at which a process listens stays, and so does
// all else.
func TestRemoveLeft(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listen := func(path string) *shield.Listener {
		l, err := shield.Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false) // as a kill leaves it
		return l
	}
	left, live, file, named := shield.NewSocketPath(dir), shield.NewSocketPath(dir), shield.NewSocketPath(dir), filepath.Join(dir, "s.sock")
	for _, path := range []string{left, named} {
		if err := listen(path).Close(); err != nil {
			t.Fatal(err)
		}
	}
	defer listen(live).Close()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{left: false, live: true, file: true, named: true, filepath.Join(dir, "absent"): false} {
		if err := shield.RemoveLeft(path); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", filepath.Base(path), err == nil, want)
		}
	}
}
