// Package rehearsal tells what a session would write, in the clone and on the server, without
// writing it. It walks the session in a scratch directory from its first state to its end as
// if every agent did its part at once and every review passed: the decisions, the mirror and
// the pull request are those of a true run. Their reads go to the server, their writes to
// [Writes], which notes them.
//
// It writes into the session directory it is given, and nowhere else.
package rehearsal
