// Package claim decides which host works on an issue, when several hosts of several machines
// may: at most one at a time holds the claim of an issue.
//
// A Desk is where one host claims the issues of one repository. There are two: Remote keeps the
// claims as refs of the repository on its server, where all hosts see them; Local keeps them as
// locks of this machine, for a server that refuses such refs (bot.single_host).
//
// Refs on the server, each a commit on an empty tree whose message is one line of JSON:
//
//	refs/agentmux/claims/<issue>   who holds the issue (Claim)
//	refs/agentmux/hosts/<host id>  the last beat of a host; jobs of GitHub Actions have none
//
// Promises of Remote:
//
//   - A claim is created only where there is none, and changed or removed only by
//     compare-and-swap on the commit that was seen. Each claim is a commit of its own, even if
//     two processes share a host id, so its id says whose it is. A push whose answer was lost is
//     settled by asking the server, and repeated as the same commit.
//   - A claim is taken from another host only if that host is stale (see Stale), which is judged
//     by what this process saw, on its own monotonic clock. Times that other hosts write down are
//     for people. Time in which the server did not answer us does not count.
//   - Held.Check is the guard that is asked before each write to the outside. It relies on a beat
//     for four minutes, on the monotonic and on the wall clock, so a machine that was suspended
//     asks the server first. A claim in the state queued may be taken by others at any time and
//     is asked for each time.
//   - A host that was silent for longer than that renews its claims by compare-and-swap before it
//     relies on a beat again: a host that saw the silence may be about to take them.
//   - A claim with its beat, beats, and the branches and checkpoints of others never share a push.
//     All wait for the Pace of the repository: six pushes in the time of sixty writes to the server, a
//     minute, the last two of them for claims.
//
// A claim on the server outlives its process. The next one of the same host id finds it by
// Leftovers and either adopts or releases it. A kill between a push and the note of it in
// claim.json (Note) therefore loses nothing.
//
// Errors: *TakenError, another host holds the claim; *LostError, it was ours; *RefusedError, the
// server takes no such refs. Any other error says that the answer is not known now: ask again, and
// hold back what depends on it.
//
// Stored: the refs above; commits in a bare repository that OpenStore makes, which may be removed
// whenever no process uses it; claim.json in session directories; the lock files of Local.
// Nothing here reads an issue, a session or the API of GitHub.
package claim
