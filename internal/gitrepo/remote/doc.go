// Package remote speaks with repositories on a server: it lists their refs, fetches them into
// a store and pushes what the store has.
//
// Promises: the server is reached over https, or over http on this machine, and by nothing
// else. The password is asked for once per call, goes to the one server that the address
// names, and is in no argument, variable or file. A push moves a ref only from where the caller
// saw it last, and a branch only forward. A ref that is at its new place already counts as
// moved, so a push whose answer was lost may be repeated.
//
// A push the server did not take is a *PushError, a read it did not answer a *ReadError; both
// say whether waiting helps.
package remote
