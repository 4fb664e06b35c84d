package host

import (
	"path/filepath"

	"github.com/agentmux/agentmux/bot/claim"
)

// HostID returns the id of the daemon of this machine's state home, made once and kept in the file
// host_id.
func (h *Host) HostID() (claim.HostID, error) {
	return claim.KeptHostID(filepath.Join(h.StateHome, "host_id"))
}
