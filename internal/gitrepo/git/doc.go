// Package git starts git(1), and is the only one of the product that does.
//
// Promises: git starts with an environment and options built from nothing, at most one
// transport allowed, no hook, filter, fsmonitor, credential helper or alias of others, and a
// time limit. What it says is read in the language C. An answer is bounded; a larger one is
// ErrTooLarge. Errors of git itself are *Error.
//
// It also knows how git writes things down: lists that end with NUL, full ids, names of refs.
package git
