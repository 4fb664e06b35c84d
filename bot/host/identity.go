package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/bot/claim"
)

// HostID returns the id of the daemon of this machine's state home, made once and kept in the file
// host_id.
func (h *Host) HostID() (claim.HostID, error) {
	file := filepath.Join(h.StateHome, "host_id")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeHostID(file); err == nil || errors.Is(err, fs.ErrExist) {
			data, err = os.ReadFile(file)
		}
	}
	if err != nil {
		return "", fmt.Errorf("read host id: %w", err)
	}
	id, err := claim.ParseHostID(strings.TrimSpace(string(data)))
	if err != nil {
		return "", fmt.Errorf("read host id: %w; remove %s", err, file)
	}
	return id, nil
}

// makeHostID creates the file with its whole content at once, unless it exists.
func makeHostID(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	id := claim.NewHostID().String()
	temp := file + ".tmp-" + id
	if err := os.WriteFile(temp, []byte(id+"\n"), 0o600); err != nil {
		return err
	}
	return errors.Join(os.Link(temp, file), os.Remove(temp))
}
