package site

import (
	"io"
	"os"
	"path/filepath"
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
	return beginning(f)
}

// ProjectAgentsFile is ReadAgentsFile for a file of a project; a link that leads out of it is refused.
func ProjectAgentsFile(project, name string) ([]byte, error) {
	f, err := Files(project).Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	return beginning(f)
}

func beginning(f io.ReadCloser) ([]byte, error) {
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, agents.MaxFile+1))
}
