package host

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// HostID returns the name of this machine's state home, by which hosts are distinguished: "h_"
// and 16 hex digits, made once and kept in the file host_id.
func (h *Host) HostID() (string, error) {
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
	id := strings.TrimSpace(string(data))
	if len(id) != len("h_")+16 || !strings.HasPrefix(id, "h_") {
		return "", fmt.Errorf("read host id: %s holds none; remove it", file)
	}
	return id, nil
}

// makeHostID creates the file with its whole content at once, unless it exists.
func makeHostID(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	b := make([]byte, 8)
	rand.Read(b) // never fails since Go 1.24
	temp := file + ".tmp-" + hex.EncodeToString(b)
	if err := os.WriteFile(temp, []byte("h_"+hex.EncodeToString(b)+"\n"), 0o600); err != nil {
		return err
	}
	return errors.Join(os.Link(temp, file), os.Remove(temp))
}
