// Package clone reads a person's clone: where it is, what it tracks, which commit it is at
// and what is not committed yet. Nothing of its configuration runs: no hook, no filter, no
// monitor, no credential helper.
//
// It writes two things there: Export makes a branch, Exclude adds lines to info/exclude.
// Both may be called again and then change nothing.
package clone
