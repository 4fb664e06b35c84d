package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
)

func claudeMCP(s Launch) addition {
	return addition{files: map[string]object{"mcp.json": {"mcpServers": s.mcpServers()}}}
}

// claudeEvents are the events worth a process each. No event says that a permission was
// given: the next tool event does.
func claudeEvents() []string {
	return []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
		"PermissionRequest", "PermissionDenied", "Notification", "Elicitation", "Stop", "StopFailure", "SessionEnd"}
}

// claudeHooks writes only what is needed: claude ignores a settings file with a key of the
// wrong form as a whole, without a word.
func claudeHooks(s Launch) addition {
	return addition{files: map[string]object{"settings.json": {
		"hooks": s.hookTable(claudeEvents(), 60), "skipDangerousModePermissionPrompt": true,
	}}}
}

// Limits of claude's own lock around its state file. The lock is a directory that its holder
// removes; any claude may take one that was not touched for staleLock.
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
			_ = os.Remove(lock) // the next try takes it, or another process does
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

// acceptClaude sets three answers in claude's state file: the introduction is done, the
// directories are trusted, the given key is used. It keeps everything else in the file.
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
	projects := state.child("projects")
	for _, dir := range trusted {
		projects.child(dir)["hasTrustDialogAccepted"] = true
	}
	if apiKey != "" {
		// claude knows a key by its last 20 characters.
		tail := apiKey[max(0, len(apiKey)-20):]
		keys := state.child("customApiKeyResponses")
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
	data, err := state.encode()
	if err != nil {
		return fmt.Errorf("encode claude's state: %w", err)
	}
	return durable.Replace(path, data)
}
