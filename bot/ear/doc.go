// Package ear hears what people say on GitHub to the sessions of one repository: commands in comments
// of an issue and of its pull request, and in reviews. It is used by the bot, whose intake hands it
// what is new, and by a command that runs one session and has nobody to feed it.
//
// It decides nothing about sessions. Who may give commands, and whether one comes in time, it
// judges itself; what a command means where is a table. A command for a session becomes one line
// of its commands.jsonl, and the ear watches for what becomes of it. What needs no session, or
// has none, goes to the owner of the issue. A retry is a line for a session that can continue with the text
// it works from, and else a request for another session.
//
// An issue may be of one agent of a run of an agents file (Subject.Agent). What is said on it, and on the pull request of
// that agent, is then for that agent alone: its line names the agent, and the session holds to it.
//
// A person who may give commands gets receipts: eyes when the command is accepted, then a thumb
// up or down. The reason of a refusal stands in the fold of commands of the status comment. All
// others get silence.
//
// Promises: a command counts once, however often its comment is seen and whenever the program is
// killed, since the source id of the comment decides under the lock of the session's file; what
// was judged is written to the repository's journal before anything follows from it; a comment that another
// host works on the issue of is heard here if that host is gone before it gave a last receipt; receipts
// that are owed are given by the next process. A permission that could not be read is never taken
// for one. A receipt is a write: the owner's guard is asked before each.
//
// It writes lines and notes to commands.jsonl of sessions, and commands to journal.jsonl.
//
// How a daemon uses it, one Ear for each repository beside the repository's poller:
//
//   - New with the client of the repository's identity, the journal of its managed project, and an
//     Owner; Issues and Since stay zero. Run it in a goroutine of its own until ctx ends. Move follows
//     a rename.
//   - What the intake found goes in as it is: Hear(changes.Comments...). For each open pull request
//     of ours that changed, read its reviews (ghsync.Intake.Reviews) and give all of them to
//     HearReviews; what is known costs nothing. After a start the intake reads all once more.
//   - Owner.Find answers from what the daemon has in memory: the claim's Holder if that is another
//     host, Ticket, the session's Dir, Pull and Open, and Since, the time of the request.
//   - Owner.Drop removes the ticket, its claim and label; EndFollowUps marks the session so that
//     bot/follow leaves its pull request alone; Retry has the reconcile judge the request with the
//     comment as trigger (gate.Judge) and returns the decision, without a comment of its own;
//     Wake begins a tenure for a session that does not run. Recall brings a session here that another machine
//     had. Guard is Check of the claim.Held, and
//     nil where no host has a claim. All are called again after a kill, with the same arguments.
//   - RunSpec.OnCommit calls Wake of the ear, so that a receipt follows its command at once. Mirror
//     gets Listened and ListenedAfter.
//   - The runner that is given to tenure.Run calls Settle after host.Run, with some seconds, while the
//     claim is held. tenure.Spec.News is News of the issue, since the run began.
package ear
