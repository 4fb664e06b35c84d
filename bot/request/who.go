package request

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/ghsync"
)

// requester returns who asked: the actor of the newest request label if they may write, else
// the account itself, for the person at the terminal. It fails if somebody without write access
// edited the text after the label was set.
func (j Judge) requester(ctx context.Context, record ghsync.Record, repo ghsync.Repo) (ghsync.Permission, error) {
	request, _ := record.Request(j.Label)
	trigger := request.Trigger()
	if who := trigger.Actor.Login; who != "" && j.MayPush(record.Repository) { // GitHub tells permissions only to accounts that may push
		asker, err := j.GitHub.Permission(ctx, repo, who)
		if err != nil {
			return asker, err
		}
		if _, known := record.LateEdits(trigger.At); asker.Write() && known {
			return asker, j.unasked(ctx, record, trigger)
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

// lateEditError says that the issue was edited after its label was set.
type lateEditError struct {
	what    string
	trigger ghsync.LabelEvent
	edit    ghsync.LateEdit
}

func (e *lateEditError) Error() string {
	const form = "2006-01-02 15:04:05 UTC"
	editor := "somebody who is not known"
	if e.edit.Editor.Login != "" {
		editor = e.edit.Editor.Login + ", who may not write,"
	}
	return fmt.Sprintf("%s was edited by %s at %s, after %s asked for it with the label %s at %s; read what it says now, "+
		"then take the label off and put it on again, or leave it off to ask for it yourself",
		e.what, editor, e.edit.At.UTC().Format(form), e.trigger.Actor.Login, e.trigger.Name, e.trigger.At.UTC().Format(form))
}

// unasked fails with a lateEditError if the text was edited after the request.
func (j Judge) unasked(ctx context.Context, record ghsync.Record, trigger ghsync.LabelEvent) error {
	edit, err := j.GitHub.UnaskedEdit(ctx, record, trigger.At)
	if err != nil || edit == nil {
		return err
	}
	return &lateEditError{fmt.Sprintf("%s#%d", record.Repository.Repo, record.Issue.Number), trigger, *edit}
}
