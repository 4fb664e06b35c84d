// Package follow turns what happens on the open pull requests of sessions into change requests: a
// review of the head that requests changes, by a person with write permission, and a failed check
// that is required. What comes in the quiet time of followup.quiet is gathered, and the session gets
// one command, changes, whose source id names all of it. It decides nothing about sessions: which
// pull requests there are, and what becomes of a command, its owner knows.
//
// Which objections count, when a round is due and which bound ends the rounds is decided by Decide,
// which is pure.
//
// Promises:
//
//   - An objection leads to one round at most, however often it is seen and whenever the program is
//     killed: the session's commands.jsonl names those that did.
//   - At most followup.rounds rounds of a session, in the first followup.days days of its pull request,
//     an hour apart. What comes after that is told to a person once, and the label says needs-human. A stop by a person ends them.
//   - A review that was dismissed or followed by an approval, that is of another commit, by a program,
//     by the own account or by somebody without write permission, leads to nothing. A permission that
//     could not be read is never taken for one.
//   - Texts of others are cleaned, redacted, cut and quoted line by line: they cannot look like a line
//     of the request itself.
//   - Before a round the reviews and checks are read again. While no pull request of a session is open
//     nothing is asked.
//
// It stores nothing of its own.
package follow
