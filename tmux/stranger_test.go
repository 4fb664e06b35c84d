package tmux_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/tmux"
)

// TestSecurity35NoWordToAStrangersServer has another program listen where a server of this user could, in a
// directory that was made first: no client of this package connects.
func TestSecurity35NoWordToAStrangersServer(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	open := filepath.Join(root, "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o755), os.Symlink(open, filepath.Join(root, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{open, filepath.Join(root, "link")} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			socket := filepath.Join(dir, "s.sock")
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			came := make(chan bool, 1)
			go func() {
				conn, err := l.Accept()
				if err == nil {
					_ = conn.Close()
				}
				came <- err == nil
			}()
			s, err := tmux.New(tmux.Options{Socket: socket, Tags: []string{tag}, Timeout: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			_, panes := s.Panes(t.Context())
			_, ensured := s.Ensure(t.Context(), control(t))
			for _, err := range []error{panes, ensured} {
				if !errors.Is(err, tmux.ErrStranger) {
					t.Errorf("%v, want %v", err, tmux.ErrStranger)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if <-came {
				t.Error("a client of this package connected")
			}
		})
	}
}
