// Package remote speaks with repositories on a server: it lists their refs, fetches them into
// a store and pushes what the store has.
//
// Promises: the server is reached over https, or over http on this machine, and by nothing
// else. The password is asked for once per call, goes to the one server that the address
// names, and is in no argument, variable or file. Only a process that was started below this one
// is told it. On Linux the programs that hold it are closed to other processes of the user: the
// one that asks closes itself, and the one that speaks with the server is a copy in memory that
// the user may run and not read (shield.Unreadable), once for each version of git's own. A
// password is not given to a copy that somebody made readable. git starts its own program, whose
// memory is open, where there is no such copy: where this process may read every file, as root,
// where git's programs lie in the directory of git itself or are scripts, and where the system
// runs nothing from memory. Elsewhere the system says who may read a process.
//
// A push moves a ref only from where the caller saw it last, and a branch only forward. A ref
// that is at its new place already counts as moved, so a push whose answer was lost may be
// repeated.
//
// A push the server did not take is a *PushError, a read it did not answer a *ReadError; both
// say whether waiting helps.
package remote
