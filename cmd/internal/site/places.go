package site

import (
	"fmt"
	"os"
	"path/filepath"
)

// home is where the person's own files are.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return "/"
	}
	return dir
}

// ConfigHome is where configurations of the person are.
func ConfigHome() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(home(), ".config")
}

// StateHome is where hosts keep what outlives them.
func StateHome() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agentmux")
	}
	return filepath.Join(home(), ".local", "state", "agentmux")
}

// RuntimeDir holds sockets: it is short, because their paths are bounded.
func RuntimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agentmux")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("agentmux-%d", os.Getuid()))
}

// Self is the path of this program.
func Self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own path: %w", err)
	}
	return filepath.EvalSymlinks(path)
}
