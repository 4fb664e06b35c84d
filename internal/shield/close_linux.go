package shield

import (
	"fmt"
	"syscall"
)

const (
	prSetDumpable = 4 // PR_SET_DUMPABLE of <linux/prctl.h>
	notDumpable   = 0 // SUID_DUMP_DISABLE
)

// Close makes this process unreadable to others of its user until it starts another program.
// It leaves no core file, and neither do the processes it starts.
func Close() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, notDumpable, 0); errno != 0 {
		return fmt.Errorf("close this process to others: %w", errno)
	}
	return noCore()
}
