// Package object reads and writes the objects of a repository without a process.
//
// It knows what git(1) leaves in the directory objects of a repository with ids of SHA-1: loose
// objects, and packs of version 2 with an index of version 2 beside them. It obeys no file of
// the repository: neither configuration nor alternates, grafts or replacements.
//
// Promises: what is read has the id that was asked for, by its sum. What is written is on disk
// when the call returns. Where this package does not find or not understand something the
// error is ErrUnread: git may know it, and says what is wrong with it otherwise. Other
// processes may add, repack and remove objects meanwhile.
//
// Stored: objects/xx/ and objects/pack/ of the repository, files of git's own forms and names;
// what a kill has left bears a name that "git gc" removes, or is a pack without an index, which
// the same pack replaces.
package object
