package session

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LinkError says that there is a symlink where a project keeps a directory of ours. What is
// written or removed through it would lie anywhere.
type LinkError struct{ Path string }

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a symlink, which agentmux does not follow: put the directory itself in its place", e.Path)
}

// CheckLinks fails with a *LinkError if a directory of ours in the project is a symlink.
func CheckLinks(project string) error {
	for _, dir := range []string{"", sessionsDir, "workflows", "prompts", "prompts/agents", "prompts/commands", "prompts/project"} {
		path := filepath.Join(project, projectDir, dir)
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return &LinkError{path}
		}
	}
	return nil
}

// Ignored reports whether git leaves the sessions of a project out as far as .gitignore of
// its directory says so: the file is ours, or is not there yet and becomes ours.
func Ignored(project string) bool {
	path := filepath.Join(project, projectDir, ignoreFile)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreFile {
		return os.IsNotExist(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "!") {
			return false // may bring back what another line takes out
		}
		found[strings.TrimPrefix(line, "/")] = true
	}
	for _, name := range Unshared() {
		if !found[name] && !found[strings.TrimSuffix(name, "/")] && !found["*"] {
			return false
		}
	}
	return true
}

const maxIgnoreFile = 1 << 20

// Unshared are the patterns, below the project's directory of ours, of what is never
// committed.
func Unshared() []string { return []string{sessionsDir + "/", lastCompletionFile} }

// UnsharedDir is where the patterns of Unshared count from.
func UnsharedDir(project string) string { return filepath.Join(project, projectDir) }
