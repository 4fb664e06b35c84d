// Package checkpoint says what a checkpoint of a session is, and carries it to the server.
//
// A checkpoint is a commit at refs/agentmux/sessions/<session>. Its tree has the files of the
// session below session/ and unsubmitted work below work/<workspace>, its parents are the integrated
// head and the commits of agents of an agents file, and its message ends with a [Manifest]: which session, issue and host it is of, and the
// SHA-256 of each file.
//
// Promises: a file that holds a secret, is named by one, is a link or finds no room is left out and
// named ([Sieve]). The ref on the server moves by compare-and-swap only, from a checkpoint of the same
// host, under the guard of the claim and within the pace of the repository ([Away]); the caller asks
// [Away.Inspect] first, which has the output gate judge each commit that travels along.
//
// [Fetch] refuses a checkpoint as a whole, with a [RefusedError], unless each name, size and digest is right
// and it is of the session, the issue and the repository that were asked for, from a commit of its base
// branch where no person started it; what it fetched stays at
// refs/agentmux/fetched/<session> for a person to look at. [RemoveOld] removes from the server what nobody changes any more.
//
// Stored: the refs in the store and the one on the server, where everybody who may read the repository
// may read it, and agentmux-checkpoints.json in the directory of the store, from which [RemoveOld] knows their age.
package checkpoint
