package site

import (
	"fmt"
	"os"
	"path/filepath"
)

// Home returns the person's home directory.
func Home() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return "/"
	}
	return dir
}

// ConfigHome returns the directory of the person's configurations.
func ConfigHome() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(Home(), ".config")
}

// StateHome returns the directory where hosts keep what outlives them.
func StateHome() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agentmux")
	}
	return filepath.Join(Home(), ".local", "state", "agentmux")
}

// RuntimeDir returns the directory of sockets. It is short, because the length of a socket's
// path is bounded.
func RuntimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agentmux")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("agentmux-%d", os.Getuid()))
}

// Self returns the path of this program.
func Self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own path: %w", err)
	}
	return filepath.EvalSymlinks(path)
}
