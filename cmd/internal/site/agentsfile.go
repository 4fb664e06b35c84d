package site

import (
	"io"
	"os"
	"syscall"

	"github.com/agentmux/agentmux/workflows/agents"
)

// ReadAgentsFile returns what is in an agents file, of one that is too large the beginning, which
// agents.Parse refuses.
func ReadAgentsFile(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that has no writer would wait for one
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, agents.MaxFile+1))
}
