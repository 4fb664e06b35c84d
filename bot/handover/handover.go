// Package handover saves a session that its host lets go of for another one, and records what that one finds: the
// records of the session say it to those who tell how the run ended. The engine of the session has ended, and its lock is held.
// Full says when a full disk has a session let go of.
package handover

import (
	"context"
	"time"

	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// pause is how long it takes until the next try to bring the checkpoint to the server.
const pause = 2 * time.Second

// Maker makes the checkpoint of a session and brings it to the server, or says why that has to wait.
type Maker func(context.Context, orchestrator.Effect, *orchestrator.State) (orchestrator.Result, error)

// Save saves a session whose agents have ended, with what they have not handed in, and returns its state. After an error the
// next host has an older checkpoint.
func Save(ctx context.Context, sess *session.Session, s *orchestrator.State, checkpoint Maker) (*orchestrator.State, error) {
	e := orchestrator.Effect{Type: orchestrator.EffCheckpoint, Args: orchestrator.Args{Paths: duty.Unsubmitted(s)}}
	var made orchestrator.Result
	for {
		res, err := checkpoint(ctx, e, s)
		if err != nil {
			return s, err
		}
		if res.Path != "" || made.Path == "" {
			made = res
		}
		if made.Pushed = res.Pushed; res.Skipped == "" || !transport.Wait(ctx, pause) {
			break
		}
	}
	if made.Path == "" && (made.Commit == "" || made.Refused == s.Stays) {
		return s, nil // the last one is the same, and on record: the engine may have ended before it noted one
	}
	next := s.Clone()
	next.Seq++
	next.Stays = made.Refused
	record := orchestrator.CheckpointSavedRecord{Ref: gitrepo.CheckpointRef(place.Of(sess.Dir, s).String()), SHA: made.Commit, LeftOut: made.Findings, Pushed: made.Pushed, Stays: made.Refused}
	err := sess.Commit(decide.Step{State: next, Changed: true, Events: []orchestrator.Event{
		{Seq: next.Seq, TS: orchestrator.At(time.Now()), Type: record.Type(), Phase: s.Phase, Visit: s.Visit, Data: record},
	}})
	if err != nil {
		return s, err
	}
	return next, nil
}
