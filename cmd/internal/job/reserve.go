package job

import (
	"crypto/rand"
	"os"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/durable"
)

// reserve is a file that keeps room on the disk of the runner: the result of a job whose session has filled that disk, and the outputs
// and the summary that are made of it, are written in its place. The empty one keeps none.
type reserve string

const reserveSize = 256 << 10 // bytes

// newReserve keeps room, where there is some.
func newReserve() reserve {
	file := filepath.Join(filepath.Dir(ResultFile()), ".reserve")
	noise := make([]byte, reserveSize) // a disk may keep zeros without room for them
	_, _ = rand.Read(noise)            // it does not fail
	if durable.MkdirAll(filepath.Dir(file)) != nil || os.WriteFile(file, noise, 0o600) != nil {
		_ = os.Remove(file)
		return ""
	}
	return reserve(file)
}

// free gives the room back. It may be called twice.
func (r reserve) free() { _ = os.Remove(string(r)) }
