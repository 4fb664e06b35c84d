// Package gitrepo owns every call of git(1) in the program.
//
// It knows three kinds of repository:
//
//   - the host repository: one bare repository per project, written by this
//     package alone. It holds all refs below refs/agentmux/ and is never shallow
//     or partial. What a ref reaches stays, the rest goes with Collect;
//   - a workspace: the clone an agent works in. It has no remote, no token and no
//     alternates. Once an agent has seen it, its .git is hostile: no git is run
//     under it again, its files reach the host repository by a walk in Go;
//   - a person's clone: read for facts, fetched from, and written only by
//     ExportToClone.
//
// Promises: git starts with an environment and options built from nothing, at most
// one transport allowed, no hook, filter, fsmonitor, alias or credential helper, and
// a time limit. Methods that change something are ensures: the same call twice, or a
// call after a kill at any point of the first, ends in the same refs and object ids,
// because author, committer and dates come from the caller. Refs move by
// compare-and-swap, but for the one that Hold puts where it belongs.
//
// Errors of git itself are *Error, a snapshot that must not be taken is *RefusedError,
// a push the server did not take is *PushError.
//
// Refs of sessions in the host repository, and who deletes them. What is called <session> here
// tells sessions of one name in several clones apart. The base of a session
// may be in no branch of the server any more, so refs/remotes/origin/, which follows the
// server, is never all that keeps it:
//
//	refs/agentmux/start/<session>                           its base commit; goes with the session
//	refs/agentmux/base/<id>                                 what came from a clone, to be found there again; nobody does
//	refs/agentmux/preserved/<session>/<task>                work that is nowhere else; a person
//	refs/agentmux/{integration,sessions,pushed,completion}/<session>   what it made; go with the session
//
// Stored: the host repository, in its history/ the packs that workspaces are made from,
// which anybody may remove at any time, and beside each workspace P, out of the agent's reach,
// the files P.base (the commit it was made at), P.index (the index of its snapshots)
// and P.lfs (the files whose LFS content was put in place of pointers). Temporary files
// lie in tmp/ of the host repository; OpenHost removes those that a kill has left.
package gitrepo
