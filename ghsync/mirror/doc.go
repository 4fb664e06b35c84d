// Package mirror shows one session on its issue: one status comment that is kept true,
// comments for review rounds, questions, gates and the end, the state label, and the verdict
// on the pushed commit.
//
// It reads the session's committed records and what package story makes of them, and nothing
// of the engine, which does not wait for it. The process that runs it holds the session's
// lock, so there is one mirror per session at a time.
//
// It promises:
//   - its failure never touches the session;
//   - a comment is created once: its intent is written down before, and after an unclear
//     answer the comments of the issue are read before it is created again;
//   - a comment that a host made after the checkpoint from which another one continues becomes
//     that of the next record of its kind, or says that it does not hold;
//   - a comment of another account is never edited, whatever its marker says.
//
// It declares what it needs of a server: [Comments], [Labels], [Place] and [Verdicts]. A run
// has those of a client, see [On]; a rehearsal has others that only note the writes.
//
// It stores one file, mirror_state.json in the session directory: its cursor, the ids of the
// comments it made and the intents of those it was about to make.
package mirror
