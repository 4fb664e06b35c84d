// Package bot is the daemon: it turns the requests of repositories into sessions, for as long as it
// runs. It is called by agentmux bot, once for each state home, which it has the lock of.
//
// One issue walks like this. The intake, or an earlier process, names it; met has it judged. Judging
// reads the issue, what is on disk and who holds the claim, and acts on the difference between what is
// wanted and what is there (reconcile.go). A refused request loses its label and gets one comment
// (package refusal). An accepted one becomes a ticket on disk, a claim, and a place in the queue
// (package queue, waiting.go), which its status comment shows. With a slot the base is fetched and judged,
// the ticket becomes a session (starting.go), and a goroutine of its own runs it (hosted.go). The
// ear hears the comments of all of it (owner.go), and the bell what people tell sessions at a terminal
// while nothing runs them (adopt.go).
//
// Promises:
//
//   - Nothing begins twice: tickets are on disk before they are claimed, and what is decided is in the
//     journal before anything follows from it. What a kill leaves is finished by the next start.
//   - Sessions outlive the process. One that ends or is killed leaves their agents at work, and the
//     next one adopts them (adopt.go).
//   - What goes wrong in a session, a repository or an account costs that one, and is tried again;
//     health names it meanwhile.
//   - Only this machine's lacks keep a ticket waiting, and only what is in the repository refuses one.
//
// It writes the tickets, journal.jsonl and repo.json of the managed project of each repository, whose
// bell it holds.
package bot
