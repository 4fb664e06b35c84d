package request

import (
	"path/filepath"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Asked returns when the session in a directory was asked for, by the clock of the server, and by whom, as its
// snapshot has it. Both are zero for a session without one.
func Asked(dir string) (time.Time, ghsync.Account) {
	data, err := session.ReadFile(filepath.Join(dir, session.SnapshotFile))
	if err != nil {
		return time.Time{}, ghsync.Account{}
	}
	snap, err := ghsync.ParseSnapshot(data)
	if err != nil {
		return time.Time{}, ghsync.Account{}
	}
	return snap.CutOff, ghsync.Account{Login: snap.Requester.Login, ID: snap.Requester.ID}
}
