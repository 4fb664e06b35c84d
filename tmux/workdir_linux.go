package tmux

import (
	"fmt"
	"os"
)

// workdir returns where a process is.
func workdir(pid int) (string, error) { return os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)) }
