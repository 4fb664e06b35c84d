//go:build !linux

package spare

import (
	"syscall"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

func times(stat *syscall.Stat_t) (changed, modified git.IndexTime) {
	at := func(t syscall.Timespec) git.IndexTime { return git.IndexTime{Sec: uint32(t.Sec), Nsec: uint32(t.Nsec)} }
	return at(stat.Ctimespec), at(stat.Mtimespec)
}
