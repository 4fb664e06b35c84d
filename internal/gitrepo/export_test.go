package gitrepo

import (
	"context"
	"slices"
	"time"
)

// SetReadPauses makes reads wait n times d between their tries.
func (h *Host) SetReadPauses(d time.Duration, n int) { h.pauses = slices.Repeat([]time.Duration{d}, n) }

// SetHook makes a test see the points of a walk: "read" before a directory is opened,
// "copy" before a file of a live workspace is opened, "index" between the walk and the first git that reads files.
func (h *Host) SetHook(hook func(point, path string)) { h.hook = hook }

// ListOver lists what stands at a URL with one transport allowed, as no call of a Remote
// would: its address is not looked at.
func (h *Host) ListOver(ctx context.Context, transport, url string) ([]byte, error) {
	c := h.git("ls-remote", "--", url)
	c.transport = transport
	return c.run(ctx)
}
