// Package restore makes the directory of a session from a checkpoint that was fetched from the server.
//
// Promises: only a session is published that the offline checker passes, of the name, issue, base and
// integrated commit that the checkpoint was verified with; everything else is a *checkpoint.RefusedError. A kill
// leaves either the whole directory or one that no listing shows. Its state is written last.
//
// Stored: the directory, with claim.json, so that this host may move the ref of the checkpoints on, and
// restored.json, which says what the next start of the session has to make again: its workspaces. It is of
// no use any more once the records of the session have the checkpoint.
package restore
