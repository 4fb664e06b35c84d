// Package ear hears what people say on GitHub to the sessions of one repository: commands in comments
// of an issue and of its pull request, and in reviews. It is used by the bot, whose intake hands it
// what is new, and by a command that runs one session and has nobody to feed it.
//
// It decides nothing about sessions. Who may give commands, and whether one comes in time, it
// judges itself; what a command means where is a table. A command for a session becomes one line
// of its commands.jsonl, and the ear watches for what becomes of it. What needs no session, or
// has none, goes to the owner of the issue.
//
// A person who may give commands gets receipts: eyes when the session has the command, then a thumb
// up or down. The reason of a refusal stands in the fold of commands of the status comment. All
// others get silence.
//
// Promises: a command counts once, however often its comment is seen and whenever the program is
// killed, since the source id of the comment decides under the lock of the session's file; what
// was judged is written to the repository's journal before anything follows from it, and receipts
// that are owed are given by the next process. A permission that could not be read is never taken
// for one. A receipt is a write: the owner's guard is asked before each.
//
// It writes lines and notes to commands.jsonl of sessions, and commands to journal.jsonl.
package ear
