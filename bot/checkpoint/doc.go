// Package checkpoint says what a checkpoint of a session is, and carries it between the machines
// that work on one repository.
//
// A checkpoint is a commit at refs/agentmux/sessions/<session>. Its tree has the files of the
// session below session/ and unsubmitted work below work/<workspace>, its parent is the integrated
// head, and its message ends with a [Manifest]: which session, issue and host it is of, and the
// SHA-256 of each file.
//
// Promises: the ref on the server moves by compare-and-swap only, from a checkpoint of the same
// host, under the guard of the claim and within the pace of the repository. What is fetched is
// refused as a whole, with a [RefusedError], unless each name, size and digest is right and the
// session and the issue are those that were asked for; it then stays in the store below
// refs/agentmux/fetched/ for a person to look at.
//
// Stored: the refs above. Everybody who may read the repository may read them.
package checkpoint
