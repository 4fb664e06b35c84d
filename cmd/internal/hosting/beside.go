package hosting

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/shield"
)

// Beside starts a command of this program in a session of its own. Its standard input ends when this process
// does, however that ends, or with end, which waits for the command and returns its error.
func Beside(argv []string) (end func() error, err error) {
	own, err := site.Self()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(own, argv...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	done, err := shield.Seal(cmd, os.Environ())
	if err != nil {
		return nil, err
	}
	defer done()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	return func() error {
		_ = in.Close() // at the latest with this process
		return cmd.Wait()
	}, nil
}
