package account

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// FileVariable names the variable with the path of a file that holds the token, as service
// managers hand credentials to a service.
const FileVariable = "AGENTMUX_GITHUB_TOKEN_FILE"

// maxTokenFile is more than any token takes, which are of about 520 characters.
const maxTokenFile = 16 << 10

// readTokenFile reads the token of a file that no other user can read.
func readTokenFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", FileVariable, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", FileVariable, err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("read %s: %s is not a regular file", FileVariable, path)
	}
	if !isPrivate(info) {
		return "", fmt.Errorf("the token file %s has mode %04o, and only its owner may read it: chmod 600 it", path, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", FileVariable, err)
	}
	token := strings.TrimSpace(string(data))
	switch {
	case len(data) > maxTokenFile:
		return "", fmt.Errorf("the token file %s is larger than %d KiB", path, maxTokenFile>>10)
	case token == "":
		return "", fmt.Errorf("the token file %s is empty", path)
	case len(strings.Fields(token)) > 1:
		return "", fmt.Errorf("the token file %s holds more than one word", path)
	}
	return token, nil
}

// isPrivate reports whether other users are kept out. systemd hands a credential to the user of
// a service by an access list on a file of root, which shows as the right of a group.
func isPrivate(info os.FileInfo) bool {
	mode := info.Mode().Perm()
	own, known := info.Sys().(*syscall.Stat_t)
	return mode&^0o600 == 0 || known && own.Uid == 0 && mode&^0o640 == 0
}

// TakeFile removes the variable with the path of the token file from the environment, and returns
// the path.
func TakeFile() string {
	path := strings.TrimSpace(os.Getenv(FileVariable))
	_ = os.Unsetenv(FileVariable)
	return path
}
