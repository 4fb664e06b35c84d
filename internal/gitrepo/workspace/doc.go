// Package workspace makes the clones that agents work in and takes their files back.
//
// A workspace has no remote, no token and no alternates. Once an agent has seen it, its .git
// is hostile: no git runs under it again. Its files reach the store by a walk in Go that
// follows no symlink, and a git that knows the walked names alone. Of a workspace whose agent
// still runs git reads nothing: what differs from the kept index is read by descriptor, and
// its bytes get to the store in a pack or, for line ends and encodings, through git in a work
// tree of their own.
//
// Make and MakeLocal are ensures: a complete workspace is left as it is, a half-made one is
// made again. A snapshot that must not be taken is a *RefusedError, which lists every path
// with its reason.
//
// Stored: the workspace P, and beside it, out of the agent's reach, the files P.base (the
// commit it was made at), P.index (the index of its snapshots) and P.lfs (the files whose
// LFS content was put in place of pointers).
package workspace
