package shield

import (
	"fmt"
	"syscall"
)

func noCore() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("turn off core files: %w", err)
	}
	return nil
}
