// Package outgate decides whether a tree may leave this machine.
//
// It compares a base tree with a new one before any push, and judges only what the
// change brings: sizes, file types, names, paths that run something on checkout, on
// opening or in CI, files kept in LFS, and secrets. It changes nothing and stores
// nothing.
//
// A Finding blocks; a held path lets the change out as a draft that a person must
// approve; a named path is only listed on top of the pull request. A Report never holds
// the value of a secret: rule, file and line are all there is.
package outgate
