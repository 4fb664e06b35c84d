// Package intake finds what may have changed on GitHub: issues that ask for work, issues and pull
// requests of sessions, comments. It decides nothing and stores nothing. The receiver of a Candidate or
// a comment reads GitHub again before anything follows, and may get the same ones twice.
//
// There are four sources. A Poller reads the lists of one repository at an interval. Its full sync,
// at the start and each half hour, reads all open issues with a request label and all comments since
// the last one. A Sweep searches an organisation. The Receiver takes webhooks. Polling and full sync
// are the truth, since hooks get lost and come late: a hook only wakes the poller of its repository.
// Its content is used for nothing else, so hooks that are lost, doubled, shuffled or late have the
// same result as none. A Watch keeps the pollers of one identity.
//
// Promises:
//
//   - What a list shows is handed to Found until Found returned nil for it, also after errors,
//     and at least once after a start. The lists name their entries by state, not by event: of
//     changes in between the last one counts.
//   - A wake is a flag, which is taken before the lists are read. So one that comes while they
//     are read leads to another reading. A poller reads one list at a time, and begins at most
//     once a second for hooks, however many arrive. After a hook it reads
//     again after 10 seconds, and after 2 if nothing new was seen, because GitHub's replicas lag.
//   - Addresses do not change and are read with a transport.Validator, so what did not change
//     costs nothing of the quota. All calls have transport.PriorityDiscovery, which may use half of
//     each limit, and Load.Pace chooses intervals that need less than that.
//   - A repository that was renamed or transferred is found by its id. One that is gone is asked
//     for now and then.
//   - The Receiver answers 202 only to a body with a valid signature, and never holds a body.
//     Bodies and connections at a time are bounded.
//
// A restart loses nothing: the next process knows nothing and reads everything.
//
// How a daemon uses it:
//
//   - For each identity (transport.Stack) a Watch, with a Client for each repository. Set names all
//     repositories that are ours whenever that changes: a session, ticket or pull request begins or
//     ends (Mode, Busy), a sweep is crowded, one is moved or comes new. With a Sweep for each
//     organisation, which needs a token for all of it, its repositories are Swept.
//   - For the process a Receiver with Secrets, which Serve serves at what Listen returns. Its Wake
//     asks the Watch of each identity by Hook.RepoID. A hook of no repository, of an installation,
//     means that the list of repositories is to be read. The lists do not show the end of a check,
//     so check_suite and pull_request_review wake those who follow pull requests, too.
//   - Found puts what it gets into the owner's queues by repository id and number, and returns:
//     Candidates, and Issues that are known, to the reconcile of that issue; Comments to who listens
//     there; Pulls and Left to who follows them. An error brings the same again. The candidates of a
//     sweep have no RepoID. The first reading shows what changed last, not every issue that has a
//     session: those are read once at the start by their owner.
//   - Run of Watch and Sweep and Serve run until ctx ends. For --once, Watch.Once and Sweep.Once
//     take their place: all of them have read and handed on everything when they return.
//   - Health and metrics ask Watch.Facts (Polled, Synced, Err, Failing, Missing, and by Pace the
//     interval and why it is Slow), Sweep.Facts and Receiver.Facts (Accepted, Woke, Dropped,
//     Refused, Last); Aged is told how long each hook waited.
package intake
