package request

import (
	"context"

	"github.com/agentmux/agentmux/ghsync"
)

// requester returns who asked for the text as it is: the actor of the newest request label if they
// may write and the text has not changed since, else the account itself, for the person at the
// terminal.
func (j Judge) requester(ctx context.Context, record ghsync.Record, repo ghsync.Repo) (ghsync.Permission, error) {
	request, _ := record.Request(j.Rules.Bot.Label)
	trigger := request.Trigger()
	edits, known := record.LateEdits(trigger.At)
	if who := trigger.Actor.Login; who != "" && known && len(edits) == 0 && j.MayPush(record.Repository) { // GitHub tells permissions only to accounts that may push
		asker, err := j.GitHub.Permission(ctx, repo, who)
		if err != nil || asker.Write() {
			return asker, err
		}
	}
	viewer, err := j.GitHub.Viewer(ctx)
	if err != nil {
		return ghsync.Permission{}, err
	}
	level := ghsync.LevelRead
	if j.MayPush(record.Repository) {
		level = ghsync.LevelWrite
	}
	return ghsync.Permission{Account: viewer, Level: level}, nil
}
