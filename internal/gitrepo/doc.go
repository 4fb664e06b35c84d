// Package gitrepo owns the repositories of the program; every call of git(1) goes through
// its package git.
//
// It knows three kinds of repository:
//
//   - the store: a bare repository, one per project, written by this
//     package alone. It holds all refs below refs/agentmux/ and is never shallow
//     or partial. What a ref reaches stays, the rest goes with Collect;
//   - a workspace: the clone an agent works in. Package workspace makes it and takes
//     snapshots of it;
//   - a person's clone: fetched from here; package clone reads it, and is the only one
//     that writes it.
//
// Promises: methods that change something are ensures: the same call twice, or a
// call after a kill at any point of the first, ends in the same refs and object ids,
// because author, committer and dates come from the caller. Refs move by
// compare-and-swap, but for the one that Hold puts where it belongs.
//
// Objects and refs are read and written here (packages object and ref), and plain changes are
// composed and merged, where that is known to give what git gives. All else is git's.
//
// Errors of git itself are *git.Error. Package remote speaks with servers.
//
// Refs of sessions in the store, and who deletes them. <session> differs for sessions of
// one name in several clones. The base of a session
// may be in no branch of the server any more, so refs/remotes/origin/, which follows the
// server, is never all that keeps it:
//
//	refs/agentmux/start/<session>                           its base commit; goes with the session
//	refs/agentmux/base/<id>                                 what came from a clone, to be found there again; stays
//	refs/agentmux/preserved/<session>/<task>                work that is nowhere else; a person
//	refs/agentmux/{integration,sessions,pushed,completion}/<session>   what it made; go with the session
//
// Stored: the store, and in its history/ the packs that workspaces are made from, which
// may be removed at any time. Temporary files lie in tmp/ of the store; Open removes
// those that a kill has left.
package gitrepo
