package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
)

// accept answers the program's first-run dialogs beforehand, only in a directory that is
// ours: a person's own directory is left alone.
func (s LaunchSpec) accept(login LoginKind, dir string, env map[string]string) error {
	if dir == "" || login == LoginShared {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the program's directory: %w", err)
	}
	switch s.Provider.Accept {
	case "claude":
	case "copilot":
		return acceptCopilot(dir, s.trusted())
	default:
		return nil
	}
	path := filepath.Join(dir, ".claude.json")
	return lockedAs(path+".lock", func() error { return acceptClaude(path, s.trusted(), env["ANTHROPIC_API_KEY"]) })
}

// trusted are the directories the program is told to trust. The answer for a directory holds
// for those below it, but not for the root of a git repository or what is in one: a
// workspace that is one has to be named itself, by the path without symbolic links.
func (s LaunchSpec) trusted() []string {
	dirs := []string{s.trustDir(), s.Workdir}
	if real, err := filepath.EvalSymlinks(s.Workdir); err == nil {
		dirs = append(dirs, real)
	}
	return dirs
}

// Limits of claude's own lock around its state file: a directory that its holder removes
// again, and which is anybody's when it was not touched for staleLock.
const (
	staleLock = 10 * time.Second
	lockWait  = 15 * time.Second
)

// lockedAs does work under the lock that every claude takes before it writes its state.
func lockedAs(lock string, work func() error) (err error) {
	limit := time.NewTimer(lockWait)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := os.Mkdir(lock, 0o700)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("lock the program's state: %w", err)
		}
		if info, err := os.Lstat(lock); err == nil && time.Since(info.ModTime()) > staleLock {
			_ = os.Remove(lock) // the next try takes it, or somebody else's does
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("lock the program's state: %s stays", lock)
		}
	}
	defer func() { err = errors.Join(err, os.Remove(lock)) }()
	return work()
}

// acceptClaude sets three answers in claude's state file and keeps everything else in it:
// the introduction is done, the directories are trusted, the given key is to be used.
func acceptClaude(path string, trusted []string, apiKey string) error {
	state, err := readObject(path)
	if err != nil {
		return err
	}
	before := quoted(state)
	state["hasCompletedOnboarding"] = true
	if _, ok := state["theme"]; !ok {
		state["theme"] = "dark"
	}
	projects := object(state, "projects")
	for _, dir := range trusted {
		object(projects, dir)["hasTrustDialogAccepted"] = true
	}
	if apiKey != "" {
		// claude knows a key by its last 20 characters.
		tail := apiKey[max(0, len(apiKey)-20):]
		keys := object(state, "customApiKeyResponses")
		approved, _ := keys["approved"].([]any)
		if !slices.Contains(approved, any(tail)) {
			keys["approved"] = append(approved, tail)
		}
		if _, ok := keys["rejected"]; !ok {
			keys["rejected"] = []any{}
		}
	}
	if quoted(state) == before {
		return nil
	}
	data, err := encode(state)
	if err != nil {
		return fmt.Errorf("encode claude's state: %w", err)
	}
	return durable.Replace(path, data)
}

// readObject reads a JSON object; a missing or broken file is an empty one.
func readObject(path string) (map[string]any, error) {
	m := map[string]any{}
	data, err := durable.ReadRegular(filepath.Dir(path), filepath.Base(path), 16<<20)
	var unusable *durable.ArtifactError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case errors.As(err, &unusable):
		return nil, fmt.Errorf("read the program's state: %w", err)
	case err != nil:
		return nil, err
	}
	if json.Unmarshal(withoutComments(data), &m) != nil || m == nil {
		return map[string]any{}, nil
	}
	return m, nil
}

// object returns the object under key, made if missing.
func object(m map[string]any, key string) map[string]any {
	child, ok := m[key].(map[string]any)
	if !ok {
		child = map[string]any{}
		m[key] = child
	}
	return child
}
